"""States that scikit-learn's compiled code reads without looking.

A number out of range there does not raise an error: it reads or writes other memory, or never ends. `BEFORE` holds
checks of what compiled types are made from, done before they are made; `AFTER` those of estimators that hand arrays to
compiled code, done on the finished objects, by the full name of a class among their ancestors.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from quorate.store.checks import require
from quorate.store.trust import PARTS, name_of

TREE_LEAF = -1
HEAP_TYPE = 1 << 9  # in a class's flags: made by Python code, not compiled
MAX_JOBS = 1024


def can_be_made(name, cls):
    """Whether a class can be made from a file: compiled ones only where their state is checked."""
    compiled = [
        base for base in cls.__mro__ if not base.__flags__ & HEAP_TYPE and base.__module__ != "builtins"
    ]
    require(not compiled or name in BEFORE, f"{name} is compiled, and its state cannot be checked")
    return True


# Trees


def children(left, right, leaf, what):
    """That every node but the first is the child of exactly one node before it: then a walk from the first one ends."""
    left, right = left.astype(np.int64)[~leaf], right.astype(np.int64)[~leaf]
    parent = np.flatnonzero(~leaf)
    inside = np.all((left > parent) & (right > parent) & (left < len(leaf)) & (right < len(leaf)))
    require(len(leaf) and inside, f"{what} has children that are not there, or before their parent")
    parents = np.bincount(np.concatenate([left, right]), minlength=len(leaf))
    require(np.all(parents[1:] == 1), f"{what} has a node with no parent, or with two")


def depth(left, right, leaf, most):
    """How many steps from the first node to the last level, but not more than `most` + 1."""
    level, steps = np.zeros(1, np.int64), 0
    while steps <= most:
        level = level[~leaf[level]]
        if not len(level):
            break
        level, steps = np.concatenate([left[level], right[level]]), steps + 1
    return steps


def _tree(schema, node):
    """Tree(n_features, n_classes, n_outputs) with the state {max_depth, node_count, nodes, values}."""
    from sklearn.tree._tree import NODE_DTYPE

    args, state = schema.plain(node["__reduce__"]["args"]), schema.plain(node["content"])
    good = type(args) is tuple and len(args) == 3 and type(state) is dict
    require(good and state.keys() == {"max_depth", "node_count", "nodes", "values"}, "a tree is no tree")
    n_features, n_classes, n_outputs = args
    nodes, values = state["nodes"], state["values"]
    whole = all(
        type(n) is int and n >= 0 for n in (n_features, n_outputs, state["max_depth"], state["node_count"])
    )
    require(whole and n_features > 0, "a tree has counts that are none")
    _is_array(n_classes, np.dtype(np.intp), (n_outputs,), "the classes of a tree")
    require(n_outputs > 0 and n_classes.min() > 0, "a tree answers nothing")
    _is_array(nodes, NODE_DTYPE, (state["node_count"],), "the nodes of a tree")
    _is_array(values, np.dtype(float), (len(nodes), n_outputs, int(n_classes.max())), "the values of a tree")
    leaf = nodes["left_child"] == TREE_LEAF
    require(np.all((nodes["right_child"] == TREE_LEAF) == leaf), "a tree has nodes with one child")
    children(nodes["left_child"], nodes["right_child"], leaf, "a tree")
    deep = depth(nodes["left_child"], nodes["right_child"], leaf, state["max_depth"])
    require(deep == state["max_depth"], f"a tree is not {state['max_depth']} deep")
    feature = nodes["feature"][~leaf]
    require(
        np.all((feature >= 0) & (feature < n_features)),
        f"a tree asks for other features than 0 … {n_features - 1}",
    )
    numbers = np.all(np.isfinite(values)) and not np.any(np.isnan(nodes["threshold"][~leaf]))
    require(numbers and np.all(nodes["n_node_samples"] >= 0), "a tree has numbers that are none")


def _is_array(value, dtype, shape, what):
    good = isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape
    require(good and value.flags.c_contiguous, f"{what} should be {dtype} of shape {shape}")


def _fitted(estimator, *names):
    """The attributes that are there at all: an estimator that was not fitted has none."""
    own = vars(estimator)
    return [own[name] for name in names] if all(name in own for name in names) else None


def _decision_tree(estimator):
    if found := _fitted(estimator, "tree_"):
        tree, name = found[0], type(estimator).__name__
        require(name_of(type(tree)) == "sklearn.tree._tree.Tree", f"the tree of a {name} is none")
        require(
            vars(estimator).get("n_features_in_") == tree.n_features,
            f"a {name} has another number of features",
        )
        require(
            vars(estimator).get("n_outputs_") == tree.n_outputs, f"a {name} has another number of answers"
        )
        if "n_classes_" in vars(estimator):
            same = np.array_equal(np.atleast_1d(estimator.n_classes_), tree.n_classes)
            several = tree.n_outputs > 1
            classes = estimator.classes_ if several else [estimator.classes_]
            same = same and [len(c) for c in classes] == tree.n_classes.tolist()
            require(same, f"a {name} has other classes than its tree")


def _is_tree_of(estimator, n_features, what):
    """The Tree of a fitted decision tree for so many features."""
    kinds = {name_of(c) for c in type(estimator).__mro__}
    good = "sklearn.tree._classes.BaseDecisionTree" in kinds and "tree_" in vars(estimator)
    require(good and estimator.tree_.n_features == n_features, f"{what} holds something else than its trees")
    return estimator.tree_


def _forest(estimator):
    if found := _fitted(estimator, "estimators_"):
        name = type(estimator).__name__
        require(type(found[0]) is list and len(found[0]), f"a {name} has no trees")
        for tree in found[0]:
            _is_tree_of(tree, vars(estimator).get("n_features_in_"), f"a {name}")


def _gradient_boosting(estimator):
    """Its trees' values are added to an array without looking at its width."""
    if found := _fitted(estimator, "estimators_", "n_trees_per_iteration_", "n_features_in_"):
        trees, wide, n_features = found
        name = type(estimator).__name__
        good = isinstance(trees, np.ndarray) and trees.dtype == object and trees.ndim == 2 and len(trees)
        require(good and trees.shape[1] == wide, f"a {name} has no trees")
        for tree in trees.ravel():
            one = _is_tree_of(tree, n_features, f"a {name}")
            require(
                one.n_outputs == one.max_n_classes == 1, f"a tree of a {name} answers more than one number"
            )
        start = estimator._raw_predict_init(np.zeros((1, n_features), np.float32))
        good = isinstance(start, np.ndarray) and start.dtype == float and start.shape == (1, wide)
        require(good, f"a {name} does not begin with {wide} numbers")


def _histogram_boosting(estimator):
    require("_in_fit" not in vars(estimator), "a gradient boosting was saved before it was done")
    if found := _fitted(
        estimator, "_predictors", "n_features_in_", "_n_features", "_bin_mapper", "_preprocessor"
    ):
        predictors, n_features, n_used, bins, before = found
        name = type(estimator).__name__
        require(
            type(n_features) is int and n_features == n_used > 0, f"a {name} has another number of features"
        )
        if before is not None:
            seen = estimator._preprocess_X(np.zeros((1, n_features)), reset=False)
            require(seen.shape == (1, n_features), f"a {name} sees another number of features")
        categorical = (
            np.zeros(n_features, bool) if bins.is_categorical_ is None else np.asarray(bins.is_categorical_)
        )
        require(categorical.shape == (n_features,), f"a {name} has categories for another number of features")
        known, of_feature = bins.make_known_categories_bitsets()
        _is_array(
            known, np.dtype(np.uint32), (np.count_nonzero(categorical), 8), f"the categories of a {name}"
        )
        _is_array(of_feature, np.dtype(np.uint32), (n_features,), f"the categories of a {name}")
        for turn in predictors:
            require(
                len(turn) == estimator.n_trees_per_iteration_,
                f"a turn of a {name} has too many or too few trees",
            )
            for tree in turn:
                _predictor(tree, categorical, f"a tree of a {name}")


def _predictor(tree, categorical, what):
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    require(type(tree) is TreePredictor, f"{what} is none")
    nodes, splits = tree.nodes, tree.raw_left_cat_bitsets
    _is_array(nodes, PREDICTOR_RECORD_DTYPE, (len(nodes),), what)
    leaf = nodes["is_leaf"] != 0
    children(nodes["left"], nodes["right"], leaf, what)
    feature, by_category = nodes["feature_idx"][~leaf], nodes["is_categorical"][~leaf] != 0
    require(
        np.all((feature >= 0) & (feature < len(categorical))), f"{what} asks for a feature that is not there"
    )
    require(np.all(categorical[feature[by_category]]), f"{what} asks for the category of a number")
    for bits in (splits, tree.binned_left_cat_bitsets):
        _is_array(bits, np.dtype(np.uint32), (len(splits), 8), f"the categories of {what}")
    require(
        np.all(nodes["bitset_idx"][~leaf][by_category] < len(splits)),
        f"{what} asks for categories beyond its own",
    )
    require(np.all(np.isfinite(nodes["value"][leaf])), f"{what} has values that are not finite")


# Support vectors


def _support_vectors(estimator):
    """libsvm takes all lengths from the number of classes and of support vectors."""
    names = ("support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB")
    if found := _fitted(estimator, *names):
        support, vectors, per_class, coef, intercept, prob_a, prob_b = found
        name, n_features = type(estimator).__name__, vars(estimator).get("n_features_in_")
        require(
            isinstance(vectors, np.ndarray) and not estimator._sparse,
            f"a {name} learned from sparse data cannot be checked",
        )
        require(
            estimator.kernel in ("linear", "poly", "rbf", "sigmoid"),
            f"the kernel of a {name} cannot be checked",
        )
        n, k = len(support), len(getattr(estimator, "classes_", (0, 1)))
        pairs = k * (k - 1) // 2
        require(n > 0 and k > 1, f"a {name} has no support vectors")
        _is_array(support, np.dtype(np.int32), (n,), f"the support of a {name}")
        _is_array(vectors, np.dtype(float), (n, n_features), f"the support vectors of a {name}")
        _is_array(per_class, np.dtype(np.int32), (k,), f"the support of a {name}")
        _is_array(coef, np.dtype(float), (k - 1, n), f"the coefficients of a {name}")
        _is_array(intercept, np.dtype(float), (pairs,), f"the intercept of a {name}")
        counts = per_class if "classes_" in vars(estimator) else per_class[:1]
        require(np.all(per_class >= 0) and counts.sum() == n, f"a {name} has other support vectors")
        for prob in (prob_a, prob_b):
            _is_array(prob, np.dtype(float), (len(prob),), f"the probabilities of a {name}")
            require(
                len(prob) in (0, pairs) and len(prob) == len(prob_a),
                f"the probabilities of a {name} are not {pairs}",
            )


# Neighbours


def _metric(schema, node):
    state = schema.plain(node["content"])
    good = type(state) is tuple and len(state) == 3 and type(state[0]) is float and state[0] > 0
    require(
        good and all(isinstance(v, np.ndarray) and v.dtype == float for v in state[1:]), "a metric is none"
    )
    require(state[1].ndim == 1 and state[2].ndim == 2, "a metric is none")


def _neighbour_tree(schema, node):
    """KDTree and BallTree: (data, order, nodes, bounds, leaf_size, n_levels, n_nodes, 4 counts, metric, weights)."""
    state = schema.plain(node["content"])
    require(type(state) is tuple and len(state) == 13, "a tree of neighbours is none")
    data, order, nodes, bounds, leaf_size, n_levels, n_nodes, *counts, metric, weights = state
    ball = node["__class__"] == "BallTree"
    whole = all(type(c) is int and 0 <= c < 1 << 60 for c in (leaf_size, n_levels, n_nodes, *counts))
    require(
        whole and leaf_size > 0 and weights is None,
        "a tree of neighbours has counts that are none, or weights",
    )
    require(isinstance(data, np.ndarray) and data.ndim == 2 and data.size, "a tree of neighbours has no data")
    _is_array(data, np.dtype(float), data.shape, "the data of a tree of neighbours")
    n, width = data.shape
    _is_array(order, np.dtype(np.intp), (n,), "the order of a tree of neighbours")
    require(np.array_equal(np.sort(order), np.arange(n)), "the order of a tree of neighbours is none")
    require(
        isinstance(nodes, np.ndarray) and nodes.dtype == _node_data(), "a tree of neighbours has no nodes"
    )
    _is_array(nodes, nodes.dtype, (n_nodes,), "the nodes of a tree of neighbours")
    _is_array(
        bounds, np.dtype(float), (1 if ball else 2, n_nodes, width), "the bounds of a tree of neighbours"
    )
    start, end, leaf = nodes["idx_start"], nodes["idx_end"], nodes["is_leaf"] != 0
    require(
        n_nodes and np.all((start >= 0) & (start <= end) & (end <= n)),
        "a tree of neighbours points beyond its data",
    )
    require(
        np.all(leaf | (2 * np.arange(n_nodes) + 2 < n_nodes)),
        "a tree of neighbours has children that are not there",
    )
    require(
        metric is not None and getattr(metric, "name", None) in METRICS, "a tree of neighbours has no metric"
    )
    weighs = len(metric.state[1])
    minkowski = metric.name.endswith("MinkowskiDistance64")
    require(not minkowski or weighs in (0, width), "a metric weighs another number of features")


def _node_data():
    from sklearn.neighbors import KDTree

    return np.asarray(KDTree(np.zeros((1, 1))).get_arrays()[2]).dtype


def _neighbours(estimator):
    if found := _fitted(estimator, "_fit_X", "_fit_method", "n_samples_fit_", "n_features_in_"):
        X, method, n, n_features = found
        name, tree = type(estimator).__name__, vars(estimator).get("_tree")
        require(
            getattr(X, "shape", None) == (n, n_features) and method in ("brute", "kd_tree", "ball_tree"),
            f"a {name} has no data",
        )
        require(
            type(n) is int and estimator.n_neighbors <= n, f"a {name} asks for more neighbours than it has"
        )
        dense = not isinstance(X, np.ndarray) or X.dtype in (np.float64, np.float32)
        require(dense and (method == "brute") == (tree is None), f"a {name} has no tree")
        if tree is not None:
            require(name_of(type(tree)) in NEIGHBOUR_TREES, f"the tree of a {name} is none")
            require(tree.get_arrays()[0].shape == (n, n_features), f"a {name} has other data than its tree")
        if "_y" in vars(estimator):
            _neighbours_answers(estimator, n, name)


def _neighbours_answers(estimator, n, name):
    y = estimator._y
    require(isinstance(y, np.ndarray) and y.dtype.kind in "iuf" and len(y) == n, f"a {name} has no answers")
    if "classes_" in vars(estimator):
        require(y.dtype.kind in "iu" and y.ndim in (1, 2), f"a {name} has no answers")
        classes = estimator.classes_ if y.ndim == 2 and estimator.outputs_2d_ else [estimator.classes_]
        for codes, known in zip(y.reshape(n, -1).T, classes, strict=True):
            require(
                codes.min() >= 0 and codes.max() < len(known),
                f"a {name} answers with classes that are not there",
            )


# Sparse matrices


def _one_hot(estimator):
    """Its codes become indices of a sparse table, as wide as it says."""
    if found := _fitted(estimator, "categories_", "_n_features_outs", "_drop_idx_after_grouping"):
        categories, widths, dropped = found
        require(estimator._compute_n_features_outs() == widths, "a OneHotEncoder is as wide as it is not")
        groups = getattr(estimator, "_default_to_infrequent_mappings", None) or [None] * len(categories)
        sizes = [len(c) if g is None else int(g.max()) + 1 for c, g in zip(categories, groups, strict=True)]
        for known, group, size in zip(categories, groups, sizes, strict=True):
            good = group is None or (
                len(group) == len(known) and group.dtype.kind == "i" and group.min() >= 0
            )
            require(good and size <= len(known), "a OneHotEncoder has groups that are none")
        if dropped is not None:
            inside = all(d is None or 0 <= d < size for d, size in zip(dropped, sizes, strict=True))
            require(inside, "a OneHotEncoder drops what is not there")
            sizes = [size - (d is not None) for d, size in zip(dropped, sizes, strict=True)]
        require(sizes == widths, "a OneHotEncoder is as wide as it is not")


def sparse(parts, cls):
    """The arrays of a compressed sparse matrix: SciPy's compiled code follows their indices."""
    from scipy.sparse import csc_array, csr_array

    require(
        parts.keys()
        in (
            {"data", "indices", "indptr", "format", "shape"},
            {"data", "indices", "indptr", "format", "shape", "_is_array"},
        ),
        "a sparse matrix is none",
    )
    shape, indptr, indices, data = (parts[key] for key in ("shape", "indptr", "indices", "data"))
    kind = parts["format"].item() if parts["format"].ndim == 0 else None
    require(cls[:3].encode() == kind and kind in (b"csr", b"csc"), "a sparse matrix is neither csr nor csc")
    one_dimensional = all(a.ndim == 1 for a in (shape, indptr, indices, data))
    whole = all(a.dtype.kind == "i" for a in (shape, indptr, indices))
    require(
        one_dimensional and whole and data.dtype.kind in "biuf" and len(shape) == 2, "a sparse matrix is none"
    )
    rows, columns = shape.tolist() if kind == b"csr" else shape.tolist()[::-1]
    require(
        len(indptr) == rows + 1 and columns >= 0 and len(indices) == len(data),
        "a sparse matrix has another shape",
    )
    good = indptr[0] == 0 and indptr[-1] == len(data) and np.all(np.diff(indptr) >= 0)
    require(
        good and (not len(indices) or (indices.min() >= 0 and indices.max() < columns)),
        "a sparse matrix points beyond its shape",
    )
    (csr_array if kind == b"csr" else csc_array)((data, indices, indptr), shape.tolist()).check_format()


# Random numbers


def _random_state(schema, node):
    """RandomState: its position is used as an index into its 624 numbers."""
    state = schema.plain(node["content"])
    require(type(state) is dict and state.get("bit_generator") == "MT19937", "a RandomState is not MT19937")
    inner = state.get("state")
    require(type(inner) is dict and inner.keys() == {"key", "pos"}, "a RandomState is none")
    _is_array(inner["key"], np.dtype(np.uint32), (624,), "the state of a RandomState")
    require(type(inner["pos"]) is int and 0 <= inner["pos"] <= 624, "a RandomState is none")


def _generator(schema, node):
    """Generator: only of the kind `default_rng` makes, with a pool of the size it has."""
    bits, seeds = schema.plain(node["content"]["bit_generator"]), schema.plain(node["content"]["seed_seq"])
    require(type(bits) is dict and bits.get("bit_generator") == "PCG64", "a Generator is not PCG64")
    good = type(seeds) is dict and seeds.keys() == {"entropy", "spawn_key", "pool_size", "n_children_spawned"}
    require(good and seeds["pool_size"] == 4, "a Generator's seed is none")


def _loss(schema, node):
    args, state = schema.plain(node["__reduce__"]["args"]), schema.plain(node["content"])
    require(type(args) is tuple and len(args) <= 2 and all(type(v) is float for v in args), "a loss is none")
    require(not state, "a loss has a state")


METRICS = {
    f"sklearn.metrics._dist_metrics.{kind}Distance64"
    for kind in ("Euclidean", "Manhattan", "Chebyshev", "Minkowski")
}
NEIGHBOUR_TREES = {"sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree"}

BEFORE = {
    "sklearn.tree._tree.Tree": _tree,
    "numpy.random.mtrand.RandomState": _random_state,
    "numpy.random._generator.Generator": _generator,
    **dict.fromkeys(NEIGHBOUR_TREES, _neighbour_tree),
    **dict.fromkeys(METRICS, _metric),
    **{
        f"{m}.{name}": _loss
        for m in ("sklearn._loss._loss", "sklearn.linear_model._sgd_fast")
        for name in PARTS[m]
    },
}

AFTER = {
    "sklearn.preprocessing._encoders.OneHotEncoder": _one_hot,
    "sklearn.tree._classes.BaseDecisionTree": _decision_tree,
    "sklearn.ensemble._forest.BaseForest": _forest,
    "sklearn.ensemble._gb.BaseGradientBoosting": _gradient_boosting,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.BaseHistGradientBoosting": _histogram_boosting,
    "sklearn.svm._base.BaseLibSVM": _support_vectors,
    "sklearn.neighbors._base.NeighborsBase": _neighbours,
}


def examine(thing):
    """Check one finished third-party object, its parts being checked already."""
    own = vars(thing)
    params = type(thing)._get_param_names() if isinstance(thing, BaseEstimator) else ()
    theirs = type(thing).__module__.startswith("sklearn.")
    for name in own.keys() - set(params):
        shadows = hasattr(type(thing), name) and (theirs or callable(getattr(type(thing), name)))
        require(not shadows, f"an attribute of a {type(thing).__name__} stands in for its {name}")
    jobs = own.get("n_jobs")
    require(
        jobs is None or (isinstance(jobs, Integral) and abs(int(jobs)) <= MAX_JOBS),
        f"n_jobs={jobs} is out of range",
    )
    for base in type(thing).__mro__:
        if name_of(base) in AFTER:
            AFTER[name_of(base)](thing)
