"""Arrays of third-party objects: NumPy's own format, but only the plain part of it."""

import io
import math
import re

import numpy as np

from quorate.store.format import ModelFormatError, check_booleans

MAGIC = b"\x93NUMPY\x01\x00"
MAX_HEADER = 4096
MAX_CODE_POINT = 0x10FFFF

# NumPy reads the header with a parser for all of Python's literals; what is not of this shape does not reach it.
_SIMPLE = r"'[<|][biufcSU]\d{1,9}'"
_FIELD = r"\('\w*', '[<|][biufV]\d{1,3}'\)"
_HEADER = re.compile(
    rf"\{{'descr': (?:{_SIMPLE}|\[{_FIELD}(?:, {_FIELD})*\]), 'fortran_order': (?:True|False), "
    r"'shape': \((?:\d{1,15},|\d{1,15}(?:, \d{1,15})+)?\), \} *\n"
)


def clean(raw):
    """The bytes of an .npy file with zeros between the fields of its records, where memory holds whatever was there."""
    values = parse(raw)
    if values.dtype.names is None:
        return raw
    fields = np.zeros_like(values)
    for name in values.dtype.names:
        fields[name] = values[name]
    return raw[: len(raw) - values.nbytes] + fields.tobytes("A")


def parse(raw):
    """The array that the bytes of an .npy file hold, as a view of them."""
    length = int.from_bytes(raw[8:10], "little")
    header = bytes(raw[10 : 10 + length])
    if bytes(raw[:8]) != MAGIC or len(header) != length or length > MAX_HEADER:
        raise ModelFormatError("an array is not in NumPy's format")
    if not header.isascii() or not _HEADER.fullmatch(header.decode("ascii")):
        raise ModelFormatError(f"an array is of a kind that is not read: {header[:80]!r}")
    shape, columns_first, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(raw[8 : 10 + length]))
    body = raw[10 + length :]
    if (
        dtype.hasobject
        or dtype.itemsize == 0
        or len(shape) > 8
        or math.prod(shape) * dtype.itemsize != len(body)
    ):
        raise ModelFormatError(f"an array of {dtype} and shape {shape} does not have {len(body)} bytes")
    values = np.frombuffer(body, dtype).reshape(shape, order="F" if columns_first else "C")
    check_booleans(values)
    if dtype.kind == "U" and values.size and np.frombuffer(body, np.uint32).max() > MAX_CODE_POINT:
        raise ModelFormatError("an array of strings holds what is no character")
    return values
