"""Hostile input: every cell of the matrix is a finite answer, or an error that says where, and what to do."""

import datetime
import decimal
import re
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conformance.zoo import ESTIMATORS, ONE_OF_EACH, data, fit, is_finite, title, weighted
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

LABELS = np.array(["ash", "birch", "cedar"])
ENCODE = "encode it before this estimator.*OneHotEncoder"
TIMES = "turn it into numbers first"
NUMBERS = "turn it into numbers, or drop the column"
SHAPE = "give a 2-D table of numbers"


def outcome(ask):
    """What happened: None, or the error's message. Only ValueError and TypeError are answers to bad input."""
    try:
        ask()
    except (ValueError, TypeError) as error:
        return str(error)


def told(message, pattern):
    assert message is not None, "it should have been refused"
    assert re.search(pattern, message, re.DOTALL | re.IGNORECASE), message


# Tables that can be learned: constants, copies, extremes. A finite answer, and no warning.


def _with(change):
    def table(X):
        X = X.copy()
        change(X)
        return X

    return table


def _set(X, at, value):
    X[at] = value


def _scaled(X, factor):
    X *= factor


LEARNABLE = {
    "a constant column": _with(lambda X: _set(X, np.s_[:, 1], 3.0)),
    "constant columns only": np.zeros_like,
    "copies of columns": lambda X: np.hstack([X, X]),
    "a sum of columns": lambda X: np.column_stack([X, X.sum(axis=1), X[:, 0] - 1e-9 * X[:, 1]]),
    "copies of rows": lambda X: X[np.arange(len(X)) // 6 * 6],
    "one column": lambda X: X[:, :1],
    "more columns than rows": lambda X: np.random.default_rng(0).normal(size=(len(X), 2 * len(X))),
    "tiny": _with(lambda X: _scaled(X, 1e-300)),
    "large": _with(lambda X: _scaled(X, 1e37)),
    "tiny beside large": _with(lambda X: _scaled(X, [1e-300, 1e37, 1.0, 1.0, 1e-30])),
    "a huge offset": _with(lambda X: np.add(X, 1e12, out=X)),
    "signed zeros": _with(lambda X: _set(X, np.s_[:, 1], np.where(X[:, 0] > 0, 0.0, -0.0))),
    "truth values": lambda X: X > 0,
    "small whole numbers": lambda X: X.astype(np.int8),
    "half precision": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "numbers as objects": lambda X: X.astype(object),
    "decimals": lambda X: np.vectorize(lambda v: decimal.Decimal(str(v)), otypes=[object])(X),
    "numbers as text": lambda X: X.astype(str),
}


@pytest.mark.parametrize("cell", LEARNABLE)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=title)
def test_learnable_tables(estimator, cell):
    X, y = data(estimator, n=30)
    X = LEARNABLE[cell](X)
    assert is_finite(fit(estimator, X, y), X)


# Tables that can not: which column or row, and what to do


def _frame(**columns):
    """The table as a data frame, some columns by others."""
    return lambda X: pd.DataFrame(X, columns=list("abcde")).assign(
        **{k: v(len(X)) for k, v in columns.items()}
    )


def _polars(**columns):
    return lambda X: pl.DataFrame(X, schema=list("abcde")).with_columns(
        **{k: v(len(X)) for k, v in columns.items()}
    )


REFUSED = {
    # what is in a cell
    "infinity": (_with(lambda X: _set(X, (4, 1), np.inf)), "infinity: column 1, row 4.*clip it or drop"),
    "minus infinity": (
        _with(lambda X: _set(X, (0, 4), -np.inf)),
        "infinity: column 4, row 0.*clip it or drop",
    ),
    "infinity, sparse": (
        lambda X: sparse.csr_array(_with(lambda X: _set(X, (4, 1), np.inf))(X)),
        r"infinity: column 1, row 4.*clip it|Use '\.toarray",
    ),
    "infinity, in a frame": (
        _frame(b=lambda n: np.where(np.arange(n) == 4, np.inf, 0.0)),
        "column 'b', row 4",
    ),
    "1e300": (
        _with(lambda X: _set(X, (2, 3), 1e300)),
        "1e.300, too large a number: column 3, row 2.*divide the column",
    ),
    "-1e300": (
        _with(lambda X: _set(X, (2, 3), -1e300)),
        "too large a number: column 3, row 2.*divide the column",
    ),
    "a whole number of 400 digits": (
        lambda X: _with(lambda X: _set(X, (2, 3), 10**400))(X.astype(object)),
        "column 3, row 2 holds 1000.*divide the column",
    ),
    "text": (lambda X: np.where(X > 0, "up", "down"), f"column 0, row 0 holds '(up|down)'.*{ENCODE}"),
    "one text": (
        lambda X: _with(lambda X: _set(X, (2, 3), "?"))(X.astype(object)),
        f"column 3, row 2 holds '\\?'.*{ENCODE}",
    ),
    "bytes": (lambda X: np.where(X > 0, b"up", b"down"), f"column 0, row 0 holds b'.*{ENCODE}"),
    "a list in a cell": (
        lambda X: _with(lambda X: X.__setitem__((2, 3), [1, 2]))(X.astype(object)),
        f"column 3, row 2 holds \\[1, 2\\].*{NUMBERS}",
    ),
    "complex": (lambda X: X + 1j, f"Complex data not supported.*column 0.*{NUMBERS}"),
    "dates": (lambda X: X.astype("M8[s]"), f"datetime64.*column 0.*{TIMES}"),
    "spans of time": (lambda X: X.astype("m8[s]"), f"timedelta64.*column 0.*{TIMES}"),
    "dates as objects": (
        lambda X: np.full(X.shape, datetime.date(2026, 1, 1)),
        f"column 0, row 0 holds datetime.*{TIMES}",
    ),
    # columns of a frame
    "column of text": (_frame(b=lambda n: ["up"] * n), f"column 'b' is of type .*{ENCODE}"),
    "column of categories": (
        _frame(b=lambda n: pd.Categorical(["up", "down"] * (n // 2))),
        f"column 'b' is of type .*{ENCODE}",
    ),
    "column of numbered categories": (
        _frame(b=lambda n: pd.Categorical([1, 2] * (n // 2))),
        f"column 'b' is of type .*{ENCODE}",
    ),
    "column of dates": (
        _frame(b=lambda n: pd.date_range("2026", periods=n)),
        f"column 'b' is of type .*{TIMES}",
    ),
    "column of dates with zones": (
        _frame(b=lambda n: pd.date_range("2026", periods=n, tz="UTC")),
        f"column 'b' is of type .*{TIMES}",
    ),
    "column of spans": (
        _frame(b=lambda n: pd.to_timedelta(np.arange(n), "s")),
        f"column 'b' is of type .*{TIMES}",
    ),
    "column of months": (
        _frame(b=lambda n: pd.period_range("2026", periods=n)),
        f"column 'b' is of type .*{NUMBERS}",
    ),
    "column of complex": (_frame(b=lambda n: np.arange(n) + 1j), f"column 'b' is of type complex.*{NUMBERS}"),
    "column of mixed objects": (
        _frame(b=lambda n: pd.Series([1, 2, "x"] * (n // 3), dtype=object)),
        f"column 'b', row 2 holds 'x'.*{ENCODE}",
    ),
    "column of lists": (
        _frame(b=lambda n: pd.Series([[1]] * n)),
        f"column 'b', row 0 holds \\[1\\].*{NUMBERS}",
    ),
    "polars: text": (_polars(b=lambda n: pl.lit("up")), f"column 'b' is of type String.*{ENCODE}"),
    "polars: categories": (
        _polars(b=lambda n: pl.lit("up").cast(pl.Categorical)),
        f"column 'b' is of type Categorical.*{ENCODE}",
    ),
    "polars: dates": (
        _polars(b=lambda n: pl.lit(datetime.date(2026, 1, 1))),
        f"column 'b' is of type Date.*{TIMES}",
    ),
    "polars: lists": (_polars(b=lambda n: pl.lit([1.0, 2.0])), f"column 'b' is of type List.*{NUMBERS}"),
    "polars: structs": (_polars(b=lambda n: pl.struct("a")), f"column 'b' is of type Struct.*{NUMBERS}"),
    "arrow: text": (
        lambda X: pa.table({"a": X[:, 0], "b": ["up"] * len(X)}),
        f"column 'b' is of type String.*{ENCODE}",
    ),
    "columns of one name": (
        lambda X: pd.DataFrame(X, columns=list("abcad")),
        "columns of the same name.*'a'.*a name of its own",
    ),
    "some names are numbers": (
        lambda X: pd.DataFrame(X, columns=["a", 1, "c", "d", "e"]),
        "columns.astype\\(str\\)",
    ),
    "not read yet": (lambda X: pl.DataFrame(X).lazy(), r"X\.collect\(\)"),
    # shapes
    "no rows": (lambda X: X[:0], r"0 sample\(s\).*at least one row"),
    "no columns": (lambda X: X[:, :0], r"0 feature\(s\).*at least one column"),
    "a frame of no rows": (lambda X: _frame()(X)[:0], r"0 sample\(s\).*at least one row"),
    "a frame of no columns": (lambda X: _frame()(X)[[]], r"0 feature\(s\).*at least one column"),
    "a column alone": (lambda X: X[:, 0], f"Expected 2D array.*Reshape.*{SHAPE}"),
    "a pandas column": (lambda X: _frame()(X)["a"], f"2-dimensional.*{SHAPE}"),
    "a polars column": (lambda X: pl.Series(X[:, 0]), f"2D array.*{SHAPE}"),
    "three dimensions": (lambda X: X[:, :, None], f"dim 3.*{SHAPE}"),
    "rows of several lengths": (lambda X: [[1.0, 2.0], [3.0]] * (len(X) // 2), SHAPE),
    # no table at all
    **{
        f"no table: {thing!r:.12}": (
            lambda X, thing=thing: thing,
            f"X is of type {type(thing).__name__}, .*{SHAPE}",
        )
        for thing in (None, 3, "table.csv", {"a": [1, 2]}, {1, 2}, ..., object, lambda: 1, b"1,2")
    },
    "no table: a generator": (lambda X: (row for row in X), f"X is of type generator, .*{SHAPE}"),
}


@pytest.mark.parametrize("cell", REFUSED)
@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=title)
def test_refused_tables(estimator, cell):
    X, y = data(estimator, n=30)
    make, pattern = REFUSED[cell]
    told(outcome(lambda: fit(estimator, make(X), y)), pattern)


@pytest.mark.parametrize("cell", [c for c in REFUSED if "same name" not in REFUSED[c][1]])
@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=title)
def test_refused_tables_when_asked(estimator, cell):
    """The same when it is asked, where the number and names of columns may be told of first."""
    X, y = data(estimator, n=30)
    make, pattern = REFUSED[cell]
    framed = not hasattr(make(X), "collect") and hasattr(make(X), "columns")
    model = fit(estimator, pd.DataFrame(X, columns=list("abcde")) if framed else X, y)
    told(outcome(lambda: model.predict(make(X))), f"{pattern}|columns of fit|same columns")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=title)
def test_missing_values(estimator):
    """Where members take them an answer, where they do not the cell and what helps."""
    X, y = data(estimator, n=30)
    holes = _with(lambda X: _set(X, (7, 2), np.nan))
    message = outcome(lambda: fit(estimator, holes(X), y))
    if message is None:
        assert is_finite(fit(estimator, holes(X), y), holes(X))
        return
    told(message, r"NaN \(a missing value\): column 2, row 7.*SimpleImputer.*drop the row.*member that takes")
    told(outcome(lambda: fit(estimator, X, y).predict(holes(X))), "NaN.*column 2, row 7")


# Columns that have moved


MOVED = {
    "in another order": (lambda f: f[list("ebcda")], "order.*columns of fit"),
    "one missing": (lambda f: f.drop(columns="c"), "missing.*c.*columns of fit"),
    "one too many": (lambda f: f.assign(z=1.0), "unseen.*z.*columns of fit"),
    "another name": (lambda f: f.rename(columns={"c": "z"}), "z.*columns of fit"),
    "one twice": (
        lambda f: pd.concat([f, f[["c"]]], axis=1),
        "columns of the same name.*'c'.*a name of its own",
    ),
    "an array too narrow": (lambda f: f.to_numpy()[:, :4], "4 features.*expecting 5.*same columns"),
    "an array too wide": (lambda f: np.ones((len(f), 6)), "6 features.*expecting 5.*same columns"),
    "polars, in another order": (lambda f: pl.from_pandas(f[list("ebcda")]), "order.*columns of fit"),
    "arrow, one missing": (lambda f: pa.Table.from_pandas(f.drop(columns="c")), "missing.*c.*columns of fit"),
}


@pytest.mark.parametrize("cell", MOVED)
@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=title)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_moved_columns(estimator, cell):
    X, y = data(estimator, n=30)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = fit(estimator, frame, y)
    change, pattern = MOVED[cell]
    told(outcome(lambda: model.predict_dist(change(frame))), pattern)
    np.testing.assert_array_equal(model.predict(frame[list(model.feature_names_in_)]), model.predict(frame))


# Answers


def _answer(value, row=4):
    def put(y):
        y = y.astype(object)
        y[row] = value
        return y

    return put


ANSWERS = {
    "NaN": (_answer(np.nan), "NaN.*row 4.*drop the row"),
    "None": (_answer(None), "NaN.*row 4.*drop the row"),
    "pandas' missing": (lambda y: pd.Series(_answer(None)(y)), "NaN.*row 4.*drop the row"),
    "polars' missing": (lambda y: pl.Series(_answer(None)(y).tolist()), "NaN.*row 4.*drop the row"),
    "arrow's missing": (lambda y: pa.array(_answer(None)(y).tolist()), "NaN.*row 4.*drop the row"),
    "masked": (lambda y: np.ma.masked_array(y, mask=np.arange(len(y)) == 4), "NaN.*row 4.*drop the row"),
    "infinity": (_answer(np.inf), "(infinity.*row 4.*drop the row)|(text in row 0 but not in row 4)"),
    "two columns": (lambda y: np.stack([y, y], axis=1), "1d array.*one column"),
    "a frame of two": (lambda y: pd.DataFrame({"y": y, "z": y}), "1d array.*one column"),
    "pairs": (lambda y: list(zip(y, y)), "1d array.*one column"),
    "three dimensions": (lambda y: y[:, None, None], "dim 3.*one column"),
    "too few": (lambda y: y[:-1], "X 30, y 29; give one y for each row"),
    "too many": (lambda y: np.append(y, y), "X 30, y 60; give one y for each row"),
    "none at all": (lambda y: [], "X 30, y 0; give one y for each row"),
    "complex": (lambda y: np.arange(len(y)) + 1j, f"y is of type complex128; {NUMBERS}"),
    "sparse": (lambda y: sparse.csr_array(np.ones((len(y), 1))), r"Use '\.toarray"),
    **{
        f"no column: {thing!r:.12}": (lambda y, thing=thing: thing, "1d array|requires y")
        for thing in (None, 3, "y", {"y": 1}, {1, 2}, ..., object)
    },
}
FOR_REGRESSORS = {
    "mixed with text": (_answer("?"), "row 4 of y has '\\?'.*regressor needs numbers"),
    "text": (
        lambda y: LABELS[np.arange(len(y)) % 3],
        "row 0 of y has 'ash'; a regressor needs numbers; for classes, use a cl",
    ),
    "categories": (
        lambda y: pd.Series(LABELS[np.arange(len(y)) % 3], dtype="category"),
        "row 0 of y has 'ash'; a regressor",
    ),
    "dates": (lambda y: np.arange(len(y)).astype("M8[D]"), f"datetime64.*{TIMES}"),
    "polars' dates": (lambda y: pl.Series([datetime.date(2026, 1, 1)] * len(y)), f"datetime64.*{TIMES}"),
    "spans of time": (lambda y: np.arange(len(y)).astype("m8[s]"), f"timedelta64.*{TIMES}"),
    "1e300": (_answer(1e300), "too large in row 4: 1e.300; divide y"),
    "-1e300": (_answer(-1e300), "too large in row 4: -1e.300; divide y"),
}
FOR_CLASSIFIERS = {
    "mixed with numbers": (_answer(3), "text in row 0 but not in row 4; make all of it text"),
    "numbers that flow": (
        lambda y: np.linspace(0, 1, len(y)),
        "Unknown label type: continuous.*Use a regressor, or cut y",
    ),
    "tiny numbers": (
        lambda y: np.linspace(0, 1e-300, len(y)),
        "Unknown label type: continuous.*Use a regressor, or cut y",
    ),
    "huge numbers": (
        lambda y: np.linspace(0, 1e300, len(y)),
        "Unknown label type: continuous.*Use a regressor, or cut y",
    ),
    "bytes": (lambda y: y.astype("S"), "bytes is not supported. Convert the labels"),
}


def _cells():
    for estimator in ONE_OF_EACH:
        own = FOR_CLASSIFIERS if is_classifier(estimator) else FOR_REGRESSORS
        for cell, (make, pattern) in {**ANSWERS, **own}.items():
            yield pytest.param(estimator, make, pattern, id=f"{title(estimator)}-{cell}")


@pytest.mark.parametrize(("estimator", "make", "pattern"), list(_cells()))
def test_refused_answers(estimator, make, pattern):
    X, y = data(estimator, n=30)
    told(outcome(lambda: fit(estimator, X, make(y))), pattern)
    model = fit(estimator, X, y)
    for ask in (model.score, model.log_score):
        message = outcome(partial(ask, X, make(y)))
        if message is not None:
            told(message, f"{pattern}|row 0 has .* the classes are|such labels are never equal")


LEARNABLE_NUMBERS = {
    "constant": np.zeros_like,
    "one apart": lambda y: np.eye(len(y))[3],
    "whole": lambda y: np.round(y).astype(int),
    "truth values": lambda y: y > 0,
    "numbers as objects": lambda y: y.astype(object),
    "numbers as text": lambda y: y.astype(str),
    "huge whole numbers": lambda y: [2**70 + i for i in range(len(y))],
    "a huge offset": lambda y: y + 1e12,
    "large": lambda y: y * 1e37,
    "small": lambda y: y * 1e-37,
    "tiny": lambda y: y * 1e-300,
    "one surprise": lambda y: np.where(np.arange(len(y)) == 3, 1e30, y),
}


@pytest.mark.parametrize("cell", LEARNABLE_NUMBERS)
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not is_classifier(e)], ids=title)
def test_learnable_numbers(estimator, cell):
    X, y = data(estimator, n=30)
    model = fit(estimator, X, LEARNABLE_NUMBERS[cell](y))
    assert is_finite(model, X)


LEARNABLE_CLASSES = {
    "one class": lambda y: np.full(len(y), "ash"),
    "a class of one row": lambda y: np.where(np.arange(len(y)) == 3, "yew", y),
    "a class of one row beside one other": lambda y: np.where(np.arange(len(y)) == 3, "yew", "ash"),
    "a class of two rows": lambda y: np.where(np.isin(np.arange(len(y)), [3, 9]), "yew", "ash"),
    "seven classes": lambda y: np.arange(len(y)) % 7,
    "truth values": lambda y: y == "ash",
    "whole numbers as objects": lambda y: np.unique(y, return_inverse=True)[1].astype(object),
    "negative numbers": lambda y: -5 * np.unique(y, return_inverse=True)[1],
    "text of numbers": lambda y: np.unique(y, return_inverse=True)[1].astype(str),
}


@pytest.mark.parametrize("cell", LEARNABLE_CLASSES)
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_classifier(e)], ids=title)
def test_learnable_classes(estimator, cell):
    """Rare classes are not in every sample of the rows: members that never saw them sit beside those that did."""
    X, y = data(estimator, n=30)
    y = LEARNABLE_CLASSES[cell](y)
    model = fit(estimator, X, y)
    assert is_finite(model, X)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_classifier(e)], ids=title)
def test_a_class_that_nobody_knew(estimator):
    """It is never right, and has no log score."""
    X, y = data(estimator, n=30)
    model = fit(estimator, X, y)
    strange = np.where(np.arange(len(y)) == 3, "yew", y)
    assert model.score(X, strange) <= 1 - 1 / len(y)
    told(outcome(lambda: model.log_score(X, strange)), "row 3 has 'yew', and the classes are .*birch")
    told(
        outcome(lambda: model.log_score(X, np.arange(len(y)) % 2)), "row 0 has 0, and the classes are .*birch"
    )


# Weights

WEIGHTS = {
    "negative": (lambda w: np.where(np.arange(len(w)) == 4, -1.0, w), "not negative; row 4 has -1"),
    "NaN": (lambda w: np.where(np.arange(len(w)) == 4, np.nan, w), "finite.*row 4 has nan"),
    "infinite": (lambda w: np.where(np.arange(len(w)) == 4, np.inf, w), "finite.*row 4 has inf"),
    "missing": (
        lambda w: pd.Series(w.astype(int), dtype="Int64").where(np.arange(len(w)) != 4),
        "missing value.*row 4",
    ),
    "nothing": (lambda w: 0 * w, "non-zero.*not all of them 0"),
    "too few": (lambda w: w[:-1], "29.*30.*one weight for each of the 30 rows"),
    "two columns": (lambda w: np.stack([w, w], axis=1), "1D.*one weight for each of the 30 rows"),
    "text": (lambda w: ["heavy"] * len(w), "one number for each row.*heavy"),
    "complex": (lambda w: w + 1j, "Complex data not supported.*one weight"),
    **{
        f"no column: {thing!r:.12}": (lambda w, thing=thing: thing, "one number for each row")
        for thing in ("w", {"w": 1}, {1, 2}, ..., object)
    },
}


@pytest.mark.parametrize("cell", WEIGHTS)
@pytest.mark.parametrize("estimator", weighted(ONE_OF_EACH), ids=title)
def test_refused_weights(estimator, cell):
    X, y = data(estimator, n=30)
    make, pattern = WEIGHTS[cell]
    weights = make(np.ones(len(y)))
    told(outcome(lambda: fit(estimator, X, y, weights)), pattern)
    model = fit(estimator, X, y)
    told(outcome(lambda: model.log_score(X, y, weights)), pattern)


LEARNABLE_WEIGHTS = {
    "huge": lambda w: w * 1e300,
    "tiny": lambda w: w * 1e-300,
    "huge beside tiny": lambda w: np.where(np.arange(len(w)) % 2 == 0, 1e300, 1e-300),
    "truth values": lambda w: np.arange(len(w)) % 3 > 0,
    "one number for all": lambda w: 2.5,
}


@pytest.mark.parametrize("cell", LEARNABLE_WEIGHTS)
@pytest.mark.parametrize("estimator", weighted(ONE_OF_EACH), ids=title)
def test_learnable_weights(estimator, cell):
    X, y = data(estimator, n=30)
    weights = LEARNABLE_WEIGHTS[cell](np.ones(len(y)))
    message = outcome(lambda: is_finite(fit(estimator, X, y, weights), X))
    if message is not None:
        told(message, "takes no sample_weight.*use whole numbers, or a member that takes weights")


@pytest.mark.parametrize("estimator", weighted(ESTIMATORS), ids=title)
def test_weights_that_stand_for_more_rows_than_memory_holds(estimator):
    X, y = data(estimator, n=30)
    weights = np.where(np.arange(len(y)) == 4, 1e12, 1.0)
    message = outcome(lambda: is_finite(fit(estimator, X, y, weights), X))
    if message is not None:
        told(message, "adds up to 1e.12.*count rows.*divide them by their mean")


# Few rows


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=title)
def test_few_rows(estimator, n):
    X, y = data(estimator, n=30)
    rows = np.argsort(X[:, 0])[:: -(30 // n)][:n]
    message = outcome(lambda: is_finite(fit(estimator, X[rows], y[rows]), X))
    if message is not None:
        told(message, "n_samples ?= ?1|at least 2 different rows|n_neighbors|1 sample")


# What a failed fit leaves


@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=title)
def test_a_fit_that_fails_loses_nothing(estimator):
    X, y = data(estimator, n=30)
    model = fit(estimator, pd.DataFrame(X, columns=list("abcde")), y)
    frame = pd.DataFrame(X, columns=list("abcde"))
    before = model.predict(frame)
    other = np.array(["oak", "elm"])[np.arange(30) % 2] if is_classifier(estimator) else y
    for bad in (
        (X[:, :2], _answer(None)(y)),
        (X[:, :2], other[:-1]),
        (np.full((30, 2), np.inf), other),
    ):
        told(outcome(lambda bad=bad: model.fit(*bad)), ".")
        np.testing.assert_array_equal(model.predict(frame), before)
        assert model.n_features_in_ == 5


@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=title)
def test_a_first_fit_that_fails_leaves_nothing_half_done(estimator):
    X, y = data(estimator, n=30)
    fresh = clone(estimator)
    told(outcome(lambda: fresh.fit(X, y[:-1])), "one y for each row")
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert not hasattr(fresh, "n_features_in_")
