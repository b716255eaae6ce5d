"""The tables that benchmarks share: two synthetic ones, and the open ones as arrays of numbers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import side_by_side
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss as cross_entropy, roc_auc_score, root_mean_squared_error

HUNDRED, MILLION = 100_000, 1_000_000
TEST = 20_000
UCI = {
    "uci_boston": "MEDV",
    "uci_concrete": "compressive_strength",
    "uci_energy": "heating_load",
    "uci_kin8nm": "y",
    "uci_naval": "GT_compressor_decay",
    "uci_power": "PE",
    "uci_protein": "RMSD",
    "uci_wine_red": "quality",
    "uci_yacht": "residuary_resistance",
}
NOT_FEATURES = {
    "uci_naval": ["GT_turbine_decay"],  # a second target
    "adult": ["fnlwgt"],  # a survey weight
    "titanic": ["Name", "Ticket", "Cabin"],  # nearly as many as there are rows
}


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


def log_loss(model, split: Split) -> float:
    """The mean of −log p(y) on rows it has not seen."""
    return float(cross_entropy(split.y_test, model.predict_proba(split.X_test), labels=model.classes_))


def rmse(model, split: Split) -> float:
    """The root of the mean squared error on rows it has not seen."""
    return float(root_mean_squared_error(split.y_test, model.predict(split.X_test)))


class Fits:
    """Fits of one estimator, each call with the next seed; all are kept, for their accuracy."""

    def __init__(self, estimator, split: Split) -> None:
        self.estimator, self.split, self.fitted = estimator, split, []

    def __call__(self) -> None:
        model = clone(self.estimator).set_params(random_state=len(self.fitted))
        self.fitted.append(model.fit(self.split.X, self.split.y))

    def mean(self, judge: Callable) -> np.ndarray:
        """The mean over the fits of judge(model, split)."""
        return np.mean([judge(model, self.split) for model in self.fitted], axis=0)

    def auc(self) -> float:
        """The mean over the fits."""
        return float(self.mean(auc))


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


def native(name: str, most: int | None = None):
    """(X, y) of an open table or at most `most` of its rows, or None where it is not there.

    X is a data frame of unordered categories and float32 numbers; y has numbers, or the places of classes.
    """
    from pandas.api.types import is_numeric_dtype

    table, catalogue = frame(name), frame("CATALOG.csv")
    if table is None or catalogue is None:
        return None
    told = catalogue.set_index("name").loc[name]
    table = READY.get(name, lambda ready: ready)(table).drop(columns=NOT_FEATURES.get(name, []))
    table = table.iloc[some(len(table), most or len(table))].reset_index(drop=True)
    X, y = table.drop(columns=told["target"]), table[told["target"]].to_numpy()
    for column in X:
        X[column] = X[column].astype("float32") if is_numeric_dtype(X[column]) else _unordered(X[column])
    X.columns = [f"x{j}" for j in range(X.shape[1])]  # some peers refuse spaces and brackets
    return X, y.astype(float) if told["task"] == "regression" else np.unique(y, return_inverse=True)[1]


def _unordered(column):
    return column.astype("category").cat.as_unordered().cat.remove_unused_categories()


def _flights(table):
    """With month, day, weekday and minute in place of the date."""
    when = table["date"].dt
    parts = {"month": when.month, "day": when.day, "weekday": when.weekday}
    return table.drop(columns="date").assign(**parts, minute=60 * when.hour + when.minute)


def _diamonds(table):
    """No diamond twice."""
    return table.drop_duplicates()


def _policies(table):
    """Exposed for a year at most."""
    return table.assign(Exposure=table["Exposure"].clip(upper=1.0))


READY = {"flights_1m": _flights, "diamonds": _diamonds, "fremtpl2_freq": _policies}


def fifth(X, y: np.ndarray, train: int | None = None) -> Split:
    """A fixed random fifth to test, or all but `train` rows, and the rest to learn from."""
    order = np.random.default_rng(0).permutation(len(y))
    learn, test = np.split(order, [train or len(y) - len(y) // 5])
    if isinstance(X, np.ndarray):
        return Split(X[learn], y[learn], X[test], y[test])
    return Split(X.iloc[learn], y[learn], X.iloc[test], y[test])


def uci(name: str):
    """(X, y, rows to test of each standard split) of one of the `UCI` tables, or None where it is not there."""
    table = frame(name)
    if table is None:
        return None
    splits = np.load(side_by_side.data(f"{name}.splits.npz"))
    X = table.drop(columns=[UCI[name], *NOT_FEATURES.get(name, [])])
    tests = [splits[f"test_{k}"] for k in range(int(splits["n_splits"]))]
    return X.to_numpy(dtype=float), table[UCI[name]].to_numpy(dtype=float), tests


def _places(column) -> np.ndarray:
    places = column.astype("category").cat.codes.to_numpy().astype(float)
    return np.where(places < 0, np.nan, places)


def some(n: int, most: int, seed: int = 0) -> np.ndarray:
    """All of n rows, or `most` of them drawn, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
