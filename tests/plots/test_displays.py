"""Pictures: what is drawn equals the numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance

import quorate as q
from quorate.members.families import FAMILIES
from quorate.plots import (
    BandsDisplay,
    ContributionsDisplay,
    ImportanceDisplay,
    LearningDisplay,
    RoundsDisplay,
    TreeDisplay,
)

LOSSES = ("squared_error", "absolute_error", "huber", "poisson", "gamma")
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
FRAME = load_diabetes(as_frame=True).data


@pytest.fixture(autouse=True)
def _closed():
    """Each test begins and ends with no picture open."""
    plt.close("all")
    yield
    plt.close("all")


def halves(X, y):
    """The training rows, and the others."""
    return (X[::2], y[::2]), (X[1::2], y[1::2])


def stopped(model, data):
    """(the model, stopped early by the other rows, those)."""
    train, other = halves(*data)
    model.set_params(n_estimators=40, early_stopping=True, random_state=0)
    return model.fit(*train, X_val=other[0], y_val=other[1]), train, other


# learning curves

BOOSTED = {
    "two classes": (q.BoostedClassifier(), load_breast_cancer(return_X_y=True)),
    "three classes": (q.BoostedClassifier(), IRIS),
    "quantiles": (q.BoostedRegressor("quantile", quantile=[0.5]), DIABETES),
    **{loss: (q.BoostedRegressor(loss), DIABETES) for loss in LOSSES},
    **{
        f"{family}, {loss}": (q.DistributionalRegressor(family, loss=loss), DIABETES)
        for family in sorted(FAMILIES)
        for loss in ("log", "crps")
    },
}


@pytest.mark.parametrize("name", BOOSTED)
def test_given_rows_and_rows_that_judge_are_measured_alike(name):
    model, _, other = stopped(*BOOSTED[name])
    display = LearningDisplay.from_estimator(model, *other)
    told, judged = (display.lines_[name].get_ydata() for name in ("other rows", "rows that judge"))
    assert len(told) == display.best_ == model.n_estimators_
    assert len(judged) == len(model.receipts_["validation_loss"])
    np.testing.assert_allclose(told, judged[: len(told)], rtol=1e-9)
    assert judged.min() == judged[display.best_ - 1]


@pytest.mark.parametrize(
    "name", ["two classes", "three classes", "normal, log", "gamma, log", "poisson, log"]
)
def test_a_curve_ends_at_the_log_score(name):
    model, train, other = stopped(*BOOSTED[name])
    display = LearningDisplay.from_estimator(model, *other, X_train=train[0], y_train=train[1])
    for said, rows in (("other rows", other), ("training rows", train)):
        assert display.lines_[said].get_ydata()[-1] == pytest.approx(-model.log_score(*rows))


def test_a_curve_of_numbers():
    model, _, (X, y) = stopped(*BOOSTED["squared_error"])
    display = LearningDisplay.from_estimator(model, X, y)
    curve = [np.mean((said - y) ** 2) for said in model.staged_predict(X)]
    np.testing.assert_allclose(display.lines_["other rows"].get_ydata(), curve)
    assert display.ax_.get_ylabel() == "squared error"


def test_no_best_round_without_early_stopping():
    X, y = IRIS
    model = q.BoostedClassifier(n_estimators=5).fit(X, y)
    display = LearningDisplay.from_estimator(model, X, y)
    assert display.best_ is None
    assert list(display.lines_) == ["other rows"]
    with pytest.raises(ValueError, match="no loss to draw"):
        LearningDisplay.from_estimator(model)


def test_answers_that_can_not_be_measured():
    X, y = IRIS
    model = q.BoostedClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="class 7, which the model does not know"):
        LearningDisplay.from_estimator(model, X, np.full(len(y), 7))
    model = q.DistributionalRegressor("gamma", n_estimators=2).fit(X, y + 1)
    with pytest.raises(ValueError, match="law of positive numbers"):
        LearningDisplay.from_estimator(model, X, y)


# importances


@pytest.mark.parametrize("model", [q.BoostedClassifier(10), q.RandomForestClassifier(10, random_state=0)])
def test_importances(model):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model.fit(X, y)
    display = ImportanceDisplay.from_estimator(model, n=3)
    shares = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert len(display.bars_) == 3
    assert display.lost_ax_ is None
    assert list(display.bars_) == sorted(shares, key=shares.get, reverse=True)[:3]
    assert all(bar.get_width() == shares[name] for name, bar in display.bars_.items())
    heights = [display.ax_.transData.transform((0, bar.get_y()))[1] for bar in display.bars_.values()]
    assert heights == sorted(heights, reverse=True)


def test_importances_beside_what_a_shuffle_loses():
    (X, y), (X_other, y_other) = halves(*DIABETES)
    model = q.BoostedRegressor(n_estimators=10, residual_folds=0).fit(X, y)
    display = ImportanceDisplay.from_estimator(model, X_other, y_other, n_repeats=2, random_state=3)
    lost = permutation_importance(model, X_other, y_other, n_repeats=2, random_state=3).importances_mean
    assert list(display.lost_) == list(display.bars_)
    for name, bar in display.lost_.items():
        assert bar.get_width() == lost[int(name.strip("x[]"))]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(display.bars_)
    with pytest.raises(ValueError, match="ax must be 2"):
        ImportanceDisplay.from_estimator(model, X_other, y_other, ax=plt.gca())


# bands


def edges(band):
    """{place along x: (lowest, highest)} of what is drawn of an interval."""
    vertices = np.concatenate([path.vertices for path in band.get_paths()])
    return {
        x: (vertices[vertices[:, 0] == x, 1].min(), vertices[vertices[:, 0] == x, 1].max())
        for x in np.unique(vertices[:, 0])
    }


@pytest.mark.parametrize(
    "model",
    [
        q.DistributionalRegressor(n_estimators=10),
        q.BoostedRegressor(n_estimators=10),
        q.RandomForestRegressor(10, random_state=0),
        q.BaggingRegressor(random_state=0, n_estimators=3),
    ],
)
def test_bands(model):
    (X, y), (X_other, y_other) = halves(*DIABETES)
    model.fit(X, y)
    along = np.random.default_rng(0).permutation(len(y_other)).astype(float)
    display = BandsDisplay.from_estimator(model, X_other, y_other, over=along)
    quantiles = model.predict_quantile(X_other, [0.05, 0.25, 0.5, 0.75, 0.95])[np.argsort(along)]
    for level, low, high in ((0.5, 1, 3), (0.9, 0, 4)):
        drawn = np.array(list(edges(display.bands_[level]).values()))
        np.testing.assert_array_equal(drawn, quantiles[:, [low, high]])
    np.testing.assert_array_equal(display.median_.get_ydata(), quantiles[:, 2])
    np.testing.assert_array_equal(
        display.points_.get_offsets(), np.stack([np.sort(along), y_other[np.argsort(along)]], axis=1)
    )


def test_rows_at_the_same_place_have_a_line_each():
    X, y = DIABETES
    model = q.DistributionalRegressor(n_estimators=5).fit(X, y)
    display = BandsDisplay.from_estimator(model, X, over=1, levels=(0.8,))  # a column of two values
    low, high = model.predict_interval(X, 0.8).T
    segments = np.array(display.bands_[0.8].get_segments())
    order = np.argsort(X[:, 1], kind="stable")
    np.testing.assert_array_equal(
        segments, np.stack([np.c_[X[:, 1], low], np.c_[X[:, 1], high]], axis=1)[order]
    )
    assert display.points_ is None


def test_rows_in_the_order_of_their_medians():
    X, y = DIABETES
    model = q.DistributionalRegressor(n_estimators=5).fit(X, y)
    display = BandsDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.median_.get_ydata(), np.sort(model.predict_quantile(X, 0.5)))


@pytest.mark.parametrize("table", [pd.DataFrame, lambda X: pl.from_pandas(X)])
def test_columns_have_names(table):
    X, y = table(FRAME), DIABETES[1]
    model = q.DistributionalRegressor(n_estimators=5).fit(X, y)
    for over in ("bmi", 2):
        display = BandsDisplay.from_estimator(model, X, y, over=over)
        assert display.ax_.get_xlabel() == "bmi"
        np.testing.assert_array_equal(display.points_.get_offsets()[:, 0], np.sort(FRAME["bmi"]))
    bars = ContributionsDisplay.from_estimator(model, X, row=-1).bars_
    assert f"bmi = {FRAME['bmi'].iloc[-1]:.4g}".replace("-", "−") in bars


def test_over_what():
    X, y = DIABETES
    model = q.DistributionalRegressor(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="over='bmi' is a name"):
        BandsDisplay.from_estimator(model, X, over="bmi")
    with pytest.raises(ValueError, match="give a number for each of 442 rows"):
        BandsDisplay.from_estimator(model, X, over=np.zeros(3))


# contributions


def way(display):
    """The bars' ends, each beginning where the one before ends; they begin at what is expected."""
    starts = np.array([bar.get_x() for bar in display.bars_.values()])
    ends = starts + [bar.get_width() for bar in display.bars_.values()]
    np.testing.assert_allclose(starts, [display.expected_, *ends[:-1]])
    return ends


@pytest.mark.parametrize("n", [3, 50])
def test_the_way_ends_at_the_score(n):
    X, y = load_breast_cancer(return_X_y=True)
    model = q.BoostedClassifier(10).fit(X, y)
    display = ContributionsDisplay.from_estimator(model, X, row=5, n=n)
    told = model.contributions(X[[5]])[0]
    widths = np.array([bar.get_width() for bar in display.bars_.values()])
    np.testing.assert_allclose(np.abs(widths[:n]), np.sort(np.abs(told[:-1]))[::-1][:n], atol=1e-12)
    assert ("others" in display.bars_) == (n == 3)
    assert way(display)[-1] == pytest.approx(display.score_) == model.decision_function(X[[5]])[0]
    assert display.expected_ == told[-1]


def test_of_several_classes_that_of_the_highest():
    X, y = IRIS
    model = q.BoostedClassifier(10).fit(X, y)
    scores = model.decision_function(X[[60]])[0]
    for output in (None, 0, 1, 2):
        display = ContributionsDisplay.from_estimator(model, X, row=60, output=output)
        k = int(np.argmax(scores)) if output is None else output
        assert way(display)[-1] == pytest.approx(scores[k])
        assert display.ax_.get_xlabel() == f"log weight of {k}"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_parameter_has_a_name(family):
    X, y = DIABETES
    model = q.DistributionalRegressor(family, n_estimators=3).fit(X, y)
    scores = model.member_.scores(X[:1])[0]
    names = set()
    for output, score in enumerate(scores):
        display = ContributionsDisplay.from_estimator(model, X, output=output)
        names.add(display.ax_.get_xlabel())
        assert way(display)[-1] == pytest.approx(score)
    assert len(names) == len(scores)


@pytest.mark.parametrize(
    ("loss", "said"),
    [("squared_error", "y"), ("poisson", "log of the mean of y"), ("quantile", "quantile 0.5 of y")],
)
def test_what_numbers_say(loss, said):
    X, y = DIABETES
    model = q.BoostedRegressor(loss, n_estimators=3, quantile=[0.5, 0.9], residual_folds=0).fit(X, y)
    assert ContributionsDisplay.from_estimator(model, X).ax_.get_xlabel() == said


def test_a_row_of_a_table_with_categories():
    X = pd.DataFrame({"town": pd.Categorical(list("abcab") * 20), "size": np.arange(100.0)})
    X.loc[0, "size"] = np.nan
    model = q.BoostedRegressor(n_estimators=5, categorical_features="from_dtype").fit(X, np.arange(100.0) % 5)
    display = ContributionsDisplay.from_estimator(model, X)
    assert set(display.bars_) == {"town = a", "size = nan"}
    with pytest.raises(IndexError):
        ContributionsDisplay.from_estimator(model, X, row=100)


# AdaBoost and trees


def test_rounds():
    train, other = halves(*load_breast_cancer(return_X_y=True))
    model = q.AdaBoostClassifier(n_estimators=5, random_state=0).fit(*train)
    display = RoundsDisplay.from_estimator(model, *other)
    np.testing.assert_array_equal(display.lines_["bound"].get_ydata(), model.receipts_["bound"])
    assert display.lines_["other rows"].get_ydata()[-1] == pytest.approx(1 - model.score(*other))


def test_tree():
    X, y = IRIS
    tree = q.TreeClassifier(max_depth=2).fit(X, y)
    display = TreeDisplay.from_estimator(tree)
    texts = [text.get_text().replace("\n", " ") for text in display.ax_.texts]
    root = tree.export_text().splitlines()[0].removeprefix("|--- ")
    assert f"{root}?" in texts


@pytest.mark.parametrize("display", [LearningDisplay, ImportanceDisplay, BandsDisplay, ContributionsDisplay])
def test_draws_where_it_is_told(display):
    X, y = DIABETES
    model = q.DistributionalRegressor(n_estimators=3).fit(X, y)
    _, ax = plt.subplots()
    more = {} if display is ImportanceDisplay else {"X": X}
    more |= {"y": y} if display is LearningDisplay else {}
    assert display.from_estimator(model, **more, ax=ax).ax_ is ax
    assert plt.get_fignums() == [1]
