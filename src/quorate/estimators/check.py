"""What comes in: tables, answers and weights, checked once; an error names the column or the row, and what to do."""

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

LARGEST = float(np.finfo(np.float32).max)  # many members compute in float32, and squares must not overflow
SPAN = 1 << 12  # values of classes that are found by counting
WHOLE = 2.0**53  # up to here every whole number is a float
REMEDY = {
    "text": "encode it before this estimator, which hands its members numbers: "
    "make_pipeline(OneHotEncoder(...), estimator)",
    "time": "turn it into numbers first (a year, an hour, seconds since a date)",
    "missing": "fill it (sklearn.impute.SimpleImputer), drop the row, or use a member that takes missing values",
    "infinite": "clip it or drop the row",
    "large": f"clip it, drop the row, or divide the column so that it stays below {LARGEST:.2g}",
    "other": "turn it into numbers, or drop the column",
    "shape": "give a 2-D table of numbers (an array, a data frame, a sparse matrix), one row a sample",
    "names": "give the columns of fit in their order: X[list(model.feature_names_in_)]",
}


# tables


def table(estimator, X, *, reset, allow_nan, allow_sparse):
    """X as a float array (float32 stays), or a CSR matrix where that is allowed; its columns are those of fit."""
    if nw.dependencies.is_into_dataframe(X):
        names = validate_names(estimator, X, reset)
        X = _from_frame(X)
    else:
        X = _from_array(estimator, X, reset, allow_sparse)
        names = getattr(estimator, "feature_names_in_", None)
    _all_usable(estimator, X, allow_nan, names)
    return X


def is_ready(estimator, X):
    """Whether X is as `table` would give it back: what a single row can be told without a look at anything else."""
    own = vars(estimator)
    good = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)
    if not (good and X.flags.c_contiguous and X.shape[1] == own.get("n_features_in_") and X.shape[0]):
        return False
    return "feature_names_in_" not in own and X.min() >= -LARGEST and X.max() <= LARGEST


def validate_names(estimator, X, reset):
    """Check the names and number of columns of a data frame, and return the names."""
    if 0 in X.shape:
        what, one = ("sample", "row") if X.shape[0] == 0 else ("feature", "column")
        found = f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required"
        raise ValueError(f"{found}. Give at least one {one}.")
    try:
        names = list(nw.from_native(X).columns)
    except ValueError as error:
        raise ValueError(
            f"X has columns of the same name ({error}); give each column a name of its own"
        ) from error
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise ValueError(f"{error}\n{REMEDY['names']}") from error
    return names


def _from_frame(X):
    """A data frame's columns as floats; missing becomes NaN."""
    columns = [_column(column) for column in nw.from_native(X, eager_only=True).iter_columns()]
    dtype = np.float32 if all(c.dtype == np.float32 for c in columns) else np.float64
    out = np.empty((len(columns[0]), len(columns)), dtype)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def _column(series):
    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if dtype in (nw.Float32, nw.Float64) and not missing.any():
        return series.to_numpy()
    if missing.all():
        return np.full(len(missing), np.nan)
    if dtype.is_numeric() or dtype == nw.Boolean:
        values = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
        return np.where(missing, np.nan, np.asarray(values.to_numpy(), dtype=float))
    if dtype == nw.Object:
        return _objects(series.to_numpy(), missing, series.name)
    text = dtype in (nw.String, nw.Categorical, nw.Enum)
    kind = "time" if dtype.is_temporal() else "text" if text else "other"
    said = getattr(series.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype
    raise ValueError(f"column {series.name!r} is of type {said}, not a number; {REMEDY[kind]}")


def _objects(values, missing, name):
    out = np.full(len(values), np.nan)
    for i in np.flatnonzero(~missing):
        try:
            out[i] = values[i]
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"column {name!r}, row {i} {_no_number(values[i])}") from error
    return out


def _no_number(value):
    kind = "large" if isinstance(value, int) else "text" if isinstance(value, (str, bytes)) else "other"
    kind = "time" if hasattr(value, "day") or hasattr(value, "days") or hasattr(value, "hour") else kind
    said = repr(value)
    return f"holds {said if len(said) < 80 else said[:60] + '…'}, not a number; {REMEDY[kind]}"


def _from_array(estimator, X, reset, allow_sparse):
    _refuse_no_table(X)
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(float), np.nan)
    options = {
        "dtype": [np.float64, np.float32],
        "accept_sparse": ["csr"] if allow_sparse else False,
        "ensure_all_finite": False,
        "order": "C",  # sums have an order, too
    }
    try:
        return validate_data(estimator, X, reset=reset, **options)
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}{_where(X, str(error))}") from error


def _refuse_no_table(X):
    listed = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, (str, bytes, dict))
    if hasattr(X, "collect_schema"):
        raise TypeError(f"X is a {type(X).__name__}, which has not been read yet; give X.collect()")
    if not (listed or hasattr(X, "__array__")):
        raise TypeError(f"X is of type {type(X).__name__}, which is no table; {REMEDY['shape']}")
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        raise ValueError(f"X is of type {dtype}, so column 0 holds times, not numbers; {REMEDY['time']}")


def _where(X, message):
    """What to add to an error of scikit-learn's: the first cell that is not a number, or what would be a table."""
    if "0 sample(s)" in message:
        return " Give at least one row."
    if "0 feature(s)" in message:
        return " Give at least one column."
    if "Complex" in message:
        return f": column 0 of X is of a complex type; {REMEDY['other']}"
    if "features, but" in message:
        return " Give the same columns, in the same order, as in fit."
    if sparse.issparse(X):
        return ""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return f": the rows of X differ in length; {REMEDY['shape']}"
    if cells.ndim != 2:
        return f" G{REMEDY['shape'][1:]}."
    for i, j in np.ndindex(cells.shape):
        try:
            float(cells[i, j])
        except (TypeError, ValueError, OverflowError):
            return f": column {j}, row {i} {_no_number(cells[i, j])}"
    return ""


def _all_usable(estimator, X, allow_nan, names):
    """No infinity, no NaN where the members take none, and nothing too large to be squared."""
    cells = X.data if sparse.issparse(X) else X
    if not cells.size or (np.min(cells) >= -LARGEST and np.max(cells) <= LARGEST):
        return
    with np.errstate(invalid="ignore"):
        faults = {"infinite": np.isinf(cells), "missing": np.isnan(cells), "large": np.abs(cells) > LARGEST}
    for kind, found in faults.items():
        if found.any() and not (kind == "missing" and allow_nan):
            place, value = _place(X, found, names)
            what = {
                "infinite": "infinity",
                "missing": "NaN (a missing value)",
                "large": f"{value:.3g}, too large a number",
            }
            refused = f"{type(estimator).__name__} does not take it"
            raise ValueError(f"Input X contains {what[kind]}: {place}. {refused}; {REMEDY[kind]}")


def _place(X, found, names):
    if sparse.issparse(X):
        coo = X.tocoo()
        first = np.flatnonzero(found)[0]
        i, j, value = coo.row[first], coo.col[first], coo.data[first]
    else:
        i, j = np.argwhere(found)[0]
        value = X[i, j]
    return (f"column {names[j]!r}, row {i}" if names is not None else f"column {j}, row {i}"), value


# answers


def classes(estimator, X, y):
    """(classes, codes) of a target that names classes."""
    y = answers(estimator, X, y, numeric=False)
    try:
        with np.errstate(invalid="ignore"):
            check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"{error} Use a regressor, or cut y into classes (pandas.cut).") from error
    return _coded(y)


def _coded(y):
    """(the distinct values in order, the place of each among them), by counting where they are small whole numbers."""
    small = y.dtype.kind in "iu" and y.size and y.min() > -SPAN and y.max() < SPAN
    if not small:
        return np.unique(y, return_inverse=True)
    place = y.astype(np.intp) + SPAN
    there = np.bincount(place) > 0
    return (np.flatnonzero(there) - SPAN).astype(y.dtype), (np.cumsum(there) - 1)[place]


def numbers(estimator, X, y):
    """A target that is a number, as floats."""
    y = answers(estimator, X, y, numeric=True)
    large = np.flatnonzero(np.abs(y) > LARGEST)
    if large.size:
        row = large[0]
        raise ValueError(
            f"y is too large in row {row}: {y[row]:.3g}; divide y so that it stays below {LARGEST:.2g}"
        )
    return y


def answers(estimator, X, y, numeric):
    """A target as one clean column, of the kind that is asked for, with an answer for each row of X."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    y = y if sparse.issparse(y) else _of_one_kind(_array(y), numeric)
    try:
        y = y.astype(float, copy=False) if numeric else y
        y = _check_y(y, multi_output=False, y_numeric=numeric, estimator=estimator)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{error}{_bad_answer(y, numeric)}") from error
    if len(y) != X.shape[0]:
        sizes = f"X {X.shape[0]}, y {len(y)}"
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {sizes}; give one y for each row of X"
        )
    return y


def _array(y):
    given = _from_series(y, "y")
    try:
        out = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"y should be a 1d array, one answer for each row ({error})") from error
    if out.ndim == 0:
        raise ValueError(f"y should be a 1d array, one answer for each row, got a {type(y).__name__}")
    return out


def _from_series(values, what):
    """A pandas, polars or Arrow series as an array, anything else as it is; nothing may be missing."""
    missing = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else np.zeros(0, bool)
    if nw.dependencies.is_into_series(values):
        series = nw.from_native(values, series_only=True)
        values, missing = series.to_numpy(), series.is_null().to_numpy()
    if missing.any():
        row = np.argwhere(missing)[0][0]
        raise ValueError(f"Input {what} contains NaN (a missing value): row {row}; drop the row")
    return values


def _of_one_kind(y, numeric):
    """The array, with objects that are all numbers, or all text, as numbers or as text."""
    if y.dtype.kind == "c" or (y.dtype.kind in "mM" and numeric):
        raise ValueError(f"y is of type {y.dtype}; {REMEDY['other' if y.dtype.kind == 'c' else 'time']}")
    if y.dtype.kind != "O" or y.ndim != 1:
        return y
    missing = [i for i, v in enumerate(y) if v is None or v != v]
    if missing:
        raise ValueError(f"Input y contains NaN: row {missing[0]} has {y[missing[0]]!r}; drop the row")
    text = [isinstance(v, str) for v in y]
    if not numeric and any(text) and not all(text):
        raise ValueError(
            f"y holds text in row {np.argmax(text)} but not in row {np.argmin(text)}; make all of it text"
        )
    return np.array(y.tolist()) if len({type(v) for v in y}) == 1 else y


def _bad_answer(y, numeric):
    """What to add to an error of scikit-learn's: the first row that is no finite number."""
    if y.ndim > 1:
        return " Give one column of answers."
    for i, value in enumerate(y.tolist()):
        try:
            finite = np.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            advice = "a regressor needs numbers; for classes, use a classifier" if numeric else "drop the row"
            return f" (row {i} of y has {value!r}; {advice})"
        if not finite:
            return f" (first in row {i} of y; drop the row)"
    return ""


# groups and weights


def groups(given, X):
    """The codes 0, 1, … of a label for each row, or None."""
    if given is None:
        return None
    labels = np.asarray(_from_series(given, "groups"))
    if labels.ndim != 1 or len(labels) != X.shape[0]:
        raise ValueError(
            f"groups must be one label for each of the {X.shape[0]} rows of X, got shape {labels.shape}"
        )
    missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise ValueError(f"groups has no label for row {missing[0]}; give it one of its own, or drop the row")
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"groups mixes labels of different types ({error}); make all of them text"
        ) from error


def weights(sample_weight, X):
    """Sample weights as floats, or None. Whole numbers count rows; of others only the ratios say something."""
    if sample_weight is None:
        return None
    w = _from_series(sample_weight, "sample_weight")
    try:
        w = np.asarray(w)
        w = w if w.dtype.kind == "c" else w.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be one number for each row of X ({error})") from error
    if w.ndim == 1 and w.dtype.kind == "f" and not np.all((w >= 0) & (w < np.inf)):
        row = np.argmin((w >= 0) & (w < np.inf))
        raise ValueError(
            f"sample_weight must be finite and not negative; row {row} has {w[row]}; drop the row"
        )
    w = float(w) if w.ndim == 0 else w
    try:
        w = _check_sample_weight(w, X, dtype=np.float64, ensure_non_negative=True)
    except ValueError as error:
        raise ValueError(
            f"{error} Give one weight for each of the {X.shape[0]} rows of X, not all of them 0."
        ) from error
    return w if _counts(w) else _relative(w)


def _counts(w):
    return np.array_equal(w, np.floor(w)) and w.max() * len(w) <= WHOLE


def _relative(w):
    w = w / w.max()
    return w / w.mean()
