"""The file: its layout, reading it with suspicion, writing it whole or not at all.

    offset  size  what
    0       8     b"quorate" and a zero byte
    8       4     version of the layout, 1                        little-endian, as all numbers
    12      8     m, the length of the manifest
    20      8     t, the length of the tensors
    28      m     the manifest: one JSON object, UTF-8
    28+m    t     the tensors: a safetensors file, named "0", "1", … in the order the manifest uses them
    28+m+t  32    SHA-256 of everything before

The checksum finds accidents; it is no signature, for whoever changes a file can compute it anew. So all that follows it
is checked as if it were hostile.
"""

import hashlib
import os
import secrets
import stat
import struct
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

MAGIC = b"quorate\0"
VERSION = 1
HEAD = struct.Struct("<8sIQQ")
DIGEST = hashlib.sha256().digest_size

DTYPES = {
    f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}")
    for kind in "uif"
    for size in (1, 2, 4, 8)
    if (kind, size) != ("f", 1)
}
DTYPES["BOOL"] = np.dtype(bool)

MAX_FILE = 1 << 34  # 16 GiB
MAX_MANIFEST = 1 << 25  # 32 MiB, and as much for skops' tree; strict.py limits what they may hold
MAX_NAMES = 1 << 24  # 16 MiB of names, types and shapes of tensors


class ModelFormatError(ValueError):
    """What stands in a model file is not what quorate wrote; the worst that a bad file can do."""

    place: str | None = None

    @classmethod
    def at(cls, place, error):
        """The error with its place before it, if it does not have one yet."""
        if getattr(error, "place", None) is not None:
            return error
        new = (type(error) if isinstance(error, cls) else cls)(f"{place}: {error}")
        new.place = place
        return new


class Untrusted(ModelFormatError):
    """The file is well made, but holds third-party types that the caller did not name in `trust`."""


def pack(manifest, tensors):
    """The file's bytes, from the manifest's bytes and the tensors in their order."""
    if len(manifest) > MAX_MANIFEST:
        raise ValueError(
            f"the model's description takes {len(manifest)} bytes, more than the {MAX_MANIFEST} a file may hold"
        )
    blob = safetensors.numpy.save({str(i): t for i, t in enumerate(tensors)})
    head = HEAD.pack(MAGIC, VERSION, len(manifest), len(blob))
    body = b"".join((head, manifest, blob))
    return body + hashlib.sha256(body).digest()


def unpack(data):
    """(manifest bytes, tensors) of a file's bytes; checked from the outside in."""
    if len(data) < HEAD.size + DIGEST:
        raise ModelFormatError(f"it is no quorate model: {len(data)} bytes are too few")
    magic, version, m, t = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise ModelFormatError(f"it is no quorate model: it begins with {bytes(data[:8])!r}")
    if version != VERSION:
        raise ModelFormatError(
            f"its layout has version {version}, and this quorate reads version {VERSION}; update quorate"
        )
    if HEAD.size + m + t + DIGEST != len(data):
        raise ModelFormatError("its length is not what it says; it was cut off or added to")
    view = memoryview(data)
    if hashlib.sha256(view[:-DIGEST]).digest() != data[-DIGEST:]:
        raise ModelFormatError("its checksum does not match; it was damaged or changed")
    if m > MAX_MANIFEST:
        raise ModelFormatError(f"its manifest has {m} bytes, more than the {MAX_MANIFEST} allowed")
    return bytes(view[HEAD.size : HEAD.size + m]), _tensors(bytes(view[HEAD.size + m : -DIGEST]))


def _tensors(blob):
    """The arrays "0", "1", …; safetensors sees to it that they lie inside the blob and do not overlap."""
    if len(blob) < 8 or int.from_bytes(blob[:8], "little") > min(len(blob), MAX_NAMES):
        raise ModelFormatError("its tensors have no header, or too large a one")
    found = dict(safetensors.deserialize(blob))
    if found.keys() != {str(i) for i in range(len(found))}:
        raise ModelFormatError("its tensors are not numbered from 0 on")
    return [_array(found[str(i)]) for i in range(len(found))]


def _array(tensor):
    dtype = DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise ModelFormatError(f"a tensor is of type {tensor['dtype']}, which quorate does not write")
    # A copy of its own: aligned, and the blob can go.
    values = np.frombuffer(tensor["data"], dtype).reshape(tensor["shape"]).copy()
    check_booleans(values)
    return values


def check_booleans(values):
    """NumPy counts True by adding bytes, so a True that is not 1 makes it write past an array's end."""
    if values.dtype == bool and values.size and values.view(np.uint8).max() > 1:
        raise ModelFormatError("an array of booleans holds other numbers than 0 and 1")


def read(path):
    """The bytes of a file, at most MAX_FILE of them."""
    with open(path, "rb", opener=_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(f"{path} is no ordinary file")
        if status.st_size > MAX_FILE:
            raise ModelFormatError(
                f"{path} has {status.st_size} bytes, more than the {MAX_FILE} that are read"
            )
        # A file that begins otherwise is not worth reading.
        head = file.read(len(MAGIC))
        return head if head != MAGIC else head + file.read(status.st_size - len(head))


def _at_once(path, flags):
    """Open without waiting: a pipe to which nobody writes would be waited for without end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write(path, data):
    """Put a file in its place whole: what was there before stays until the new one is safe on disk."""
    _write(path, data, os.replace)


def write_first(path, data):
    """Put a file in its place whole, unless one is there already, which then stays."""
    _write(path, data, _put_first)


def _put_first(part, path):
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(part, path)
    part.unlink(missing_ok=True)


def _write(path, data, put):
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} into; make it first")
    # Without the file's own name, which may be as long as a name can be.
    part = path.with_name(f".quorate-{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(part, stat.S_IMODE(path.stat().st_mode))
        put(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder):
    """The rename itself, on disk; where folders cannot be opened (Windows) the system sees to it."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
