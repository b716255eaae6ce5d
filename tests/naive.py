"""Plain NumPy twins of the kernels: slow, obvious, and right. A test runs over both."""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

BINS, MISSING, FEW = 255, 255, 8


# bins


def edges(x, weight=None):
    """(lowest, highest) value of each bin of a column: one a value, or, of more values than bins, equal weights."""
    weight = np.ones(len(x)) if weight is None else weight
    x, weight = x[~np.isnan(x)], weight[~np.isnan(x)]
    values = sorted(set(x.tolist())) or [0.0]
    if len(values) <= BINS:
        return np.array(values), np.array(values)
    below = np.cumsum([weight[x == v].sum() for v in values])
    tops = [
        next(i for i, w in enumerate(below) if w >= k / BINS * below[-1] * (1 - 1e-12))
        for k in range(1, BINS)
    ]
    tops = sorted({*tops, len(values) - 1})
    return np.array([values[i] for i in (0, *(t + 1 for t in tops[:-1]))]), np.array(
        [values[t] for t in tops]
    )


def categories(x, weight=None):
    """The categories of a column, in order; of more than there are bins, those that weigh most."""
    weight = np.ones(len(x)) if weight is None else weight
    values = sorted(set(x[~np.isnan(x)].tolist()))
    heavy = sorted(values, key=lambda v: (-weight[x == v].sum(), v))[:BINS]
    return np.array(sorted(heavy))


def place(x, highs):
    """The first bin whose highest value is not below x; what is above all is in the last."""
    return np.array([MISSING if v != v else min(int(np.sum(highs < v)), len(highs) - 1) for v in x])


def place_codes(x, codes):
    """The place of each category among those known."""
    known = {c: i for i, c in enumerate(codes.tolist())}
    return np.array([known.get(v, MISSING) for v in x.tolist()])


# what splits lower


def impurity(criterion, y, w):
    """What a node costs, all its rows together."""
    if criterion in ("gini", "entropy"):
        n = np.bincount(y.astype(int), w)
        p = n[n > 0] / n.sum()
        return n.sum() * (1 - np.sum(p**2)) if criterion == "gini" else -n.sum() * np.sum(p * np.log(p))
    if criterion == "absolute_error":
        return min(np.sum(w * np.abs(y - v)) for v in y)
    mean = np.average(y, weights=w)
    if criterion == "poisson":
        return np.sum(w * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0.0) - y + mean))
    return np.sum(w * (y - mean) ** 2)


def cuts(x):
    """(who goes left, threshold) of every cut of numbers, missing ones on either side, or alone."""
    values, missing = np.unique(x[~np.isnan(x)]), np.isnan(x)
    for low, high in pairwise(values):
        yield x <= low, 0.5 * low + 0.5 * high
        if missing.any():
            yield (x <= low) | missing, 0.5 * low + 0.5 * high
    if missing.any() and len(values):
        yield ~missing, np.inf


def subsets(x):
    """(who goes left, nan) of every way to send some categories left; missing is one of them."""
    x = np.where(np.isnan(x), -1.0, x)
    values = np.unique(x)
    for size in range(1, len(values)):
        for chosen in combinations(values[1:], size):
            yield np.isin(x, chosen), np.nan


def by_mean(x, y, w):
    """(who goes left, nan) of the categories in the order of their means, the low ones on the left."""
    x = np.where(np.isnan(x), np.inf, x)
    order = sorted(np.unique(x), key=lambda v: np.average(y[x == v], weights=w[x == v]))
    for k in range(1, len(order)):
        yield np.isin(x, order[:k]), np.nan


def allowed(y, w, left, least, sign, lo, hi):
    """Whether both children are heavy enough, and their means in order and between the bounds."""
    if min(w[left].sum(), w[~left].sum()) < least:
        return False
    if lo == -np.inf and hi == np.inf and not sign:
        return True
    low, high = np.average(y[left], weights=w[left]), np.average(y[~left], weights=w[~left])
    return all(lo <= m <= hi for m in (low, high)) and (high - low) * sign >= 0


def best_split(
    X, y, w, criterion, categorical=(), least=0.0, signs=None, lo=-np.inf, hi=np.inf, exhaustive=False
):
    """(gain, column, who goes left, threshold) of the best split of some rows, or None; of equals the first."""
    best, whole = None, impurity(criterion, y, w)
    for j in range(X.shape[1]):
        sign = 0 if signs is None else signs[j]
        ways = cuts(X[:, j])
        if j in categorical:
            ways = subsets(X[:, j]) if exhaustive else by_mean(X[:, j], y, w)
        for left, t in ways:
            if allowed(y, w, left, least, sign, lo, hi):
                gain = whole - impurity(criterion, y[left], w[left]) - impurity(criterion, y[~left], w[~left])
                if best is None or gain > best[0] + 1e-12 * abs(whole):
                    best = gain, j, left, t
    return best


# trees, as dictionaries


def node(X, y, w, rows, depth, lo, hi, given):
    """A leaf, and the split it would have."""
    own = {"rows": rows, "depth": depth, "split": None, "lo": lo, "hi": hi}
    deep = depth >= given.get("max_depth", np.inf)
    if not deep and len(np.unique(y[rows])) > 1 and w[rows].sum() >= given.get("min_split", 2):
        rules = {k: v for k, v in given.items() if k in ("criterion", "categorical", "least", "signs")}
        own["split"] = best_split(X[rows], y[rows], w[rows], lo=lo, hi=hi, **rules)
    return own


def split(leaf, X, y, w, given):
    """Give a leaf two children; a monotone split keeps them apart at the middle of their means."""
    _, j, left, _ = leaf["split"]
    rows, lo, hi = leaf["rows"], leaf["lo"], leaf["hi"]
    sides, bounds = (rows[left], rows[~left]), ((lo, hi), (lo, hi))
    sign = given["signs"][j] if given.get("signs") else 0
    if sign:
        middle = np.mean([np.average(y[side], weights=w[side]) for side in sides])
        bounds = ((lo, middle), (middle, hi))[::sign]
    leaf["children"] = [
        node(X, y, w, side, leaf["depth"] + 1, *ends, given) for side, ends in zip(sides, bounds, strict=True)
    ]
    return leaf["children"]


def grown(X, y, w=None, max_leaves=np.inf, **given):
    """The root of a tree, its leaves split best gain first."""
    w = np.ones(len(y)) if w is None else w
    root = node(X, y, w, np.arange(len(y)), 0, -np.inf, np.inf, given)
    leaves = [root]
    while len(leaves) < max_leaves and any(leaf["split"] for leaf in leaves):
        best = max((leaf for leaf in leaves if leaf["split"]), key=lambda leaf: leaf["split"][0])
        leaves = [leaf for leaf in leaves if leaf is not best] + split(best, X, y, w, given)
    return root


def preorder(root):
    """The nodes of a tree, each before its left branch, and that before its right one."""
    return [root, *(below for child in root.get("children", ()) for below in preorder(child))]


# answers


def leaf_of(tree, x):
    """The leaf that a row (its categories as they were given) ends in, question by question."""
    i = 0
    while tree.right[i] != i:
        j, value, flags = tree.column[i] & (2**29 - 1), None, tree.column[i] >> 29
        value = x[j]
        if j in tree.codes:
            place = np.flatnonzero(tree.codes[j] == value)
            value = place[0] if len(place) else np.nan
        if np.isnan(value):
            left = bool(flags & 2)
        elif flags & 1:
            bits = tree.subsets[int(tree.threshold[i])]
            left = bool((int(bits[value // 64]) >> int(value % 64)) & 1)
        else:
            left = value <= tree.threshold[i]
        i = i + 1 if left else tree.right[i]
    return i


# boosting: trees down slopes g and h, (n, K) each for K outputs


@dataclass
class Descent:
    """How such a tree is grown: Σ_k need_k H_k ≥ 1 in each child; of categories more l2, the least H of one that may go
    left, which is added to each, and the least H between two cuts, both of an output on average.
    """

    need: tuple = (0.25,)
    l1: float = 0.0
    l2: float = 0.0
    l2_categories: float = 0.0
    rare: float = 0.0
    apart: float = 0.0
    categorical: tuple = ()
    signs: tuple = ()
    max_leaves: float = np.inf
    max_depth: float = np.inf
    by_level: bool = False


def best_value(g, h, l1, l2, lo=-np.inf, hi=np.inf):
    """Where g v + ½ (h + l2) v² + l1 |v| is least between lo and hi."""
    return min(max(-np.sign(g) * max(abs(g) - l1, 0.0) / (h + l2), lo), hi)


def lowered(g, h, l1, l2, lo, hi):
    """By what the best values of some rows lower twice their loss, all outputs together."""
    total = 0.0
    for a, b in zip(g.sum(axis=0), h.sum(axis=0)):
        v = best_value(a, b, l1, l2, lo, hi)
        total -= 2 * a * v + (b + l2) * v * v + 2 * l1 * abs(v)
    return total


def by_slope(x, g, h, rare, apart):
    """(who goes left, nan) of the categories in the order of G / (H + rare), of each output in turn."""
    x = np.where(np.isnan(x), np.inf, x)
    mass = {v: h[x == v].sum() / h.shape[1] for v in np.unique(x)}
    for a, b in zip(g.T, h.T):
        slope = {v: a[x == v].sum() / (b[x == v].sum() + rare) for v in mass if mass[v] >= rare}
        left, since = [], 0.0
        for v in sorted(slope, key=slope.get):
            left, since = [*left, v], since + mass[v]
            if len(left) < len(mass) and since >= apart:
                since = 0.0
                yield np.isin(x, left), np.nan


def may_descend(g, h, sides, l2, sign, lo, hi, how):
    """Whether both sides have curvature enough, and their values are in order."""
    if min(np.dot(how.need, h[side].sum(axis=0)) for side in sides) < 1:
        return False
    low, high = (best_value(g[side, 0].sum(), h[side, 0].sum(), how.l1, l2, lo, hi) for side in sides)
    return (high - low) * sign >= 0


def best_descent(X, g, h, lo, hi, how):
    """(gain, column, who goes left, threshold) of the split that lowers most, or None; of equals the first."""
    best, whole = None, lowered(g, h, how.l1, how.l2, lo, hi)
    for j in range(X.shape[1]):
        named, sign = j in how.categorical, how.signs[j] if how.signs else 0
        l2 = how.l2 + how.l2_categories * named
        for left, t in by_slope(X[:, j], g, h, how.rare, how.apart) if named else cuts(X[:, j]):
            if not may_descend(g, h, (left, ~left), l2, sign, lo, hi, how):
                continue
            gain = sum(lowered(g[side], h[side], how.l1, l2, lo, hi) for side in (left, ~left)) - whole
            if gain > (0.0 if best is None else best[0] + 1e-12 * abs(whole)):
                best = gain, j, left, t
    return best


def open_leaf(X, g, h, rows, depth, lo, hi, how):
    """A leaf, its values, and the split it would have."""
    g, h = g[rows], h[rows]
    split = best_descent(X[rows], g, h, lo, hi, how) if depth < how.max_depth else None
    values = [best_value(a, b, how.l1, how.l2, lo, hi) for a, b in zip(g.sum(axis=0), h.sum(axis=0))]
    return {"rows": rows, "depth": depth, "lo": lo, "hi": hi, "split": split, "values": values}


def descend(leaf, X, g, h, how):
    """Give a leaf two children; a monotone split keeps them apart at the middle of their values."""
    _, j, left, _ = leaf["split"]
    rows, lo, hi = leaf["rows"], leaf["lo"], leaf["hi"]
    sides, bounds = (rows[left], rows[~left]), ((lo, hi), (lo, hi))
    if how.signs and how.signs[j]:
        sums = ((g[side, 0].sum(), h[side, 0].sum()) for side in sides)
        middle = np.mean([best_value(a, b, how.l1, how.l2, lo, hi) for a, b in sums])
        bounds = ((lo, middle), (middle, hi))[:: how.signs[j]]
    leaf["children"] = [
        open_leaf(X, g, h, side, leaf["depth"] + 1, *ends, how) for side, ends in zip(sides, bounds)
    ]
    return leaf["children"]


def descended(X, g, h, how):
    """The root of a tree whose leaves are split where that gains most, or level by level."""
    root = open_leaf(X, g, h, np.arange(len(X)), 0, -np.inf, np.inf, how)
    leaves = [root]
    while len(leaves) < how.max_leaves and any(leaf["split"] for leaf in leaves):
        best = max(
            (leaf for leaf in leaves if leaf["split"]),
            key=lambda leaf: (-leaf["depth"] if how.by_level else 0, leaf["split"][0]),
        )
        leaves = [leaf for leaf in leaves if leaf is not best] + descend(best, X, g, h, how)
    return root
