"""What a field of a stored object may hold: a check takes a value and raises ModelFormatError where it will not do."""

import math
from numbers import Integral, Real

import numpy as np

from quorate.store.format import ModelFormatError

MAX_FEATURES = 1 << 24
MAX_SEED = 1 << 256


def require(good, what):
    """Raise ModelFormatError(what) where not `good`."""
    if not good:
        raise ModelFormatError(what)


def anything(value):
    """Whatever the codec can write."""


def flag(value):
    """True or False."""
    require(isinstance(value, (bool, np.bool_)), "should be true or false")


def whole(low=-(1 << 63), high=(1 << 63) - 1):
    """A whole number between low and high, both included."""

    def check(value):
        good = isinstance(value, Integral) and not isinstance(value, bool) and low <= value <= high
        require(good, f"should be a whole number from {low} to {high}")

    return check


def number(low=-math.inf, high=math.inf, *, finite=True):
    """A number strictly between low and high; NaN only where `finite` is False."""

    def check(value):
        good = isinstance(value, Real) and not isinstance(value, bool)
        require(good and (low < value < high or not finite), f"should be a number between {low} and {high}")

    return check


def text(*choices):
    """A string, one of the choices where there are any."""

    def check(value):
        require(isinstance(value, str), "should be a string")
        require(not choices or value in choices, f"should be one of {choices}")

    return check


def is_array(value, dtype, shape, what):
    """That a value is an array of just this type and shape, row after row in memory."""
    good = isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape
    require(good and value.flags.c_contiguous, f"{what} should be {dtype} of shape {shape}")


def fitted(thing, *names):
    """The attributes of these names; None where there are none of them, as before a fit: some are not enough."""
    own = vars(thing)
    missing = [name for name in names if name not in own]
    require(len(missing) in (0, len(names)), f"a {type(thing).__name__} lacks {missing}")
    return None if missing else [own[name] for name in names]


def array(kinds="f", ndim=1, *, least=0, low=None, high=None, finite=True):
    """An array of these kinds of number (b i u f) and dimensions, each at least `least` long, within low … high."""

    def check(value):
        require(
            isinstance(value, np.ndarray) and value.dtype.kind in kinds,
            f"should be an array of kind {kinds!r}",
        )
        dims = (ndim,) if isinstance(ndim, int) else ndim
        require(
            value.ndim in dims and min(value.shape, default=least) >= least, f"has the shape {value.shape}"
        )
        if value.dtype.kind == "f":
            require(
                np.all(np.isfinite(value)) if finite else not np.any(np.isnan(value)),
                "has numbers that are not finite",
            )
        if value.size:
            require(low is None or value.min() >= low, f"has a number below {low}")
            require(high is None or value.max() <= high, f"has a number above {high}")

    return check


def labels(value):
    """Class labels: one-dimensional, at least one, none twice."""
    require(
        isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUO",
        "should be class labels",
    )
    require(
        len(value) and len(set(value.tolist())) == len(value), "should be labels of which none comes twice"
    )


def names(value):
    """Names of features, as scikit-learn keeps them."""
    require(
        isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object,
        "should be names of columns",
    )
    require(all(isinstance(v, str) for v in value), "should be strings")


def each(check, *, least=0, kind=tuple):
    """A tuple (or list) of at least `least` things that pass the check."""

    def check_each(value):
        require(
            type(value) is kind and len(value) >= least, f"should be a {kind.__name__} of at least {least}"
        )
        for i, one in enumerate(value):
            try:
                check(one)
            except ModelFormatError as error:
                raise ModelFormatError(f"[{i}] {error}") from error

    return check_each


def each_named(check):
    """A dict from strings to things that pass the check."""

    def check_values(value):
        require(type(value) is dict, "should be a dictionary")
        each(check, kind=list)(list(value.values()))

    return check_values


def optional(check):
    """None, or what passes the check."""

    def check_optional(value):
        if value is not None:
            check(value)

    return check_optional


def a(*types):
    """An object of one of these types."""

    def check(value):
        wanted = " or ".join(t.__name__ for t in types)
        require(isinstance(value, types), f"should be a {wanted}, not a {type(value).__name__}")

    return check


def either(*checks):
    """What passes one of the checks."""

    def check_either(value):
        wrong = []
        for check in checks:
            try:
                return check(value)
            except ModelFormatError as error:
                wrong.append(str(error))
        raise ModelFormatError("; and ".join(wrong))

    return check_either


def speaks(value):
    """A fitted member: something that answers with a distribution."""
    require(
        callable(getattr(value, "predict_dist", None)),
        f"should be a fitted member, not a {type(value).__name__}",
    )


def estimates(value):
    """A fitted scikit-learn estimator."""
    good = all(callable(getattr(value, name, None)) for name in ("get_params", "predict"))
    require(
        good and not isinstance(value, type), f"should be a fitted estimator, not a {type(value).__name__}"
    )
