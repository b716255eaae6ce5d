"""States that scikit-learn's compiled code reads without looking.

A number out of range there does not raise an error: it reads or writes other memory, or never ends. `BEFORE` holds
checks of what compiled types are made from, done before they are made; `AFTER` those of estimators that hand arrays to
compiled code, done on the finished objects, by the full name of a class among their ancestors.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from quorate.store import demands
from quorate.store.checks import fitted as _fitted, is_array as _is_array, require
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


def depth(left, right, leaf):
    """How many steps from the first node to the last level: each turn doubles how far up a node looks."""
    parent = np.flatnonzero(~leaf)
    up, steps = np.zeros(len(leaf), np.int64), np.ones(len(leaf), np.int64)
    up[left[parent]], up[right[parent]], steps[0] = parent, parent, 0
    while np.any(up):
        steps, up = steps + steps[up], up[up]
    return int(steps.max())


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
    deep = depth(nodes["left_child"], nodes["right_child"], leaf)
    require(deep == state["max_depth"], f"a tree is not {state['max_depth']} deep")
    feature = nodes["feature"][~leaf]
    require(
        np.all((feature >= 0) & (feature < n_features)),
        f"a tree asks for other features than 0 … {n_features - 1}",
    )
    numbers = np.all(np.isfinite(values)) and not np.any(np.isnan(nodes["threshold"][~leaf]))
    require(numbers and np.all(nodes["n_node_samples"] >= 0), "a tree has numbers that are none")


def _decision_tree(estimator):
    of_classes = ("classes_", "n_classes_") if isinstance(estimator, ClassifierMixin) else ()
    if found := _fitted(estimator, "tree_", "n_features_in_", "n_outputs_", *of_classes):
        tree, n_features, n_outputs, *_ = found
        name = type(estimator).__name__
        require(name_of(type(tree)) == "sklearn.tree._tree.Tree", f"the tree of a {name} is none")
        require(n_features == tree.n_features, f"a {name} has another number of features")
        require(n_outputs == tree.n_outputs, f"a {name} has another number of answers")
        if of_classes:
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
    if found := _fitted(estimator, "estimators_", "n_features_in_", "n_outputs_"):
        trees, n_features, n_outputs = found
        name = type(estimator).__name__
        require(type(trees) is list and len(trees), f"a {name} has no trees")
        for tree in trees:
            one = _is_tree_of(tree, n_features, f"a {name}")
            require(one.n_outputs == n_outputs, f"a tree of a {name} has another number of answers")


def _embedding(estimator):
    if found := _fitted(estimator, "estimators_", "one_hot_encoder_"):
        require(name_of(type(found[1])) == ONE_HOT, "a RandomTreesEmbedding has another encoder")


def _bins(estimator):
    if found := _fitted(estimator, "bin_edges_", "n_bins_"):
        encoder = vars(estimator).get("_encoder")
        require(
            encoder is None or name_of(type(encoder)) == ONE_HOT, "a KBinsDiscretizer has another encoder"
        )
        require(len(found[0]) == len(found[1]), "a KBinsDiscretizer has other bins")


def _gradient_boosting(estimator):
    """Its trees' values are added to an array without looking at its width."""
    names = ("estimators_", "n_trees_per_iteration_", "n_features_in_", "init_", "_loss")
    if found := _fitted(estimator, *names):
        trees, wide, n_features, start, loss = found
        name = type(estimator).__name__
        good = isinstance(trees, np.ndarray) and trees.dtype == object and trees.ndim == 2 and len(trees)
        require(good and trees.shape[1] == wide, f"a {name} has no trees")
        for tree in trees.ravel():
            one = _is_tree_of(tree, n_features, f"a {name}")
            require(
                one.n_outputs == one.max_n_classes == 1, f"a tree of a {name} answers more than one number"
            )
        _is_loss(loss, f"a {name}")
        dummy = (
            f"sklearn.dummy.Dummy{'Classifier' if isinstance(estimator, ClassifierMixin) else 'Regressor'}"
        )
        good = isinstance(start, str) or name_of(type(start)) == dummy
        require(good, f"what a {name} begins with cannot be checked: it should be init=None or 'zero'")
        require(
            isinstance(start, str) or _width(start, loss) == wide, f"a {name} begins with too few answers"
        )


def _is_loss(loss, what):
    good = name_of(type(loss)) in LOSSES and name_of(type(vars(loss).get("link"))) in LINKS
    require(good, f"the loss of {what} is none")


def _width(start, loss):
    """How many numbers a row begins with, where boosting begins with the shares of classes, or a constant."""
    require(vars(start).get("n_outputs_") == 1, "a boosting begins with several answers")
    return start.n_classes_ if loss.is_multiclass else 1


def _histogram_boosting(estimator):
    require("_in_fit" not in vars(estimator), "a gradient boosting was saved before it was done")
    names = ("_predictors", "n_features_in_", "_n_features", "_bin_mapper", "_preprocessor")
    if found := _fitted(estimator, *names, "_baseline_prediction", "n_trees_per_iteration_", "_loss"):
        predictors, n_features, n_used, bins, before, start, wide, loss = found
        name = type(estimator).__name__
        _is_loss(loss, f"a {name}")
        _is_array(start, np.dtype(float), (1, wide), f"what a {name} begins with")
        require(name_of(type(bins)) == BIN_MAPPER, f"a {name} has no bins")
        require(
            type(n_features) is int and n_features == n_used > 0, f"a {name} has another number of features"
        )
        if before is not None:
            _preprocessor(before, n_features, f"what a {name} does first")
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
                len(turn) == wide,
                f"a turn of a {name} has too many or too few trees",
            )
            for tree in turn:
                _predictor(tree, categorical, f"a tree of a {name}")


def _preprocessor(before, n_features, what):
    """Categories to codes, beside numbers as they are: as many columns as there were."""
    require(
        name_of(type(before)) == "sklearn.compose._column_transformer.ColumnTransformer", f"{what} is none"
    )
    names = ("transformers_", "n_features_in_", "sparse_output_", "_transformer_to_input_indices")
    parts, n, as_sparse, indices = _fitted(before, *names) or [None] * 4
    parts = [part for part in parts or () if type(part[1]) is not str or part[1] != "drop"]
    kinds = [name_of(type(part)) for _, part, _ in parts]
    plain = vars(before).get("_sklearn_output_config") in (None, {"transform": "default"})
    require(n == n_features and as_sparse is False and plain, f"{what} has another number of features")
    require(kinds == CODES_AND_NUMBERS and not before.transformer_weights, f"{what} is none")
    for name, _, mask in parts:
        _is_array(mask, np.dtype(bool), (n_features,), f"the columns of {what}")
        require(list(indices[name]) == np.flatnonzero(mask).tolist(), f"{what} takes other columns")
    require(np.array_equal(parts[0][2], ~parts[1][2]), f"{what} takes columns twice, or not at all")


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


MOST_DEGREE = (1 << 31) - 1  # libsvm's is a C int


def _support_vectors(estimator):
    """libsvm takes all lengths from the number of classes and of support vectors."""
    names = ("support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB")
    of_classes = ("classes_",) if isinstance(estimator, ClassifierMixin) else ()
    if found := _fitted(estimator, *names, "n_features_in_", "_sparse", *of_classes):
        support, vectors, per_class, coef, intercept, prob_a, prob_b, n_features, is_sparse, *classes = found
        name = type(estimator).__name__
        require(
            isinstance(vectors, np.ndarray) and is_sparse is False,
            f"a {name} learned from sparse data cannot be checked",
        )
        require(
            estimator.kernel in ("linear", "poly", "rbf", "sigmoid"),
            f"the kernel of a {name} cannot be checked",
        )
        small = isinstance(estimator.degree, int | np.integer) and 0 <= estimator.degree <= MOST_DEGREE
        require(small, f"the degree of a {name} is no small whole number")
        n, k = len(support), len(classes[0]) if classes else 2
        pairs = k * (k - 1) // 2
        require(n > 0 and k > 1, f"a {name} has no support vectors")
        _is_array(support, np.dtype(np.int32), (n,), f"the support of a {name}")
        _is_array(vectors, np.dtype(float), (n, n_features), f"the support vectors of a {name}")
        _is_array(per_class, np.dtype(np.int32), (k,), f"the support of a {name}")
        _is_array(coef, np.dtype(float), (k - 1, n), f"the coefficients of a {name}")
        _is_array(intercept, np.dtype(float), (pairs,), f"the intercept of a {name}")
        counts = per_class if classes else per_class[:1]
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
    names = ("_fit_X", "_fit_method", "n_samples_fit_", "n_features_in_", "_tree")
    measures = ("effective_metric_", "effective_metric_params_")
    of_answers = ("_y",) if hasattr(estimator, "predict") else ()
    of_classes = ("classes_", "outputs_2d_") if isinstance(estimator, ClassifierMixin) else ()
    if found := _fitted(estimator, *names, *measures, *of_answers, *of_classes):
        X, method, n, n_features, tree, metric, given, *_ = found
        name = type(estimator).__name__
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
        for one, its in ((metric, given), (estimator.metric, estimator.metric_params)):
            _measure(one, its, n_features, f"the metric of a {name}")
        if of_answers:
            _neighbours_answers(estimator, n, name)


def _measure(metric, given, n_features, what):
    """Compiled code takes it that whatever else a metric is given is of the right size."""
    require(type(metric) is str and metric in DISTANCES, f"{what} cannot be checked")
    require(
        given is None or (type(given) is dict and given.keys() <= {"p", "w"}), f"{what} cannot be checked"
    )
    p, w = (given or {}).get("p", 2), (given or {}).get("w")
    require(isinstance(p, float | int | np.number) and p > 0, f"{what} has no exponent")
    if w is not None:
        _is_array(w, np.dtype(float), (n_features,), f"the weights of {what}")
        require(np.all(w >= 0.0), f"{what} has negative weights")


def _neighbours_answers(estimator, n, name):
    y = estimator._y
    require(isinstance(y, np.ndarray) and y.dtype.kind in "iuf" and len(y) == n, f"a {name} has no answers")
    if "classes_" in vars(estimator):
        require(y.dtype.kind in "iu" and y.ndim in (1, 2), f"a {name} has no answers")
        require(estimator.outputs_2d_ is (y.ndim == 2), f"a {name} answers in another shape")
        classes = estimator.classes_ if y.ndim == 2 else [estimator.classes_]
        for codes, known in zip(y.reshape(n, -1).T, classes, strict=True):
            require(
                codes.min() >= 0 and codes.max() < len(known),
                f"a {name} answers with classes that are not there",
            )


# Sparse matrices


def _one_hot(estimator):
    """Its codes become indices of a sparse table, as wide as it says."""
    names = ("categories_", "_n_features_outs", "_drop_idx_after_grouping", "_infrequent_enabled")
    if found := _fitted(estimator, *names):
        categories, widths, dropped, grouped = found
        require(type(categories) is list and type(grouped) is bool, "a OneHotEncoder has no categories")
        for known in categories:
            require(_can_be_searched(known), "a OneHotEncoder has categories that are out of order")
        groups = _groups(estimator, categories) if grouped else [None] * len(categories)
        sizes = [len(c) if g is None else int(g.max()) + 1 for c, g in zip(categories, groups, strict=True)]
        for known, group, size in zip(categories, groups, sizes, strict=True):
            good = group is None or (
                len(group) == len(known) and group.dtype.kind == "i" and group.min() >= 0
            )
            require(good and size <= len(known), "a OneHotEncoder has groups that are none")
        if dropped is not None:
            one_each = isinstance(dropped, np.ndarray) and dropped.shape == (len(categories),)
            require(one_each, "a OneHotEncoder drops what is not there")
            inside = all(d is None or 0 <= d < size for d, size in zip(dropped, sizes, strict=True))
            require(inside, "a OneHotEncoder drops what is not there")
            sizes = [size - (d is not None) for d, size in zip(dropped, sizes, strict=True)]
        require(sizes == widths, "a OneHotEncoder is as wide as it is not")


def _can_be_searched(known):
    """Whether numbers among numbers are found where they are; anything else is looked up in a table."""
    if not isinstance(known, np.ndarray) or known.ndim != 1 or not len(known):
        return False
    if known.dtype.kind not in "biuf":
        return known.dtype.kind in "OUS"
    return bool(np.all((known[1:] > known[:-1]) | (np.isnan(known[1:]) & ~np.isnan(known[:-1]))))


def _groups(estimator, categories):
    """For each column, which group its categories are in, or None; unknown ones go where the first rare one is."""
    rare, groups = _fitted(estimator, "_infrequent_indices", "_default_to_infrequent_mappings")
    good = all((r is None) == (g is None) for r, g in zip(rare, groups, strict=True))
    require(good and len(rare) == len(categories), "a OneHotEncoder has groups that are none")
    for one, known in zip(rare, categories, strict=True):
        inside = one is None or (len(one) and min(one) >= 0 and max(one) < len(known))
        require(inside, "a OneHotEncoder has groups that are none")
    return groups


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
# Those of which compiled code needs no more than p and weights.
DISTANCES = {
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming"),
    *("infinity", "l1", "l2", "manhattan", "minkowski", "nan_euclidean", "p", "sqeuclidean"),
}
LOSSES = {f"sklearn._loss.loss.{name}" for name in PARTS["sklearn._loss.loss"]}
LINKS = {f"sklearn._loss.link.{name}" for name in PARTS["sklearn._loss.link"]}
ONE_HOT = "sklearn.preprocessing._encoders.OneHotEncoder"
BIN_MAPPER = "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper"
CODES_AND_NUMBERS = [
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
]
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

AFTER = demands.AFTER | {
    ONE_HOT: _one_hot,
    "sklearn.preprocessing._discretization.KBinsDiscretizer": _bins,
    "sklearn.ensemble._forest.RandomTreesEmbedding": _embedding,
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
    if theirs and hasattr(type(thing), "_parameter_constraints"):
        thing._validate_params()
        demands.methods(own)
    for base in type(thing).__mro__:
        if name_of(base) in AFTER:
            AFTER[name_of(base)](thing)
