"""Third-party objects: scikit-learn's estimators, and whatever else the registry does not know.

All of a model's are written by skops as one list. What is kept is skops' tree of nodes, and beside it each array in
NumPy's format; not the zip archive around them, so there is nothing to inflate. `load` checks the tree (schema.py),
builds the archive anew and has skops read it, with the checked names as its list of trusted types.

A third-party object may hold quorate's own, as a Pipeline does. These are written like any other of quorate's objects,
and a `Slot` stands in their place.
"""

import copy
import io
import zipfile
from dataclasses import dataclass
from functools import cached_property, partial
from types import FunctionType, MethodType

import numpy as np

from quorate.store import npy, places, states, strict
from quorate.store.format import MAX_MANIFEST, ModelFormatError
from quorate.store.registry import entry_of
from quorate.store.schema import Schema, shortened
from quorate.store.trust import Everyone, name_of

MAX_FILES = 1 << 20
AT_ONCE = 50
NO_STATE = (type, FunctionType, MethodType, partial, np.ufunc)


@dataclass
class Slot:
    """Stands for an object of quorate's inside a third-party one."""

    index: int


SLOT = name_of(Slot)


@dataclass(frozen=True)
class File:
    """A file that a node refers to: an array, the arrays of a sparse matrix, or bytes."""

    kind: str
    raw: dict

    @cached_property
    def array(self):
        """The array of an .npy file."""
        return npy.parse(self.raw[""])

    @cached_property
    def parts(self):
        """The arrays of an .npz file."""
        return {name: npy.parse(raw) for name, raw in self.raw.items()}

    def bytes(self):
        """What skops reads."""
        if self.kind != "npz":
            return self.raw[""]
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for name, raw in self.raw.items():
                file.writestr(f"{name}.npy", raw)
        return archive.getbuffer()


# Writing


class Outgoing:
    """The third-party objects of one model, as they are met."""

    def __init__(self):
        self.things, self.ours = [], []
        self._number, self._slot = {}, {}

    def number(self, thing):
        """The number of a third-party object."""
        if id(thing) not in self._number:
            self._number[id(thing)] = len(self.things)
            self.things.append(thing)
        return self._number[id(thing)]

    def slot(self, thing):
        """The Slot of an object of quorate's."""
        if id(thing) not in self._slot:
            self._slot[id(thing)] = Slot(len(self.ours))
            self.ours.append(thing)
        return self._slot[id(thing)]

    def written(self, writer):
        """The manifest's part about them, or None where there are none; the arrays go to the writer."""
        if not self.things:
            return None
        lifted: list = []
        slots: list = []
        while len(lifted) < len(self.things) or len(slots) < len(self.ours):
            if len(lifted) < len(self.things):
                lifted.append(_lifted(self.things[len(lifted)], self.slot, {}))
            else:
                slots.append(writer.value(self.ours[len(slots)]))
        root, files = _dumped(lifted, self.things)
        kept = {
            name: {part: _tensor(writer, raw) for part, raw in file.raw.items()}
            for name, file in files.items()
        }
        return {"schema": _tensor(writer, strict.text(root)), "files": kept, "slots": slots}


def _tensor(writer, raw):
    return writer.tensor(np.frombuffer(raw, np.uint8))


def _dumped(lifted, things):
    """(tree, files) of the objects, checked as they will be when they are loaded."""
    try:
        return _tried(lifted)
    except Exception:
        for thing, one in zip(things, lifted, strict=True):
            try:
                _tried([one])
            except Exception as error:
                raise TypeError(f"{type(thing).__name__} cannot be saved: {error}") from error
        raise


def _tried(lifted):
    import skops.io

    # skops looks through the names in an archive for every array it adds, so archives are kept small.
    archives = [_Archive(skops.io.dumps(lifted[i : i + AT_ONCE])) for i in range(0, len(lifted), AT_ONCE)]
    root, names = shortened([archive.root for archive in archives])
    holds = {id(archive.root): archive for archive in archives}
    files = {new: holds[id(there)].read(old, new) for there, old, new in names}
    _checked(root, files, Everyone())
    _settle(lifted, None, {})
    return root, files


class _Archive:
    """What skops wrote: a tree and files."""

    def __init__(self, content):
        self._zip = zipfile.ZipFile(io.BytesIO(content))
        self.root = strict.parse(self._zip.read("schema.json"), "skops' schema")

    def read(self, old, new):
        """One of the files, under its new name."""
        return File(new.rpartition(".")[2], _raw(self._zip.read(old), old))


def _raw(content, name):
    if name.endswith(".npy"):
        return {"": npy.clean(content)}
    if not name.endswith(".npz"):
        return {"": content}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {part.removesuffix(".npy"): file.read(part) for part in file.namelist()}


def _lifted(thing, slot, seen):
    """The object with Slots in place of quorate's own; the same object where there are none in it."""
    if id(thing) in seen:
        return seen[id(thing)][1]
    seen[id(thing)] = thing, thing  # the object too, so that no other gets its id
    new = thing
    if _is_ours(thing):
        new = slot(thing)
    else:
        values, make = _inside(thing)
        lifted = [_lifted(value, slot, seen) for value in values]
        if any(a is not b for a, b in zip(lifted, values, strict=True)):
            new = make(lifted)
    seen[id(thing)] = thing, new
    return new


def _is_ours(thing):
    return type(thing).__module__.partition(".")[0] == "quorate" and entry_of(thing) is not None


def _inside(thing):
    """What an object holds, and how to make another of its kind that holds something else."""
    if type(thing) in (list, tuple):
        return thing, type(thing)
    if isinstance(thing, dict):
        return list(thing.values()), lambda new: _with_values(thing, new)
    if isinstance(thing, np.ndarray):
        return (list(thing.flat) if thing.dtype == object else []), lambda new: _array_of(new, thing.shape)
    if _has_state(thing):
        return list(vars(thing).values()), lambda new: _with_state(thing, new)
    return [], None


def _has_state(thing):
    return hasattr(thing, "__dict__") and not isinstance(thing, NO_STATE)


def _with_values(thing, values):
    new = copy.copy(thing)
    new.update(zip(thing, values, strict=True))
    return new


def _with_state(thing, values):
    new = object.__new__(type(thing))
    vars(new).update(zip(vars(thing), values, strict=True))
    return new


def _array_of(values, shape):
    new = np.empty(len(values), object)
    new[:] = values
    return new.reshape(shape)


# Reading


class Incoming:
    """The third-party objects of a file; `number` gives one, checked, with quorate's own back in their places."""

    def __init__(self, part, trust):
        self._part, self._trust = part, trust
        self._things, self._done, self._slots = [], {}, {}

    def read(self, reader):
        """Have skops read them; the arrays come from the reader."""
        self._reader = reader
        if self._part is None:
            return
        schema, files, self._nodes = strict.keys(
            self._part, ("schema", "files", "slots"), "the third-party part"
        )
        root = strict.parse(_tree(reader, schema), "skops' schema")
        if type(files) is not dict or type(self._nodes) is not list or len(files) > MAX_FILES:
            raise ModelFormatError("the third-party part has no files")
        found = {name: _file(reader, name, parts) for name, parts in files.items()}
        names = _checked(root, found, self._trust)
        self._things = _made(root, found, names)

    def number(self, index):
        """The object of a number."""
        if type(index) is not int or not 0 <= index < len(self._things):
            raise ModelFormatError(f"there is no third-party object {index!r}")
        return self._once(self._done, index, lambda: _settle(self._things[index], self._slot, {}))

    def end(self):
        """That everything that was read was used."""
        if len(self._done) != len(self._things) or (self._part and len(self._slots) != len(self._nodes)):
            raise ModelFormatError("it holds third-party objects that nothing uses")

    def _slot(self, index):
        if type(index) is not int or not 0 <= index < len(self._nodes):
            raise ModelFormatError(f"there is no object {index!r} to put in its slot")
        return self._once(self._slots, index, lambda: self._reader.value(self._nodes[index], f"slot {index}"))

    @staticmethod
    def _once(done, index, make):
        """Make it once; what is asked for while it is being made holds itself."""
        if index not in done:
            done[index] = _BEING_MADE
            done[index] = make()
        if done[index] is _BEING_MADE:
            raise ModelFormatError("an object holds itself")
        return done[index]


_BEING_MADE = object()


def _bytes(reader, number):
    tensor = reader.tensor(number)
    if tensor.dtype != np.uint8 or tensor.ndim != 1:
        raise ModelFormatError(f"tensor {number} should be bytes")
    return tensor.tobytes()


def _tree(reader, number):
    raw = _bytes(reader, number)
    if len(raw) > MAX_MANIFEST:
        raise ModelFormatError(f"skops' schema has {len(raw)} bytes, more than the {MAX_MANIFEST} allowed")
    return raw


def _file(reader, name, parts):
    stem, _, kind = name.rpartition(".")
    if (
        not (stem.isdecimal() and stem.isascii())
        or kind not in ("npy", "npz", "bin")
        or type(parts) is not dict
        or len(parts) > 8
    ):
        raise ModelFormatError(f"{name!r} is no file of a third-party object")
    if kind != "npz" and parts.keys() != {""}:
        raise ModelFormatError(f"{name} should have one part")
    return File(kind, {part: _bytes(reader, number) for part, number in parts.items()})


def _checked(root, files, trust):
    """The names of all third-party types, the tree being checked."""
    schema = Schema(root, files, _AndSlots(trust))
    schema.check()
    return schema.names


class _AndSlots:
    """A trust, and trust in Slots."""

    def __init__(self, trust):
        self._trust = trust

    def find(self, name):
        return Slot if name == SLOT else self._trust.find(name)


def _made(root, files, names):
    """What skops makes of them, in an archive made here."""
    import skops.io

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in files.items():
            file.writestr(name, content.bytes())
        file.writestr("schema.json", strict.text(root))
    return skops.io.loads(archive.getvalue(), trusted=[*sorted(names), "numpy.dtype"])


def _settle(thing, slot, seen, place=places.NOWHERE):
    """The object with quorate's own in the places of Slots (where `slot` is not None), each part examined.

    What a list, dictionary or array holds stands in the place of its holder.
    """
    places.check(thing, place)
    key = id(thing), None if _has_state(thing) else place
    if key in seen:
        return seen[key][1]
    seen[key] = thing, thing
    if type(thing) is Slot:
        new = thing if slot is None else slot(thing.index)
    elif type(thing) is tuple:
        new = tuple(_settle(v, slot, seen, place) for v in thing)
    else:
        new = thing
        if not _is_ours(thing):
            _settle_inside(thing, slot, seen, place)
    seen[key] = thing, new
    return new


def _settle_inside(thing, slot, seen, place):
    if isinstance(thing, list | dict):
        items = list(enumerate(thing) if isinstance(thing, list) else thing.items())
        _settle_each(thing, items, slot, seen, place)
    elif isinstance(thing, np.ndarray):
        if thing.dtype == object:
            _settle_each(thing, list(np.ndenumerate(thing)), slot, seen, place)
    elif _has_state(thing):
        for name, value in list(vars(thing).items()):
            _settle_each(vars(thing), [(name, value)], slot, seen, places.place(thing, name))
        states.examine(thing)


def _settle_each(holder, items, slot, seen, place):
    for key, value in items:
        new = _settle(value, slot, seen, place)
        if new is not value:
            holder[key] = new
