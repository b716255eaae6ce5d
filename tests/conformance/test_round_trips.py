"""A model is the same after every journey, and wherever it was fitted."""

import copy
import pickle

import joblib
import pytest
from conformance.zoo import ESTIMATORS, ONE_OF_EACH, data, fit, same, title
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from store.doctor import Doctored

import quorate as q


@pytest.fixture(params=ESTIMATORS, ids=title)
def estimator(request):
    return request.param


def test_pickle_and_copies(estimator, tmp_path):
    X, y = data(estimator)
    model = fit(estimator, X, y)
    joblib.dump(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model")):
        same(model, other, X)


def test_the_same_plan_is_the_same_model(estimator):
    X, y = data(estimator)
    model = fit(estimator, X, y)
    same(model, fit(model, X, y), X)
    same(model, clone(estimator).fit(X, y).fit(X, y), X)


def test_another_seed_is_another_plan(estimator):
    X, y = data(estimator)
    model = fit(estimator, X, y)
    assert fit(estimator, X, y, random_state=None).predict(X).shape == model.predict(X).shape


def test_a_fit_leaves_parameters_as_they_were(estimator):
    X, y = data(estimator)
    model = clone(estimator)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


def test_save_and_load(estimator, tmp_path):
    X, y = data(estimator)
    model = fit(estimator, X, y)
    path = tmp_path / "model.quorate"
    q.save(model, path)
    loaded = q.load(path, trust="sklearn")
    same(model, loaded, X)
    assert repr(loaded.get_params()) == repr(model.get_params())
    same(model, fit(loaded, X, y), X)


def test_what_is_not_trusted_is_not_loaded(estimator, tmp_path):
    """What is made of quorate's own types alone needs no trust."""
    model = fit(estimator, *data(estimator))
    q.save(model, tmp_path / "model.quorate")
    if Doctored((tmp_path / "model.quorate").read_bytes()).third is None:
        same(model, q.load(tmp_path / "model.quorate"), data(estimator)[0])
        return
    with pytest.raises(q.ModelFormatError, match=r"sklearn\.\w+"):
        q.load(tmp_path / "model.quorate")


def test_an_unfitted_estimator_travels_too(estimator, tmp_path):
    q.save(estimator, tmp_path / "model.quorate")
    loaded = q.load(tmp_path / "model.quorate", trust="sklearn")
    X, y = data(estimator)
    same(fit(estimator, X, y), fit(loaded, X, y), X)
    with pytest.raises(NotFittedError):
        loaded.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_same_bits_for_any_number_of_jobs(estimator, n_jobs):
    X, y = data(estimator)
    here = fit(estimator, X, y)
    if "n_jobs" in here.get_params():
        same(here, fit(estimator, X, y, n_jobs=n_jobs), X)
    with q.run.on("threads", n_jobs=2):
        same(here, fit(estimator, X, y), X)


def test_the_same_bits_from_processes():
    """All classes in one test: the processes take longer to start than to fit them."""
    with q.run.on("processes", n_jobs=2):
        far = [fit(estimator, *data(estimator)) for estimator in ONE_OF_EACH]
    for estimator, model in zip(ONE_OF_EACH, far):
        X, y = data(estimator)
        same(fit(estimator, X, y), model, X)
