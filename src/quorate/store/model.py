"""Saving and loading: a value to the bytes of a file, and back."""

import warnings
from functools import cache

import numpy as np
from joblib import parallel_config

from quorate.run import one_thread
from quorate.store import codec, format, strict, third
from quorate.store.format import ModelFormatError
from quorate.store.registry import entry_of
from quorate.store.trust import Trust

WIDEST = 1 << 20  # columns up to which a model is asked for an answer


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
    manifest = {"written_by": _version(), "answers": answers(value), "model": writer.value(value)}
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
    version, answered, model, part = strict.keys(
        manifest, ("written_by", "answers", "model", "third"), "the manifest"
    )
    if type(version) is not str or type(answered) is not bool:
        raise ModelFormatError("the manifest does not say who wrote it")
    incoming = third.Incoming(part, trust)
    reader = codec.Reader(tensors, incoming.number)
    incoming.read(reader)
    value = reader.value(model)
    incoming.end()
    if reader.left:
        raise ModelFormatError(f"{len(reader.left)} of its tensors are not used")
    if answered and not answers(value):
        raise ModelFormatError("the model in it does not answer as it did when it was saved")
    return value


def answers(model):
    """Whether a model answers a row of zeros (an encoder of categories, say, may rightly refuse it)."""
    try:
        width = model.n_features_in_
        if type(width) is not int or width > WIDEST:
            return False
        ask = getattr(model, "_predict_dist", None) or model.predict
        # One row is no work for several threads, and none for processes.
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            parallel_config(backend="sequential"),
            one_thread(),
        ):
            warnings.simplefilter("ignore")
            return len(ask(np.zeros((1, width)))) == 1
    except Exception:
        return False


@cache
def _version():
    from importlib.metadata import version

    return version("quorate")
