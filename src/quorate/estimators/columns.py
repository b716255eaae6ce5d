"""What parameters say of columns and classes: signs of monotone columns, factors of classes."""

import numpy as np
from sklearn.utils.class_weight import compute_class_weight


def signs(estimator, d, n_classes, categorical):
    """−1, 0 or 1 for each of d columns, or nothing where all are free."""
    given = estimator.monotonic_cst
    if given is None:
        return ()
    if isinstance(given, dict):
        found = _by_name(estimator, given, d)
    else:
        found = np.asarray(given)
        if found.shape != (d,):
            raise ValueError(f"monotonic_cst has the shape {found.shape}, and X has {d} columns")
    if not np.isin(found, (-1, 0, 1)).all():
        raise ValueError("monotonic_cst takes 1 (rising), −1 (falling) and 0 (free)")
    if n_classes is not None and n_classes > 2 and np.any(found):
        raise ValueError(f"monotonic_cst is for numbers and for two classes, and y has {n_classes}")
    wrong = [j for j in categorical if found[j]]
    if wrong:
        names = getattr(estimator, "feature_names_in_", None)
        column = wrong[0] if names is None else repr(str(names[wrong[0]]))
        raise ValueError(f"column {column} holds categories, which have no order; give it 0 in monotonic_cst")
    return tuple(int(s) for s in found)


def _by_name(estimator, given, d):
    names, found = list(getattr(estimator, "feature_names_in_", ())), np.zeros(d, int)
    for name, sign in given.items():
        if name not in names:
            raise ValueError(f"monotonic_cst has {name!r}, and X has no such column")
        found[names.index(name)] = sign
    return found


def class_weights(asked, data):
    """A factor for the rows of each class, of so few digits that sums are exact; "balanced" counts weights."""
    if asked is None:
        return ()
    totals = np.bincount(data.y, data.weight)
    balanced = totals.sum() / (len(totals) * totals)
    given = (
        balanced if asked == "balanced" else compute_class_weight(asked, classes=data.classes, y=data.classes)
    )
    for label, factor in zip(data.classes.tolist(), given, strict=True):
        if not 0 < factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} is {factor}; it must be positive and finite (leave rows out that are "
                f"not to be learned)"
            )
    return tuple(given.astype(np.float32).astype(float).tolist())
