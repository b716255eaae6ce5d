"""What a fit depends on, as a digest: a checkpoint serves the plan that it was made for, and no other.

The same plan has the same digest in another process, where objects lie at other addresses and functions are defined
anew. So values are told by what they hold, as pickle would take them apart, and functions by their code.
"""

import copyreg
import hashlib
from functools import singledispatch
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

# Where a model is fitted and who watches changes nothing; seeds inside an estimator are drawn from its own.
NO_MATTER = {"n_jobs", "random_state", "_skl_callbacks"}


def digest(estimator, data, seed):
    """The digest of an estimator's parameters, its data, and the seed that was asked for (None: any)."""
    teller = _Teller()
    rows = (data.X, data.y, data.weight, data.classes, data.groups)
    asked = {name: v for name, v in estimator.get_params(deep=False).items() if name not in NO_MATTER}
    teller.tell((type(estimator), asked, rows, seed))
    return teller.hash.hexdigest()


class _Teller:
    """Tells a hash of values."""

    def __init__(self):
        self.hash = hashlib.sha256()
        self._inside: list = []  # the ids of what is being taken apart

    def tell(self, value):
        """Take a value apart; one that holds itself is told by how far up it stands."""
        if id(value) in self._inside:
            self._say(f"again {len(self._inside) - self._inside.index(id(value))}".encode())
            return
        kind, parts = _parts(value)
        self._say(f"{kind} {len(parts)}".encode())
        self._inside.append(id(value))
        for part in parts:
            self._say(part) if isinstance(part, bytes | memoryview) else self.tell(part)
        self._inside.pop()

    def _say(self, raw):
        self.hash.update(len(raw).to_bytes(8, "little"))
        self.hash.update(raw)


@singledispatch
def _parts(value):
    """(what kind it is, its parts): bytes, or values to take apart in turn."""
    if isinstance(value, type):
        return f"type {value.__module__}.{value.__qualname__}", []
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        made: Any = reduce(value) if reduce else value.__reduce_ex__(5)
    except TypeError as error:
        raise TypeError(
            f"a checkpoint cannot tell whether {value!r} is the same in the next fit ({error}); fit without one"
        ) from error
    if isinstance(made, str):
        return f"global {made}", []
    return "object", [list(part) if hasattr(part, "__next__") else part for part in made]


def _plain(value):
    return type(value).__name__, [repr(value).encode()]


for _kind in (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), np.generic):
    _parts.register(_kind, _plain)


@_parts.register
def _(value: np.ndarray):
    if value.dtype.hasobject:
        return f"objects {value.shape}", value.ravel().tolist()
    return f"array {value.dtype.str} {value.shape}", [
        np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    ]


@_parts.register(list)
@_parts.register(tuple)
def _(value):
    return type(value).__name__, list(value)


@_parts.register
def _(value: dict):
    return "dict", [part for item in value.items() for part in item]


@_parts.register
def _(value: BaseEstimator):
    state = value.__getstate__()
    return "estimator", [type(value), {name: held for name, held in state.items() if name not in NO_MATTER}]


@_parts.register(set)
@_parts.register(frozenset)
def _(value):
    return "set", sorted(value, key=repr)


@_parts.register
def _(value: FunctionType):
    inside = [cell.cell_contents for cell in value.__closure__ or ()]
    return "function", [value.__module__, value.__qualname__, value.__code__, value.__defaults__, inside]


@_parts.register
def _(value: CodeType):
    return "code", [value.co_code, list(value.co_names), list(value.co_consts)]


@_parts.register
def _(value: MethodType):
    return "method", [value.__self__, value.__func__.__qualname__]


@_parts.register(BuiltinFunctionType)
@_parts.register(ModuleType)
def _(value):
    return f"global {getattr(value, '__module__', '')}.{value.__name__}", []
