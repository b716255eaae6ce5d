"""The libraries that boost, with two threads each: the same 100 rounds of 31 leaves, and their defaults."""

import os

os.environ["OMP_NUM_THREADS"] = "2"  # else scikit-learn's takes as many as there are cores

from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from xgboost import XGBClassifier, XGBRegressor

import quorate as q

THREADS, ROUNDS, LEAVES, RATE = 2, 100, 31, 0.1


def expression(classes: bool, rounds: int = ROUNDS) -> str:
    """Ours, for classes or numbers, as a fresh process evaluates it, too; without residuals, as the peers have none."""
    name, also = ("BoostedClassifier", "") if classes else ("BoostedRegressor", ", residual_folds=0")
    shape = f"n_estimators={rounds}, learning_rate={RATE}, max_leaf_nodes={LEAVES}"
    return f"q.{name}({shape}{also}, n_jobs={THREADS})"


def ours(classes: bool, frame: bool = False, rounds: int = ROUNDS):
    """Ours, in a data frame or an array."""
    model = eval(expression(classes, rounds), {"q": q})
    return model.set_params(categorical_features="from_dtype" if frame else None)


def alike(classes: bool, frame: bool = False, rounds: int = ROUNDS) -> dict:
    """The peers with as many rounds, leaves and threads as ours, and the same learning rate."""
    lightgbm, xgboost, sklearn = (
        (LGBMClassifier, XGBClassifier, HistGradientBoostingClassifier)
        if classes
        else (LGBMRegressor, XGBRegressor, HistGradientBoostingRegressor)
    )
    shared = {"n_estimators": rounds, "learning_rate": RATE, "n_jobs": THREADS}
    leaves = {**shared, "num_leaves": LEAVES, "verbose": -1}
    return {
        "LightGBM": lightgbm(**leaves),
        "LightGBM quantised": lightgbm(**leaves, use_quantized_grad=True),
        "XGBoost": xgboost(
            **shared,
            tree_method="hist",
            grow_policy="lossguide",
            max_leaves=LEAVES,
            max_depth=0,
            enable_categorical=frame,
        ),
        "sklearn HGB": sklearn(
            max_iter=rounds,
            learning_rate=RATE,
            max_leaf_nodes=LEAVES,
            early_stopping=False,
            categorical_features="from_dtype" if frame else None,
        ),
    }


def defaults(classes: bool, categories: list[str]) -> dict:
    """All as they come, told of categories, threads and silence only."""
    kinds = (
        (
            q.BoostedClassifier,
            LGBMClassifier,
            XGBClassifier,
            CatBoostClassifier,
            HistGradientBoostingClassifier,
        )
        if classes
        else (
            q.BoostedRegressor,
            LGBMRegressor,
            XGBRegressor,
            CatBoostRegressor,
            HistGradientBoostingRegressor,
        )
    )
    ours, lightgbm, xgboost, catboost, sklearn = kinds
    return {
        "quorate": ours(categorical_features="from_dtype", n_jobs=THREADS),
        "LightGBM": lightgbm(n_jobs=THREADS, verbose=-1),
        "XGBoost": xgboost(n_jobs=THREADS, enable_categorical=True),
        "CatBoost": catboost(
            thread_count=THREADS, cat_features=categories, verbose=False, allow_writing_files=False
        ),
        "sklearn HGB": sklearn(),  # whose own default takes categories from the dtype
    }


def texts(X):
    """A data frame whose categories are texts, "nan" where they are missing, as CatBoost takes them."""
    names = X.select_dtypes("category").columns
    return X.assign(**{name: X[name].astype(object).fillna("nan").astype(str) for name in names})
