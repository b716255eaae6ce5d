"""JSON with one meaning: no repeated keys, no NaN or Infinity, no number too large for its type."""

import json
import math

from quorate.store.format import ModelFormatError

MAX_VALUES = 1 << 21  # a value takes up to some 250 bytes when it is parsed
MAX_DEPTH = 120  # brackets within brackets; ten committees within each other take about a hundred


def parse(data, what):
    """The value that `data` (UTF-8) stands for."""
    check_size(data, what)
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite
        )
    except ModelFormatError:
        raise
    except RecursionError:
        raise ModelFormatError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise ModelFormatError(f"{what} is no valid JSON: {error}") from error


def check_size(data, what):
    """That the text holds no more values than memory is meant for; each but the first follows [, { or a comma."""
    if sum(data.count(sign) for sign in (b"[", b"{", b",")) > MAX_VALUES:
        raise ModelFormatError(f"{what} holds more than {MAX_VALUES} values")


def text(value):
    """The bytes `parse` reads back to the same value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def keys(value, names, what):
    """The values of an object that has exactly these keys, in their order."""
    if type(value) is not dict or value.keys() != set(names):
        raise ModelFormatError(f"{what} should have the keys {sorted(names)}")
    return [value[name] for name in names]


def _once(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ModelFormatError("a key stands twice in the same object")
    return value


def _no_constant(name):
    raise ModelFormatError(f"{name} is no JSON")


def _finite(digits):
    value = float(digits)
    if math.isinf(value):
        raise ModelFormatError(f"the number {digits[:20]} is too large")
    return value
