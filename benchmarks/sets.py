"""The tables that benchmarks share: two synthetic ones, and the open ones as arrays of numbers."""

from dataclasses import dataclass

import numpy as np
import side_by_side
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

HUNDRED, MILLION = 100_000, 1_000_000
TEST = 20_000


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows that neither side has seen."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def allowed(self, at_full: float) -> float:
        """How much worse we may be: `at_full` with 20 000 test rows; few rows can tell coarse faults only."""
        return at_full * TEST / len(self.y_test)


def hundred(rows: int = HUNDRED) -> Split:
    """The set "hundred" as float32, with 20 000 test rows; of `rows` rows it is another draw, with a fifth to test."""
    n_test = min(TEST, rows // 5)
    X, y = make_classification(
        rows + n_test,
        30,
        n_informative=15,
        n_redundant=5,
        flip_y=0.1,
        class_sep=0.7,
        random_state=0,
    )
    X = X.astype(np.float32)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])


def million(rows: int = MILLION) -> Split:
    """The set "million": the same of more rows."""
    return hundred(rows)


def auc(model, split: Split) -> float:
    """The area under the ROC curve on rows it has not seen."""
    return float(roc_auc_score(split.y_test, model.predict_proba(split.X_test)[:, 1]))


class Fits:
    """Fits of one estimator, each call with the next seed; all are kept, for their accuracy."""

    def __init__(self, estimator, split: Split) -> None:
        self.estimator, self.split, self.fitted = estimator, split, []

    def __call__(self) -> None:
        model = clone(self.estimator).set_params(random_state=len(self.fitted))
        self.fitted.append(model.fit(self.split.X, self.split.y))

    def auc(self) -> float:
        """The mean over the fits."""
        return float(np.mean([auc(model, self.split) for model in self.fitted]))


def frame(name: str):
    """An open table as a data frame, or None, with a message, where it is not there."""
    import pandas as pd

    try:
        path = side_by_side.data(name)
    except SystemExit as missing:
        print(f"skipped: {missing}")
        return None
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def of_catalogue(tasks: set[str]) -> dict[str, str]:
    """{name: column to predict} of the open tables of some tasks, in the order of the catalogue."""
    catalogue = frame("CATALOG.csv")
    if catalogue is None:
        return {}
    return {row.name: row.target for row in catalogue.itertuples(index=False) if row.task in tasks}


def coded(table, target: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """(X, y, which columns hold categories) as numbers: a category is its place in their order, missing is NaN."""
    from pandas.api.types import is_numeric_dtype

    X, y = table.drop(columns=target), table[target].astype("category").cat.codes.to_numpy()
    names = [j for j, column in enumerate(X) if not is_numeric_dtype(X[column])]
    columns = [_places(X[column]) if j in names else X[column] for j, column in enumerate(X)]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns]), y, names


def _places(column) -> np.ndarray:
    places = column.astype("category").cat.codes.to_numpy().astype(float)
    return np.where(places < 0, np.nan, places)


def some(n: int, most: int, seed: int = 0) -> np.ndarray:
    """All of n rows, or `most` of them drawn, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
