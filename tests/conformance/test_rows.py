"""What rows count for: whole weights repeat them, zero removes them, their order says nothing."""

import numpy as np
import pytest
from conformance.zoo import ESTIMATORS, close, data, fit, same, title, weighted
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

WEIGHTED = weighted(ESTIMATORS)


@pytest.fixture(params=WEIGHTED, ids=title)
def estimator(request):
    return request.param


def whole(n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


def test_a_whole_weight_is_so_many_rows(estimator):
    """Draws included: a row of weight w owns w slots, as its w copies would."""
    X, y = data(estimator)
    w = whole(len(y))
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    close(fit(estimator, X, y, w), fit(estimator, X[rows], y[rows]), X)


def test_weights_of_copies_add_up(estimator):
    X, y = data(estimator)
    w = whole(len(y)) + 1.0
    rows = np.concatenate([np.arange(len(y)), np.arange(0, len(y), 2)])
    copies = np.ones(len(rows))
    copies[: len(y)] = w
    together = w + (np.arange(len(y)) % 2 == 0)
    close(fit(estimator, X, y, together), fit(estimator, X[rows], y[rows], copies), X)


def test_a_row_of_no_weight_is_not_there(estimator):
    X, y = data(estimator)
    w = whole(len(y))
    there = w > 0
    same(fit(estimator, X, y, w), fit(estimator, X[there], y[there], w[there]), X)


@pytest.mark.parametrize("estimator", [e for e in WEIGHTED if is_classifier(e)], ids=title)
def test_a_class_of_no_weight_is_not_there(estimator):
    X, y = data(estimator)
    there = y != "birch"
    weighted, removed = fit(estimator, X, y, there.astype(float)), fit(estimator, X[there], y[there])
    np.testing.assert_array_equal(weighted.classes_, ["ash", "cedar"])
    same(weighted, removed, X)


def test_weights_of_one_say_nothing(estimator):
    X, y = data(estimator)
    close(fit(estimator, X, y, np.ones(len(y))), fit(estimator, X, y), X)


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**9])
def test_of_weights_that_count_nothing_only_ratios_matter(estimator, factor):
    X, y = data(estimator)
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    if _needs_whole_weights(estimator):
        with pytest.raises(
            ValueError, match=r"takes no sample_weight.*use whole numbers, or a member that takes"
        ):
            fit(estimator, X, y, w)
    else:
        same(fit(estimator, X, y, w), fit(estimator, X, y, factor * w), X)


def _needs_whole_weights(estimator):
    """Whether the innermost member takes no weights, and no bootstrap makes whole numbers of them."""
    if getattr(estimator, "bootstrap", False) is True or getattr(estimator, "how", "") == "resample":
        return False
    member = getattr(estimator, "estimator", None)
    inner = getattr(member, "estimator", None)
    return member is not None and (
        _needs_whole_weights(member) if inner else not has_fit_parameter(member, "sample_weight")
    )


def test_the_order_of_rows_says_nothing(estimator):
    X, y = data(estimator)
    w = whole(len(y)) + 1.0
    order = np.random.default_rng(3).permutation(len(y))
    close(fit(estimator, X, y, w), fit(estimator, X[order], y[order], w[order]), X)


def test_weights_of_rows_that_are_asked(estimator):
    X, y = data(estimator)
    model = fit(estimator, X, y)
    w = whole(len(y))
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    for ask in (model.score, model.log_score):
        np.testing.assert_allclose(ask(X, y, w), ask(X[rows], y[rows]), rtol=1e-10)
        np.testing.assert_allclose(ask(X, y, 0.3 * w), ask(X, y, w), rtol=1e-10)
