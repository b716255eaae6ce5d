"""Threads that share a kernel: one leads, the others take tasks when they can, and nobody waits for who is not there.

A *stage* is a call of a kernel by all; it has *phases*, each of so many tasks. One word holds the number of the phase,
how many tasks it has and which is next, so that a task is claimed by raising it, and no one claims a task of a phase
that is over. A helper that comes late or never costs nothing: the leader claims its tasks, too, and a stage that is
over is left at once. What tasks write must not depend on who does them.

| place in `crew` | what |
|---|---|
| WORD | phase · 2⁴⁰ + tasks · 2²⁰ + next task |
| DONE | tasks of the phase that are done |
| STAGE | which stage it is |
"""

import os
import platform

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from quorate.kernels.jit import inline, kernel

WORD, DONE, STAGE, SIZE = 0, 8, 16, 24  # each on a line of the cache of its own
BITS, ALL, MOST = 20, (1 << 20) - 1, (1 << 22) - 1
FOREVER = 1 << 60
NONE, OVER = -1, -2
PATIENCE = 2000  # looks at a word before others may have the core

_PAUSE = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}.get(platform.machine())
give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())


def crew():
    """Nobody at work yet."""
    return np.zeros(SIZE, np.int64)


def _place(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


@intrinsic
def load(typing, array, i):
    """array[i], and all that was written before it."""

    def code(context, builder, signature, arguments):
        return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", 8)

    return types.int64(array, types.int64), code


@intrinsic
def store(typing, array, i, v):
    """array[i] = v, after all that was written before."""

    def code(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _place(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), code


@intrinsic
def add(typing, array, i, v):
    """array[i] += v in one step."""

    def code(context, builder, signature, arguments):
        return builder.atomic_rmw(
            "add", _place(context, builder, signature, arguments), arguments[2], "seq_cst"
        )

    return types.int64(array, types.int64, types.int64), code


@intrinsic
def swap_if(typing, array, i, old, new):
    """Whether array[i] was `old`; then it is `new`."""

    def code(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        done = builder.cmpxchg(place, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(done, 1)

    return types.boolean(array, types.int64, types.int64, types.int64), code


@intrinsic
def pause(typing):
    """Tell the processor that this is a wait."""

    def code(context, builder, signature, arguments):
        if _PAUSE is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, _PAUSE), [])
        return context.get_dummy_value()

    return types.void(), code


@inline
def begin(crew, tasks):
    """Open the next phase."""
    phase = (load(crew, WORD) >> (2 * BITS)) + 1
    store(crew, DONE, 0)
    store(crew, WORD, (((phase & MOST) << BITS) | tasks) << BITS)


@inline
def end(crew, stage):
    """The stage is over."""
    store(crew, STAGE, stage + 1)


@inline
def claim(crew, stage):
    """The task of a stage that is claimed; NONE where there is none to have, OVER where the stage is."""
    word = load(crew, WORD)
    now = load(crew, STAGE)
    if now != stage:
        return OVER if now > stage else NONE
    task = word & ALL
    if task < ((word >> BITS) & ALL) and swap_if(crew, WORD, word, word + 1):
        return task
    return NONE


@inline
def is_done(crew):
    """Whether the tasks of the phase are done."""
    return load(crew, DONE) >= ((load(crew, WORD) >> BITS) & ALL)


@inline
def finish(crew):
    """A task is done."""
    add(crew, DONE, 1)


@inline
def wait(spins):
    """A moment's wait; how many there were."""
    pause()
    if spins > PATIENCE:
        give_way()
        return np.int64(0)
    return spins + 1


@inline
def next_task(thread, crew, stage):
    """The next task of a stage of one phase, waited for; OVER when there is none. The leader ends the stage."""
    spins = np.int64(0)
    while True:
        task = claim(crew, stage)
        if task != NONE:
            return task
        if thread == 0 and is_done(crew):
            end(crew, stage)
            return OVER
        spins = wait(spins)


@kernel
def take(thread, crew, stage):
    """`next_task`, for Python."""
    return next_task(thread, crew, stage)


@kernel
def open_phase(crew, tasks):
    """`begin`, for Python."""
    begin(crew, tasks)


@kernel
def done(crew):
    """`finish`, for Python."""
    finish(crew)


@kernel
def leave(crew):
    """All stages are over."""
    store(crew, STAGE, FOREVER)
