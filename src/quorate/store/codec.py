"""Values to JSON and back.

What JSON has a word for is written as it is. All else is an object with one key:

| written | stands for |
|---|---|
| {"float": "nan"} (or "inf", "-inf") | the numbers JSON lacks |
| {"tuple": […]}, {"dict": {…}} | a tuple, a dictionary with strings for keys |
| {"scalar": ["float64", 0.5]} | one NumPy number |
| {"array": 3} | tensor 3 |
| {"transposed": 3} | the same where columns come first in memory, which matters to the last bit of a product |
| {"text": [dtype, shape, […]]} | an array of strings |
| {"third": 2} | the third-party object 2 (see third.py) |
| {"Committee": {"members": …}} | an object of the registry, by its fields |
"""

import math

import numpy as np

from quorate.store import registry, strict
from quorate.store.format import ModelFormatError

SCALARS = {
    name: getattr(np, name)
    for name in (
        *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
_SCALAR_NAMES = {kind: name for name, kind in SCALARS.items()}
MAX_TEXT = 1 << 24  # characters of a file's arrays of strings, each as wide as the widest of its array


class Writer:
    """Collects `tensors`; `third` takes what the registry does not know and gives it a number."""

    def __init__(self, third):
        self.tensors = []
        self._text_left = MAX_TEXT
        self._third = third

    def value(self, value, depth=0):
        """The JSON for a value."""
        if depth > strict.MAX_DEPTH // 2:
            raise ValueError("the model is nested too deeply (or holds itself) and cannot be saved")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.value(v, depth + 1) for v in value]
        if kind is tuple:
            return {"tuple": [self.value(v, depth + 1) for v in value]}
        if kind is dict and all(type(k) is str for k in value):
            return {"dict": {k: self.value(v, depth + 1) for k, v in value.items()}}
        if kind in _SCALAR_NAMES:
            return {"scalar": [_SCALAR_NAMES[kind], self.value(value.item())]}
        if kind is np.ndarray and value.dtype.kind in "biufUO" and value.dtype.char != "g":
            return self.array(value)
        return self._object(value, depth)

    def _object(self, value, depth):
        entry = registry.entry_of(value)
        if entry is None:
            return {"third": self._third(value)}
        fields = entry.read(value)
        return {entry.name: {name: self.value(field, depth + 2) for name, field in fields.items()}}

    def array(self, value):
        """The JSON for an array."""
        if value.dtype.kind in "UO":
            self._text_left -= value.nbytes // 4 if value.dtype.kind == "U" else 0
            if self._text_left < 0:
                raise ValueError(f"the model's arrays of strings are longer than {MAX_TEXT} characters")
            return {"text": _text(value)}
        columns_first = value.flags.f_contiguous and not value.flags.c_contiguous
        return {"transposed" if columns_first else "array": self.tensor(value.T if columns_first else value)}

    def tensor(self, value):
        """The number of a new tensor."""
        self.tensors.append(np.require(value, value.dtype.newbyteorder("<"), "C").reshape(value.shape))
        return len(self.tensors) - 1


def _text(value):
    values = value.ravel().tolist()
    if not all(type(v) is str for v in values):
        odd = next(v for v in values if type(v) is not str)
        raise TypeError(f"an array of Python objects can be saved where all are strings, but one is {odd!r}")
    return [value.dtype.str if value.dtype.kind == "U" else "object", list(value.shape), values]


class Reader:
    """Reads values; every tensor may be used once. `third` gives the third-party object of a number."""

    def __init__(self, tensors, third):
        self.tensors = tensors
        self.left = set(range(len(tensors)))
        self.text_left = MAX_TEXT
        self._third = third

    def value(self, node, path="model", depth=0):
        """The value that a piece of JSON stands for; errors name the path to it."""
        if depth > strict.MAX_DEPTH:
            raise ModelFormatError("the manifest is nested too deeply")
        if type(node) is list:
            return [self.value(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(node)]
        if type(node) is not dict:
            return node
        try:
            if len(node) != 1:
                raise ModelFormatError(f"an object should have one key, not {len(node)}")
            [(tag, inside)] = node.items()
            if tag in _TAGS:
                return _TAGS[tag](self, inside, path, depth)
            return self._object(registry.entry_named(tag), inside, path, depth)
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise ModelFormatError.at(path, error) from error

    def _object(self, entry, fields, path, depth):
        if type(fields) is not dict:
            raise ModelFormatError("should have fields")
        found = {name: self.value(node, f"{path}.{name}", depth + 2) for name, node in fields.items()}
        return entry.build(found)

    def tensor(self, number):
        """The tensor of a number, once."""
        if type(number) is not int or number not in self.left:
            raise ModelFormatError(f"there is no tensor {number!r} left to use")
        self.left.remove(number)
        return self.tensors[number]

    def _tuple(self, inside, path, depth):
        if type(inside) is not list:
            raise ModelFormatError("a tuple should hold a list")
        return tuple(self.value(inside, path, depth))

    def _dict(self, inside, path, depth):
        if type(inside) is not dict:
            raise ModelFormatError("a dict should hold an object")
        return {key: self.value(node, f"{path}[{key!r}]", depth + 1) for key, node in inside.items()}

    def _float(self, inside, path, depth):
        if inside not in ("nan", "inf", "-inf"):
            raise ModelFormatError(f"{inside!r} is no number that JSON lacks")
        return float(inside)

    def _scalar(self, inside, path, depth):
        if type(inside) is not list or len(inside) != 2 or inside[0] not in SCALARS:
            raise ModelFormatError("a scalar should be a type and a number")
        kind, plain = SCALARS[inside[0]], self.value(inside[1], path, depth + 1)
        with np.errstate(all="ignore"):
            value = kind(plain) if type(plain) in (bool, int, float) else None
        if value is None or type(value.item()) is not type(plain) or not (value == plain or plain != plain):
            raise ModelFormatError(f"{plain!r} is no {inside[0]}")
        return value

    def _text(self, inside, path, depth):
        if (
            type(inside) is not list
            or len(inside) != 3
            or type(inside[1]) is not list
            or type(inside[2]) is not list
        ):
            raise ModelFormatError("an array of strings should be a type, a shape and strings")
        dtype, shape, values = inside
        if (
            not all(type(n) is int and n >= 0 for n in shape)
            or math.prod(shape) != len(values)
            or len(shape) > 8
        ):
            raise ModelFormatError(f"{len(values)} strings do not fill the shape {shape}")
        if not all(type(v) is str for v in values):
            raise ModelFormatError("an array of strings holds something else")
        if dtype == "object":
            array = np.empty(len(values), object)
            array[:] = values
            return array.reshape(shape)
        width = _width(dtype, values)
        self.text_left -= width * len(values)
        if self.text_left < 0:
            raise ModelFormatError(f"its arrays of strings are longer than {MAX_TEXT} characters")
        return np.array(values, dtype).reshape(shape)

    def _array(self, inside, path, depth):
        return self.tensor(inside)

    def _transposed(self, inside, path, depth):
        return self.tensor(inside).T

    def _third_party(self, inside, path, depth):
        return self._third(inside)


_TAGS = {
    "float": Reader._float,
    "tuple": Reader._tuple,
    "dict": Reader._dict,
    "scalar": Reader._scalar,
    "text": Reader._text,
    "array": Reader._array,
    "transposed": Reader._transposed,
    "third": Reader._third_party,
}


def _width(dtype, values):
    """7 for the type "<U7", if that many characters are enough for each string."""
    digits = dtype[2:] if type(dtype) is str and dtype[:2] == "<U" else ""
    width = int(digits) if digits.isdecimal() and len(digits) < 9 else 0
    if width < 1 or dtype != f"<U{width}" or width > MAX_TEXT:
        raise ModelFormatError(f"{dtype!r} is no type of string, or too wide a one")
    if any(len(v) > width or v.endswith("\0") for v in values):
        raise ModelFormatError(f"a string does not fit {dtype}")
    return width
