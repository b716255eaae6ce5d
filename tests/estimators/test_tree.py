"""Single trees: laws, then examples."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q
from quorate.learn import Data
from quorate.members import bins

RNG = np.random.default_rng


def few_values(n=200, seed=0, n_classes=0):
    """A table in which no two rows are alike, of so few values that each has a bin."""
    rng = RNG(seed)
    X = np.column_stack([rng.permutation(n), *(rng.integers(0, 9, n) for _ in range(3))]).astype(float)
    signal = np.sin(X[:, 0] / 20) + X[:, 1] / 4 + rng.normal(size=n)
    return X, np.digitize(signal, np.linspace(0.5, 2, n_classes - 1)) if n_classes else signal


# beside scikit-learn


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_grown_to_its_end_it_knows_its_rows(criterion):
    X, y = few_values()
    y = np.abs(y)
    model = q.TreeRegressor(criterion).fit(X, y)
    np.testing.assert_allclose(model.predict(X), DecisionTreeRegressor().fit(X, y).predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_grown_to_its_end_it_knows_its_classes(criterion, n_classes):
    X, y = few_values(n_classes=n_classes)
    model = q.TreeClassifier(criterion).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), DecisionTreeClassifier().fit(X, y).predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), np.eye(n_classes)[y])


@pytest.mark.parametrize(("least", "deep"), [(1, 3), (15, None)])
def test_on_few_values_it_is_scikit_learns_tree(least, deep):
    """Splits of noise do not tie, so that two trees that search all cuts are the same."""
    X, y = few_values()
    given = {"min_samples_leaf": least, "max_depth": deep}
    ours, theirs = q.TreeRegressor(**given).fit(X, y), DecisionTreeRegressor(**given).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    X, y = few_values(n_classes=3)
    ours, theirs = (
        t(criterion="entropy", **given).fit(X, y) for t in (q.TreeClassifier, DecisionTreeClassifier)
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_it_foretells_as_well_as_scikit_learns(load):
    X, y = load(return_X_y=True)
    ours, theirs = (
        (q.TreeRegressor, DecisionTreeRegressor)
        if load is load_diabetes
        else (q.TreeClassifier, DecisionTreeClassifier)
    )
    given = {"min_samples_leaf": 5, "random_state": 0}
    a, b = (cross_val_score(t(**given), X, y, cv=5).mean() for t in (ours, theirs))
    assert a > b - 0.05


# laws


@pytest.mark.parametrize(
    "model",
    [
        q.TreeRegressor(min_samples_leaf=5),
        q.TreeRegressor("absolute_error", max_depth=3),
        q.TreeRegressor(max_leaf_nodes=9, ccp_alpha=0.01),
        q.TreeClassifier("entropy", min_samples_split=12, class_weight="balanced"),
    ],
    ids=repr,
)
def test_whole_weights_are_repetitions(model):
    X, y = few_values(n_classes=3 if "Classifier" in repr(model) else 0)
    y = np.round(8 * y) / 8
    w = RNG(1).integers(1, 4, len(y))
    one, other = clone(model).fit(X, y, w), clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert one.export_text() == other.export_text()
    np.testing.assert_allclose(one.predict_dist(X).log_prob(y), other.predict_dist(X).log_prob(y), rtol=1e-9)


def test_a_large_offset_changes_nothing():
    X, y = few_values()
    y = np.round(2**20 * y) / 2**20
    for given in ({"max_depth": 5}, {"max_depth": 4, "criterion": "absolute_error"}, {"ccp_alpha": 0.02}):
        one, far = q.TreeRegressor(**given).fit(X, y), q.TreeRegressor(**given).fit(X, y + 1e9)
        np.testing.assert_array_equal(one.tree_.column, far.tree_.column)
        np.testing.assert_array_equal(one.tree_.threshold, far.tree_.threshold)
        np.testing.assert_allclose(one.predict(X), far.predict(X) - 1e9, atol=1e-5)
        np.testing.assert_allclose(one.predict_interval(X), far.predict_interval(X) - 1e9, atol=1e-5)


def test_rising_transforms_of_columns_change_nothing():
    X, y = few_values()
    one, other = q.TreeRegressor().fit(X, y), q.TreeRegressor().fit(np.exp(X / 50), y)
    np.testing.assert_array_equal(one.predict(X), other.predict(np.exp(X / 50)))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "model",
    [
        q.TreeRegressor(),
        q.TreeRegressor("poisson", max_leaf_nodes=40),
        q.TreeClassifier("entropy", min_samples_leaf=3),
        q.ExtraTreesRegressor(5),
        q.RandomForestClassifier(5, categorical_features=[2]),
    ],
    ids=repr,
)
def test_monotone_columns_are_so_everywhere(model, sign):
    """Along the column and whatever the others say, splits by which come between."""
    rng = RNG(0)
    X = np.column_stack([rng.uniform(-3, 3, (300, 2)), rng.integers(0, 5, 300)])
    signal = sign * X[:, 0] + np.sin(4 * X[:, 0]) + X[:, 1] * (X[:, 2] - 2) + rng.normal(size=300)
    y = signal > 0 if hasattr(model, "predict_proba") else np.exp(signal / 4)
    free, bound = (
        clone(model).set_params(monotonic_cst=c, random_state=0).fit(X, y) for c in (None, [sign, 0, 0])
    )

    def least_rise(model):
        grid = np.linspace(-3.5, 3.5, 150)
        others = X[:40, 1:]
        rows = np.column_stack([np.tile(grid, 40), np.repeat(others, len(grid), axis=0)])
        said = model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)
        return np.diff(sign * said.reshape(40, -1), axis=1).min()

    assert least_rise(free) < -1e-3
    assert least_rise(bound) >= -1e-12
    assert bound.score(X, y) > 0.2


def test_as_many_leaves_as_asked():
    X, y = few_values()
    for most in (2, 3, 10, 33):
        assert q.TreeRegressor(max_leaf_nodes=most).fit(X, y).get_n_leaves() == most
    best, deep = (
        q.TreeRegressor(**{name: v}).fit(X, y) for name, v in (("max_leaf_nodes", 8), ("max_depth", 3))
    )
    assert best.score(X, y) > deep.score(X, y)


def test_limits_are_kept():
    X, y = few_values()
    w = RNG(0).random(200) + 0.5
    tree = q.TreeRegressor(min_samples_leaf=7.5, max_depth=6).fit(X, y, w)
    weights = np.bincount(tree.apply(X), w / w.mean())
    assert weights[weights > 0].min() >= 7.5 * (1 - 1e-9)
    assert tree.get_depth() <= 6
    wide = q.TreeRegressor(min_samples_split=30).fit(X, y).tree_
    assert wide.weight[~wide.is_leaf].min() >= 30


# missing values


def test_what_is_missing_tells_something():
    rng = RNG(0)
    X = rng.normal(size=(300, 3))
    gone = rng.random(300) < 0.4
    X[gone, 1] = np.nan
    y = np.where(gone, 3.0, X[:, 0]) + 0.1 * rng.normal(size=300)
    for model in (q.TreeRegressor(min_samples_leaf=5), q.RandomForestRegressor(10, min_samples_leaf=5)):
        model.set_params(random_state=0).fit(X[:200], y[:200])
        assert model.score(X[200:], y[200:]) > 0.9
    text = q.TreeRegressor(max_depth=1).fit(X, gone).export_text()
    assert "x[1] is there" in text
    assert "x[1] is missing" in text


def test_what_was_never_missing_goes_with_most_rows():
    X = np.arange(30.0)[:, None]
    model = q.TreeRegressor(max_depth=1).fit(X, X[:, 0] >= 10)
    np.testing.assert_array_equal(model.predict([[np.nan], [0.0], [29.0]]), [1.0, 0.0, 1.0])
    assert model.export_text().splitlines()[2] == "|--- x[0] > 9.50 or missing"


# categories


def kinds(n=240, seed=0):
    """A frame with a column of kinds that matter and not by their order, and what it says."""
    rng = RNG(seed)
    names = np.array(["elm", "ash", "oak", "fir", "yew", "box"])
    code = rng.integers(0, 6, n)
    frame = pd.DataFrame({"size": rng.normal(size=n).round(2), "kind": names[code], "code": code * 7 - 3})
    return frame, (np.isin(code, [1, 4]) * 4.0 + frame["size"]).to_numpy()


def test_categories_are_told_apart_at_once():
    frame, y = kinds()
    stump = q.TreeRegressor(max_depth=1, categorical_features=["kind"]).fit(frame[["kind"]], y)
    assert stump.score(frame[["kind"]], y) > 0.7
    assert stump.export_text(decimals=0).splitlines()[0] == "|--- kind is box, elm, fir, oak or missing"
    assert stump.export_text().splitlines()[2] == "|--- kind is ash, yew"


def test_categories_by_name_by_number_by_mask_and_by_type():
    frame, y = kinds()
    text = frame[["size", "kind"]]
    asked = (["kind"], [1], [False, True], "from_dtype")
    tables = [text, text.assign(kind=text["kind"].astype("category")), pl.from_pandas(text)]
    tables.append(tables[-1].with_columns(pl.col("kind").cast(pl.Categorical)))
    first = q.TreeRegressor(categorical_features=["kind"]).fit(text, y)
    for table in tables:
        for given in asked:
            model = q.TreeRegressor(categorical_features=given).fit(table, y)
            np.testing.assert_array_equal(model.predict(table), first.predict(text))
            assert model.export_text() == first.export_text()
    by_code = q.TreeRegressor(categorical_features=[1]).fit(frame[["size", "code"]].to_numpy(), y)
    np.testing.assert_allclose(
        by_code.predict(frame[["size", "code"]].to_numpy()), first.predict(text), rtol=1e-9
    )
    assert q.TreeRegressor(categorical_features=[0]).fit(frame[["code"]], y).get_n_leaves() <= 6


def test_a_category_never_seen_is_missing():
    frame, y = kinds()
    text = frame[["size", "kind"]]
    model = q.TreeRegressor(max_depth=1, categorical_features="from_dtype").fit(text, y)
    new = text[:4].assign(kind=["baobab", None, "oak", "ash"])
    said = model.predict(new)
    assert said[0] == said[1] == said[2] != said[3]
    np.testing.assert_array_equal(model.predict(pl.from_pandas(new)), said)
    assert (
        q.TreeRegressor(categorical_features=["kind"]).fit(text.assign(kind=None), y).tree_.codes[1].size == 0
    )


def test_columns_that_are_none_are_refused():
    frame, y = kinds()
    for given, match in (
        (["species"], "categorical_features has 'species', and X has no such column"),
        ([5], "categorical_features has 5"),
        ([-1], "categorical_features has -1"),
        ([True], "marks 1 columns, and X has 2"),
        ([[0]], "must be a list of columns"),
    ):
        with pytest.raises(ValueError, match=match):
            q.TreeRegressor(categorical_features=given).fit(frame[["size", "code"]], y)
    nameless = frame[["size", "kind"]].set_axis([0, 1], axis=1)
    with pytest.raises(ValueError, match=r"X\.columns = X\.columns\.astype\(str\)"):
        q.TreeRegressor(categorical_features=[1]).fit(nameless, y)
    with pytest.raises(ValueError, match=r"column 'kind'.*encode it"):
        q.TreeRegressor().fit(frame, y)


# parameters


def test_balanced_classes_weigh_the_same():
    X, _ = few_values()
    y = (X[:, 1] > 6).astype(int)
    y[:100] = 0
    model = q.TreeClassifier(max_depth=1, class_weight="balanced").fit(X, y)
    given = {c: len(y) / 2 / np.sum(y == c) for c in (0, 1)}
    np.testing.assert_allclose(
        model.predict_proba(X), q.TreeClassifier(max_depth=1, class_weight=given).fit(X, y).predict_proba(X)
    )
    root = model.tree_.values[0]
    np.testing.assert_allclose(root, [0.5, 0.5], rtol=1e-6)
    with pytest.raises(ValueError, match=r"class_weight of 1 is -1.0; it must be positive"):
        q.TreeClassifier(class_weight={1: -1.0}).fit(X, y)
    w = np.where(np.arange(200) < 100, 0.0, 1.0)
    some = q.TreeClassifier(max_depth=1, class_weight="balanced").fit(X, y, w)
    np.testing.assert_allclose(some.tree_.values[0], [0.5, 0.5], rtol=1e-6)


def test_counts_are_not_negative():
    X, y = few_values()
    row = int(np.argmin(y))
    with pytest.raises(ValueError, match=rf"poisson.*y is {y[row]:g} in row {row}; use criterion="):
        q.TreeRegressor("poisson").fit(X, y)
    w = (y > 0).astype(float)
    np.testing.assert_array_equal(
        q.TreeRegressor("poisson").fit(X, y, w).predict(X),
        q.TreeRegressor("poisson").fit(X[y > 0], y[y > 0]).predict(X),
    )
    w[row], w[0] = 1.0, 0.0
    with pytest.raises(ValueError, match=rf"in row {row};"):
        q.TreeRegressor("poisson").fit(X, y, w)


def test_what_does_not_fit_the_table_is_refused(monkeypatch):
    X, y = few_values()
    for given, match in (
        ({"max_features": 5}, "max_features=5 is more than the 4 columns"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has the shape \(2,\), and X has 4 columns"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "takes 1"),
        ({"monotonic_cst": {"a": 1}}, "monotonic_cst has 'a', and X has no such column"),
        (
            {"monotonic_cst": [0, 1, 0, 0], "categorical_features": [1]},
            "column 1 holds categories, which have no order",
        ),
        ({"monotonic_cst": [0, 1, 0, 0], "criterion": "absolute_error"}, "about medians"),
    ):
        with pytest.raises(ValueError, match=match):
            q.TreeRegressor(**given).fit(X, y)
    with pytest.raises(ValueError, match="for numbers and for two classes, and y has 3"):
        q.TreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, np.arange(200) % 3)
    monkeypatch.setattr(bins, "MOST_CELLS", 1000)
    with pytest.raises(ValueError, match=r"X has 200 rows of 4 columns, .*fit to a sample of the rows"):
        q.TreeRegressor().fit(X, y)


def test_monotone_columns_by_name():
    X, y = few_values()
    frame = pd.DataFrame(X, columns=list("abcd"))
    one = q.TreeRegressor(monotonic_cst={"b": 1, "d": -1}).fit(frame, y)
    np.testing.assert_array_equal(
        one.predict(frame), q.TreeRegressor(monotonic_cst=[0, 1, 0, -1]).fit(X, y).predict(X)
    )


def test_absolute_error_is_not_drawn_by_one_wild_value():
    rng = RNG(0)
    X = rng.permutation(80)[:, None] * 1.0
    y = (X[:, 0] >= 40) * 1.0 + 0.1 * rng.normal(size=80)
    y[np.argmin(X[:, 0])] = 1e4
    stump, pulled = (
        q.TreeRegressor(c, max_depth=1, min_samples_leaf=10).fit(X, y).tree_.threshold[0]
        for c in ("absolute_error", "squared_error")
    )
    assert 38 < stump < 41
    assert pulled == 9.5


def test_columns_drawn_are_more_where_those_can_not_split():
    """Three columns of constants beside one that tells."""
    X = np.column_stack([np.arange(30.0), *np.ones((3, 30))])
    for seed in range(5):
        model = q.TreeRegressor(max_features=1, random_state=seed).fit(X, X[:, 0])
        assert model.get_n_leaves() == 30


@pytest.mark.parametrize(
    ("given", "n"), [("sqrt", 3), ("log2", 3), ("log2+1", 4), (0.5, 5), (2, 2), (1.0, 10), (None, None)]
)
def test_how_many_columns_a_node_draws(given, n):
    assert q.TreeRegressor(max_features=given)._n_columns(10) == n


# answers


def test_importances_find_the_signal():
    X, y = few_values()
    model = q.TreeRegressor(min_samples_leaf=5).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
    np.testing.assert_array_equal(q.TreeRegressor().fit(X, np.ones(200)).feature_importances_, 0.0)


def test_leaves_are_numbered_as_in_the_tree():
    X, y = few_values()
    model = q.TreeRegressor(max_depth=3).fit(X, y)
    leaves = np.unique(model.apply(X))
    np.testing.assert_array_equal(leaves, np.flatnonzero(model.tree_.is_leaf))
    assert len(leaves) == model.get_n_leaves()
    assert model.get_depth() == model.tree_.depths.max() == 3


def test_the_tree_as_text():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    model = q.TreeClassifier(max_depth=2).fit(X, y)
    lines = model.export_text().splitlines()
    assert (
        lines[0] == "|--- petal length (cm) ≤ 2.45 or missing" or lines[0] == "|--- petal length (cm) ≤ 2.45"
    )
    assert lines[1] == "|   |--- setosa 1.00 (50 rows)"
    assert "|   |   |--- virginica 0.98 (46 rows)" in lines
    short = model.export_text(max_depth=1, decimals=0).splitlines()
    assert any("… 2 leaves" in line for line in short)
    X, y = few_values()
    assert "mean " in q.TreeRegressor(max_depth=1).fit(X, y).export_text()


def test_the_answer_is_the_law_of_the_leaf():
    X, y = few_values()
    model = q.TreeRegressor(min_samples_leaf=20).fit(X, y)
    leaf, dist = model.apply(X), model.predict_dist(X)
    for i in (0, 50, 199):
        mine = np.sort(y[leaf == leaf[i]])
        assert dist.mean[i] == pytest.approx(mine.mean())
        np.testing.assert_allclose(dist[i].cdf(mine), (np.arange(len(mine)) + 1) / len(mine))
    assert model.log_score(X, y) > q.TreeRegressor(max_depth=1).fit(X, y).log_score(X, y)


def test_pickles_and_copies_are_the_same_tree():
    X, y = few_values()
    model = q.TreeRegressor(categorical_features=[1]).fit(X, y)
    model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "nodes" not in again.tree_.__getstate__()
    assert not hasattr(clone(model), "tree_")


# in committees


@pytest.fixture
def prepared(monkeypatch):
    """How often a table was binned."""
    calls = []
    prepare = q.TreeClassifier().as_member().prepare.__func__

    def counted(self, X, sample_weight=None):
        if not isinstance(X, bins.Binned):
            calls.append(len(X))
        return prepare(self, X, sample_weight)

    monkeypatch.setattr("quorate.members.tree.Tree.prepare", counted)
    return calls


@pytest.mark.parametrize(
    "committee",
    [
        q.BaggingClassifier(q.TreeClassifier(max_depth=2), n_estimators=4, random_state=0),
        q.BaggingRegressor(q.TreeRegressor(max_depth=2), n_estimators=4, random_state=0),
        q.AdaBoostClassifier(q.TreeClassifier(max_depth=2), n_estimators=4, random_state=0),
        q.AdaBoostRegressor(q.TreeRegressor(max_depth=2), n_estimators=4, random_state=0),
        q.RandomForestRegressor(4, random_state=0),
        q.ExtraTreesRegressor(4, random_state=0),
        q.TreeRegressor(),
    ],
    ids=repr,
)
def test_a_committee_bins_once(committee, prepared):
    X, y = few_values(n_classes=3 if hasattr(committee, "predict_proba") else 0)
    committee.fit(X, y)
    assert prepared == [200]
    assert committee.score(X, y) > 0.3


def test_trees_with_parameters_of_their_own_stay_estimators():
    """Where columns must be known to tell what is meant, each member is fitted as an estimator."""
    X, y = few_values()
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert q.TreeRegressor(max_features=2).as_member() is None
    assert q.TreeClassifier(class_weight="balanced").as_member() is None
    bag = q.BaggingRegressor(q.TreeRegressor(categorical_features=[1]), n_estimators=2, random_state=0).fit(
        frame, y
    )
    assert bag.score(frame, y) > 0.5


def test_data_holds_one_table_for_trees_of_the_same_categories():
    X, y = few_values()
    data, member = Data(X, y), q.TreeRegressor().as_member()
    assert data.prepared(member) is data.prepared(q.TreeRegressor(max_depth=2).as_member())
