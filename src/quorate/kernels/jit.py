"""How kernels are compiled, and three words that Python has no name for.

Indices are unsigned where it counts: a signed one is first looked at for being negative.
"""

from functools import partial
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

OPTIONS = {"nogil": True, "error_model": "numpy"}
BARE = {**OPTIONS, "_nrt": False}

kernel: Any = partial(njit, cache=True, **BARE)
# What kernels call makes no arrays, and so needs not count who uses one: threads would wait for each other's counts.
# Each level of calls is optimised anew with all that is below it; `merged` functions are no level of their own.
inline: Any = partial(njit, **BARE)
merged: Any = partial(njit, inline="always", **BARE)
allocating: Any = partial(njit, _nrt=True, **OPTIONS)  # said aloud, for else it is as in what calls them

U0, U1, U2, U6, U8, U32, U63 = (np.uint64(v) for v in (0, 1, 2, 6, 8, 32, 63))
AHEAD = np.uint64(16)  # rows between a prefetch and its use


@intrinsic
def lowest_bit(typing, x):
    """The place of the lowest 1 of a word that is not 0."""

    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@intrinsic
def prefetch(typing, array, i):
    """Have array[i] fetched into the cache, without waiting for it."""

    def code(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        read, keep, of_data = (ir.Constant(word, v) for v in (0, 3, 1))
        builder.call(function, [place, read, keep, of_data])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@inline
def draw(state):
    """The next 64 random bits (SplitMix64, Steele et al., 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def draw_fraction(state):
    """A random number in [0, 1)."""
    return np.float64(draw(state) >> np.uint64(11)) * 2.0**-53


@inline
def draw_below(state, n):
    """A random whole number below n < 2³²."""
    return ((draw(state) >> U32) * n) >> U32
