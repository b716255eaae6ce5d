"""The entries for boosted models. Kernels follow what their nodes say, so these are looked at as those of trees are."""

import numpy as np

from quorate.learn.boost import Course
from quorate.members.boosted import Boosted, OfClasses, OfCounts, OfNumbers, OfResiduals, Voice
from quorate.members.families import FAMILIES, OfFamily
from quorate.store.checks import (
    MAX_FEATURES,
    a,
    anything,
    array,
    each,
    either,
    flag,
    is_array,
    number,
    optional,
    require,
    text,
    whole,
)
from quorate.store.registry import put
from quorate.store.trees import as_codes, from_codes, is_codes, leaves_ask_nothing, preorder, questions

FIELDS = (
    "start",
    "groups",
    "column",
    "threshold",
    "right",
    "subsets",
    "values",
    "rows",
    "gain",
    "roots",
    "n_features",
)
MOST_SCORE = 1e250  # what leaves may add up to


def outputs_of(voice):
    """How many scores a voice speaks of."""
    if isinstance(voice, OfClasses):
        return voice.n_classes if voice.n_classes > 2 else 1
    if isinstance(voice, OfResiduals):
        return outputs_of(voice.of)
    return max(len(voice.levels), 1) if isinstance(voice, OfNumbers) else getattr(voice, "outputs", 1)


def _sound(model):
    n, wide = len(model.right), len(model.start) // model.groups
    require(wide * model.groups == len(model.start), "there should be as many scores for each group of trees")
    for name, kind in (("column", np.uint32), ("right", np.uint32)):
        is_array(getattr(model, name), np.dtype(kind), (n,), name)
    for name in ("threshold", "rows", "gain"):
        is_array(getattr(model, name), np.dtype(float), (n,), name)
    is_array(model.values, np.dtype(float), (n, wide), "values")
    is_array(model.subsets, np.dtype(np.uint64), (len(model.subsets), 4), "subsets")
    is_array(model.roots, np.dtype(np.uint64), (len(model.roots),), "roots")
    require(len(model.roots) % model.groups == 0, "each round should have a tree for each group")
    leaf = _trees(model)
    leaves_ask_nothing(model, leaf)
    questions(model, ~leaf, len(model.subsets))
    good = np.all(np.isfinite(model.rows)) and np.all(model.rows > 0)
    require(
        good and np.all(np.isfinite(model.gain)) and np.all(model.gain >= 0), "rows and gains are numbers"
    )
    finite = np.all(np.isfinite(model.values)) and np.abs(model.values).sum() < MOST_SCORE
    require(finite and np.all(np.abs(model.start) < MOST_SCORE), "values should be numbers")
    same = model.voice is None or outputs_of(model.voice) == len(model.start)
    require(same, "the voice speaks of other scores than there are")


def _trees(model):
    """Which nodes are leaves, where the nodes are trees one after another, each of them whole."""
    roots, n = model.roots.astype(np.int64), len(model.right)
    ends = np.append(roots[1:], n)[: len(roots)]
    good = (not n and not len(roots)) or (
        len(roots) and roots[0] == 0 and np.all(ends > roots) and roots.max() < n
    )
    require(good, "the trees should be one after another")
    leaves = [preorder(model.right[i:j].astype(np.int64) - i) for i, j in zip(roots, ends, strict=True)]
    return np.concatenate(leaves) if leaves else np.zeros(0, bool)


def _fields(model):
    fields = {name: getattr(model, name) for name in FIELDS}
    return {**fields, "codes": as_codes(model.codes), "voice": model.voice}


def is_infinite(value):
    """Infinity, and nothing else."""
    require(isinstance(value, float) and value == np.inf, "should be infinite")


def _residuals(voice):
    require(voice.residuals.shape == voice.weights.shape, "there should be as many residuals as weights")
    require(voice.weights.sum() > 0, "the weights of the residuals are all zero")


def _course(course):
    rounds = len(course.judged)
    require(rounds in (0, course.model.n_rounds), "there should be a loss for each round")


def _as_family(voice):
    """By its name, as distributions are called alike."""
    own = voice.family
    return {
        "family": own.name,
        "score": own.score,
        "floor": own.floor,
        "loc": voice.loc,
        "scale": voice.scale,
    }


def _family(found):
    family = FAMILIES[found["family"]](found["score"], found["floor"])
    return OfFamily(family, found["loc"], found["scale"])


put(
    OfFamily,
    family=text(*FAMILIES),
    score=text("log", "crps"),
    floor=number(-1e-300),
    loc=number(),
    scale=number(0),
    read=_as_family,
    make=_family,
)
put(OfClasses, n_classes=whole(1, 1 << 20))
put(OfNumbers, log=flag, levels=each(number(0, 1)))
put(OfCounts, r=either(number(0), is_infinite))
put(
    OfResiduals,
    of=a(OfNumbers),
    residuals=array("f", 1, least=1),
    weights=array("f", 1, least=1, low=0),
    bandwidth=number(0),
    smallest=number(0),
    means=flag,
    agree=_residuals,
)
put(
    Boosted,
    start=array("f", 1, least=1),
    groups=whole(1, 1 << 20),
    column=anything,
    threshold=anything,
    right=array("u", 1),
    subsets=array("u", 2),
    values=array("f", 2),
    rows=anything,
    gain=anything,
    roots=array("u", 1),
    n_features=whole(1, MAX_FEATURES),
    codes=is_codes,
    voice=optional(a(Voice)),
    read=_fields,
    make=lambda found: Boosted(**{**found, "codes": from_codes(found["codes"])}),
    agree=_sound,
)
put(Course, model=a(Boosted), judged=each(number()), ended=flag, agree=_course)
