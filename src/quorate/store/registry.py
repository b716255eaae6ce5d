"""The closed list of what a model file may hold: for each type its fields, what each may be, and how to rebuild it.

A new type is one entry, in committees.py, trees.py, distributions.py or estimators.py. Nothing in a file is looked up
anywhere else, imported or evaluated. A dataclass needs no more than a check for each of its fields:

    put(Fixed, log_w=array("f", 1, least=1))

`agree` checks what must hold between fields, on the rebuilt object. `read` and `make` are for types that are not
rebuilt by calling them with their fields.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quorate.store.checks import anything, require
from quorate.store.format import ModelFormatError

ENTRIES: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    """How one type is written and read; every field in `checks` must be there, those in `may` may."""

    cls: type
    checks: dict
    may: dict
    read: Callable
    make: Callable
    agree: Callable

    @property
    def name(self):
        """What the type is called in a file."""
        return self.cls.__name__

    def build(self, found):
        """The object with these fields, all checked."""
        check_fields(self.name, found, self.checks, self.may)
        made = self.make(found)
        self.agree(made)
        return made


def put(cls, *, read=None, make=None, agree=anything, may=None, **checks):
    """Enter a type by its fields."""
    read = read or (lambda value: {field: getattr(value, field) for field in checks})
    ENTRIES[cls.__name__] = Entry(cls, checks, may or {}, read, make or (lambda found: cls(**found)), agree)


def entry_of(value):
    """The entry of a value's type, or None for third-party types; quorate's own types must have one."""
    entry = ENTRIES.get(type(value).__name__)
    if entry is not None and type(value) is entry.cls:
        return entry
    if type(value).__module__.partition(".")[0] == "quorate":
        raise TypeError(f"{type(value).__name__} has no entry in quorate.store, so it cannot be saved")
    return None


def entry_named(name):
    """The entry of a name in a file."""
    require(name in ENTRIES, f"{name!r} is no type that quorate knows")
    return ENTRIES[name]


def check_fields(name, found, checks, may):
    """That all of `checks`, perhaps some of `may` and nothing else was found, and that each passes its check."""
    missing, extra = checks.keys() - found.keys(), found.keys() - checks.keys() - may.keys()
    require(not missing, f"{name} lacks {sorted(missing)}")
    require(not extra, f"{name} has no {sorted(extra)}")
    for field, value in found.items():
        try:
            (checks.get(field) or may[field])(value)
        except ModelFormatError as error:
            raise ModelFormatError(f"{field} {error}") from error
