"""quorate: p(y | x, D) = Σ_m w_m(x) · p_m(y | x), as scikit-learn estimators.

    import quorate as q

Everything public is reached from here and loaded when first used (PEP 562), so the import itself
costs nothing: not even NumPy is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_NAMES = {
    "quorate.dist": (
        "Normal",
        "StudentT",
        "Laplace",
        "LogNormal",
        "Gamma",
        "Beta",
        "Dirichlet",
        "Poisson",
        "NegativeBinomial",
        "Binomial",
        "Categorical",
        "Empirical",
        "Truncated",
        "Mixture",
    ),
    "quorate.committee": ("Committee",),
    "quorate.estimators": (
        "Probabilistic",
        "BaggingClassifier",
        "BaggingRegressor",
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "BoostedClassifier",
        "BoostedRegressor",
        "DistributionalRegressor",
        "FilteringClassifier",
        "TreeClassifier",
        "TreeRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "bias_variance",
        "majority_error",
    ),
    "quorate.store": ("save", "load", "ModelFormatError", "Checkpoint"),
}
_MODULES = ("dist", "plots", "run", "score")
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    # The same names again, for type checkers and editors; tests/test_package.py holds the two together.
    from quorate import dist as dist, plots as plots, run as run, score as score
    from quorate.committee import Committee as Committee
    from quorate.dist import (
        Beta as Beta,
        Binomial as Binomial,
        Categorical as Categorical,
        Dirichlet as Dirichlet,
        Empirical as Empirical,
        Gamma as Gamma,
        Laplace as Laplace,
        LogNormal as LogNormal,
        Mixture as Mixture,
        NegativeBinomial as NegativeBinomial,
        Normal as Normal,
        Poisson as Poisson,
        StudentT as StudentT,
        Truncated as Truncated,
    )
    from quorate.estimators import (
        AdaBoostClassifier as AdaBoostClassifier,
        AdaBoostRegressor as AdaBoostRegressor,
        BaggingClassifier as BaggingClassifier,
        BaggingRegressor as BaggingRegressor,
        BoostedClassifier as BoostedClassifier,
        BoostedRegressor as BoostedRegressor,
        DistributionalRegressor as DistributionalRegressor,
        ExtraTreesClassifier as ExtraTreesClassifier,
        ExtraTreesRegressor as ExtraTreesRegressor,
        FilteringClassifier as FilteringClassifier,
        Probabilistic as Probabilistic,
        RandomForestClassifier as RandomForestClassifier,
        RandomForestRegressor as RandomForestRegressor,
        TreeClassifier as TreeClassifier,
        TreeRegressor as TreeRegressor,
        bias_variance as bias_variance,
        majority_error as majority_error,
    )
    from quorate.store import (
        Checkpoint as Checkpoint,
        ModelFormatError as ModelFormatError,
        load as load,
        save as save,
    )

    __version__: str
else:
    # Hidden from type checkers, which would otherwise let every misspelt name pass as Any.
    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used."""
        value = _find(name)
        globals()[name] = value
        return value


def _find(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    raise AttributeError(_unknown(name))


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, n=1)
    hint = f". Did you mean {close[0]!r}?" if close else ""
    return f"module {__name__!r} has no attribute {name!r}{hint}"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
