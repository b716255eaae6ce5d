"""Saving and loading: a value to the bytes of a file, and back."""

from functools import cache

from quorate.store import codec, format, strict, third
from quorate.store.format import ModelFormatError
from quorate.store.registry import entry_of
from quorate.store.trust import Trust


def save(model, path):
    """Write a model to a file, whole or not at all.

    What is needed to predict, to warm-start and to answer `get_params` is kept, bit for bit; callbacks, metadata
    requests and `oob_dist_` (as large as the training table, once for each member) are not.

    Parameters
    ----------
    model : an estimator of quorate's, a committee, a member, a distribution, or a scikit-learn estimator
    path : str or PathLike
        What is there is replaced when the new file is safe on disk.

    Examples
    --------
    >>> import quorate as q
    >>> q.save(q.Normal(0.0, [1.0, 2.0]), "normal.quorate")
    >>> q.load("normal.quorate").std
    array([1., 2.])
    """
    if isinstance(model, type) or (entry_of(model) is None and not hasattr(model, "get_params")):
        raise TypeError(
            f"a {type(model).__name__} is no model; quorate.save takes quorate's and scikit-learn's"
        )
    format.write(path, written(model))


def load(path, trust=()):
    """Read a model from a file.

    Parameters
    ----------
    path : str or PathLike
    trust : list of classes or names, default=()
        The third-party types you trust whoever made the file to have used as they should: a class, its full name, or a
        package such as "sklearn" for all of scikit-learn's that can be checked. Without it, the error of a file that
        holds some lists them.

    Returns
    -------
    The model, which answers as it did when it was saved.
    """
    trusted = Trust(trust)
    try:
        return read(format.read(path), trusted)
    except ModelFormatError as error:
        raise type(error)(f"{path}: {error}") from error


def written(value):
    """The bytes of a file that holds a value."""
    outgoing = third.Outgoing()
    writer = codec.Writer(outgoing.number)
    manifest = {"written_by": _version(), "model": writer.value(value)}
    manifest["third"] = outgoing.written(writer)
    try:
        text = strict.text(manifest)
    except UnicodeEncodeError as error:
        raise ValueError(f"the model holds a string that is no text and cannot be saved: {error}") from error
    return format.pack(text, writer.tensors)


def read(data, trust):
    """The value in a file's bytes; whatever goes wrong with them is a ModelFormatError."""
    try:
        return _read(data, trust)
    except ModelFormatError:
        raise
    except Exception as error:
        # skops, safetensors and scikit-learn have their own errors for what is not as they expect.
        raise ModelFormatError(f"it cannot be read: {type(error).__name__}: {error}") from error


def _read(data, trust):
    text, tensors = format.unpack(data)
    manifest = strict.parse(text, "the manifest")
    version, model, part = strict.keys(manifest, ("written_by", "model", "third"), "the manifest")
    if type(version) is not str:
        raise ModelFormatError("the manifest does not say who wrote it")
    incoming = third.Incoming(part, trust)
    reader = codec.Reader(tensors, incoming.number)
    incoming.read(reader)
    value = reader.value(model)
    incoming.end()
    if reader.left:
        raise ModelFormatError(f"{len(reader.left)} of its tensors are not used")
    return value


@cache
def _version():
    from importlib.metadata import version

    return version("quorate")
