"""A tree as text."""

import numpy as np

from quorate import kernels


def as_text(tree, names=None, labels=None, levels=None, max_depth=10, decimals=2):
    """A question a line, what follows from yes first, and what a leaf answers with how many rows behind it."""
    lines: list[str] = []
    _branch(tree, 0, 0, names, labels, levels or {}, max_depth, decimals, lines)
    return "\n".join(lines) + "\n"


def _branch(tree, i, depth, names, labels, levels, max_depth, decimals, lines):
    indent = "|   " * depth + "|--- "
    if tree.is_leaf[i]:
        lines.append(indent + answer(tree, i, labels, decimals))
    elif depth >= max_depth:
        lines.append(f"{indent}… {int(np.sum(tree.is_leaf[i : _end(tree, i)]))} leaves")
    else:
        yes, no = question(tree, i, names, levels, decimals)
        for text, child in ((yes, i + 1), (no, tree.right[i])):
            lines.append(indent + text)
            _branch(tree, child, depth + 1, names, labels, levels, max_depth, decimals, lines)


def _end(tree, i):
    while not tree.is_leaf[i]:
        i = tree.right[i]
    return i + 1


def question(tree, i, names=None, levels=None, decimals=2):
    """("x ≤ 1.5 or missing", "x > 1.5"): what goes left, and what goes right."""
    j = tree.columns[i]
    name = f"x[{j}]" if names is None else str(names[j])
    missing_left = bool(tree.column[i] & kernels.walk.MISSING_LEFT)
    if tree.column[i] & kernels.walk.CATEGORY:
        left, right = _sides(tree, i, j, (levels or {}).get(name))
        yes, no = f"{name} is {left}", f"{name} is {right}"
    elif np.isinf(tree.threshold[i]):
        return (
            (f"{name} is there", f"{name} is missing")
            if tree.threshold[i] > 0
            else (f"{name} is missing", f"{name} is there")
        )
    else:
        t = f"{tree.threshold[i]:.{decimals}f}"
        yes, no = f"{name} ≤ {t}", f"{name} > {t}"
    return (f"{yes} or missing", no) if missing_left else (yes, f"{no} or missing")


def _sides(tree, i, j, levels):
    """The categories that go left, and those that go right, as text."""
    bits = np.unpackbits(tree.subsets[int(tree.threshold[i])].view(np.uint8), bitorder="little")
    codes = tree.codes[j]
    said = [str(levels[int(c)]) if levels is not None else f"{c:g}" for c in codes]
    sides = (
        [name for name, left in zip(said, bits[: len(said)], strict=True) if left == side] for side in (1, 0)
    )
    return (", ".join(side) or "nothing" for side in sides)


def answer(tree, i, labels, decimals):
    """What a node answers, and how many rows are behind it."""
    weight = f"{tree.weight[i]:g} rows"
    if tree.samples is not None:
        return f"mean {tree.values[i, 0]:.{decimals}f} ({weight})"
    k = int(np.argmax(tree.values[i]))
    return f"{k if labels is None else labels[k]} {tree.values[i, k]:.{decimals}f} ({weight})"
