"""The same table in other clothes gives the same bits."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conformance.zoo import ESTIMATORS, ONE_OF_EACH, answers, close, data, fit, same, title, weighted
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

NAMES = ["age", "size", "flag", "count", "weight"]


@pytest.fixture(params=ONE_OF_EACH, ids=title)
def estimator(request):
    return request.param


@pytest.fixture
def learned(estimator):
    """(model, X, y): columns of numbers, of truth values and of whole numbers."""
    X, y = data(estimator)
    X[:, 2] = X[:, 2] > 0
    return fit(estimator, X, y), X, y


def columns(X):
    """The columns as a table has them, each of its own type."""
    return dict(zip(NAMES, [X[:, 0], X[:, 1], X[:, 2].astype(bool), X[:, 3].astype(np.int32), X[:, 4]]))


def nullable(X):
    types = {"age": "Float64", "size": "Float64", "flag": "boolean", "count": "Int32", "weight": "Float64"}
    return pd.DataFrame(columns(X)).astype(types)


FRAMES = {
    "pandas": lambda X: pd.DataFrame(columns(X)),
    "pandas, of objects": lambda X: pd.DataFrame(columns(X)).astype(object),
    "pandas, an index of its own": lambda X: pd.DataFrame(columns(X), index=np.arange(len(X))[::-1]),
    "pandas, nullable": nullable,
    "pandas, arrow inside": lambda X: pd.DataFrame(columns(X)).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda X: pl.DataFrame(columns(X)),
    "pyarrow": lambda X: pa.table(columns(X)),
    "pyarrow, in chunks": lambda X: pa.concat_tables([pa.table(columns(X[:7])), pa.table(columns(X[7:]))]),
}
ARRAYS = {
    "list of lists": lambda X: X.tolist(),
    "tuple of arrays": lambda X: tuple(X),
    "of objects": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "not contiguous": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "masked nowhere": np.ma.masked_array,
    "matrix, column names of numbers": pd.DataFrame,
}


@pytest.mark.parametrize("wear", FRAMES)
def test_frames(estimator, learned, wear):
    model, X, y = learned
    framed = fit(estimator, FRAMES[wear](X), y)
    assert list(framed.feature_names_in_) == NAMES
    same(model, framed, X, FRAMES[wear](X))


@pytest.mark.parametrize("wear", ARRAYS)
def test_arrays(estimator, learned, wear):
    model, X, y = learned
    other = fit(estimator, ARRAYS[wear](X), y)
    assert not hasattr(other, "feature_names_in_")
    same(model, other, X, ARRAYS[wear](X))


def test_memory_that_may_not_be_written(estimator, learned, tmp_path):
    model, X, y = learned
    joblib.dump((X, y), tmp_path / "table")
    mapped, y = joblib.load(tmp_path / "table", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    same(model, fit(estimator, mapped, y), X, mapped)


def test_input_is_left_as_it_was(estimator):
    X, y = data(estimator)
    w = np.ones(len(y))
    before = X.copy(), y.copy(), w.copy()
    answers(fit(estimator, X, y, w), X)
    for then, now in zip(before, (X, y, w)):
        np.testing.assert_array_equal(then, now)


def test_missing_is_missing_in_every_table(estimator):
    X, y = data(estimator)
    X[3, 1], X[7, 3] = np.nan, np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    tables = [
        frame,
        frame.convert_dtypes(),
        frame.astype(object).where(frame.notna(), None),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        np.ma.masked_invalid(X),
    ]
    if not get_tags(estimator).input_tags.allow_nan:
        for table in tables:
            place = "column 1" if isinstance(table, np.ndarray) else "column 'size'"
            with pytest.raises(ValueError, match=rf"NaN \(a missing value\): {place}, row 3.*SimpleImputer"):
                fit(estimator, table, y)
        return
    model = fit(estimator, X, y)
    for table in tables:
        same(model, fit(estimator, table, y), X, table)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if get_tags(e).input_tags.allow_nan], ids=title)
def test_a_column_of_nothing_is_missing(estimator):
    X, y = data(estimator)
    X[:, 2] = np.nan
    model = fit(estimator, X, y)
    empty = {name: [None] * len(y) if j == 2 else X[:, j] for j, name in enumerate(NAMES)}
    for table in (pd.DataFrame(empty), pl.DataFrame(empty), pa.table(empty)):
        same(model, fit(estimator, table, y), X, table)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.lil_array])
def test_sparse(estimator, form):
    X, y = data(estimator)
    X[np.abs(X) < 0.7] = 0.0
    if get_tags(estimator).input_tags.sparse:
        # A member may compute otherwise for a sparse matrix, but folds and draws must not differ.
        close(fit(estimator, form(X), y), fit(estimator, X, y), X, rtol=1e-5)
    else:
        with pytest.raises(TypeError, match=r"Use '\.toarray\(\)'"):
            fit(estimator, form(X), y)


def test_single_precision_is_nearly_the_same(estimator):
    X, y = data(estimator)
    X = X.astype(np.float32)
    close(fit(estimator, X, y), fit(estimator, X.astype(float), y), X, rtol=1e-3)
    frame = pd.DataFrame(X, columns=NAMES)
    same(fit(estimator, X, y), fit(estimator, frame, y), X, frame)


ANSWERS = {
    "list": list,
    "of objects": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "pandas, an index of its own": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "pandas, categorical": lambda y: pd.Series(y, dtype="category"),
    "pandas, arrow inside": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.Series,
    "pyarrow": lambda y: pa.chunked_array([y.tolist()]),
    "array of pyarrow": lambda y: pa.array(y.tolist()),
    "masked nowhere": np.ma.masked_array,
}


@pytest.mark.parametrize("wear", ANSWERS)
def test_answers(estimator, learned, wear):
    model, X, y = learned
    other = fit(estimator, X, ANSWERS[wear](y))
    same(model, other, X)
    assert other.score(X, ANSWERS[wear](y)) == model.score(X, y)
    assert other.log_score(X, ANSWERS[wear](y)) == model.log_score(X, y)


@pytest.mark.parametrize("wear", [list, pd.Series, pl.Series, pa.array, lambda w: w.astype(int)])
@pytest.mark.parametrize("estimator", weighted(ONE_OF_EACH), ids=title)
def test_weights(estimator, wear):
    X, y = data(estimator)
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    same(fit(estimator, X, y, w), fit(estimator, X, y, wear(w)), X)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([3, 1, 7], "i"), ([True, False, True], "b"), ([2.0, 0.0, 1.0], "f"), (["ö", "", "long name"], "U")],
)
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_classifier(e)], ids=title)
def test_labels_of_every_kind(estimator, labels, kind):
    X, y = data(estimator)
    y = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    model = fit(estimator, X, y)
    assert model.classes_.dtype.kind == model.predict(X).dtype.kind == kind
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.score(X, y) > 0.5
