"""Which fits are the same plan, in this process and in the next."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

import quorate as q
from quorate.estimators.plan import digest
from quorate.learn import Data

X = np.arange(12.0).reshape(6, 2)
DATA = Data(X, X[:, 0])
LONG = np.arange(5000.0)


def plan(estimator, data=DATA, seed=0):
    return digest(estimator, data, seed)


def raised(k):
    return lambda x: x**k


def changed(values, i):
    values = values.copy()
    values[i] += 1
    return values


SAME = [
    lambda: q.BaggingRegressor(),
    lambda: q.BaggingRegressor(GaussianProcessRegressor(alpha=LONG.copy())),
    lambda: q.BaggingRegressor(make_pipeline(FunctionTransformer(raised(2)), BayesianRidge())),
    lambda: q.BaggingRegressor(make_pipeline(FunctionTransformer(partial(np.power, 2.0)), BayesianRidge())),
    lambda: q.Probabilistic(cv=KFold(3, shuffle=True, random_state=1)),
    lambda: q.Probabilistic(cv=[(LONG.astype(int), LONG.astype(int))]),
    lambda: q.Probabilistic(FrozenEstimator(DecisionTreeRegressor(random_state=0).fit(X, X[:, 0]))),
    lambda: q.Probabilistic(FunctionTransformer(np.log1p).fit_transform),
]


@pytest.mark.parametrize("make", SAME)
def test_the_same_again(make):
    assert plan(make()) == plan(make())


def test_all_these_are_different():
    plans = [plan(make()) for make in SAME]
    plans += [
        plan(q.BaggingRegressor(GaussianProcessRegressor(alpha=changed(LONG, 2500)))),
        plan(q.BaggingRegressor(make_pipeline(FunctionTransformer(raised(3)), BayesianRidge()))),
        plan(q.BaggingRegressor(make_pipeline(FunctionTransformer(partial(np.power, 3.0)), BayesianRidge()))),
        plan(q.Probabilistic(cv=KFold(3, shuffle=True, random_state=2))),
        plan(q.Probabilistic(cv=[(changed(LONG, 2500).astype(int), LONG.astype(int))])),
        plan(q.Probabilistic(FrozenEstimator(DecisionTreeRegressor(random_state=0).fit(X, X[:, 1] ** 2)))),
        plan(q.Probabilistic(Ridge())),
        plan(q.Probabilistic(Ridge(1.5))),
        plan(q.BaggingRegressor(), seed=1),
        plan(q.BaggingRegressor(), Data(changed(X, 3), X[:, 0])),
        plan(q.BaggingRegressor(), Data(X, X[:, 0], weight=np.ones(6))),
        plan(q.BaggingRegressor(), Data(X, X[:, 0], groups=np.arange(6))),
        plan(q.BaggingRegressor(), Data(sparse.csr_array(X), X[:, 0])),
    ]
    assert len(set(plans)) == len(plans)


def test_where_it_runs_is_no_part_of_it():
    assert plan(q.BaggingRegressor(n_jobs=2, random_state=3)) == plan(q.BaggingRegressor())


def test_the_next_process_has_the_same():
    """Functions and objects lie at other addresses there, and strings hash anew."""
    code = (
        "import numpy as np\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import FunctionTransformer\n"
        "import quorate as q\n"
        "from quorate.estimators.plan import digest\n"
        "from quorate.learn import Data\n"
        "def f(x): return x + len({'ash', 'birch', 'cedar'})\n"
        "class Odd: pass\n"
        "steps = make_pipeline(FunctionTransformer(f, kw_args={'a': Odd(), 'b': lambda: {'x', 'y', 'z'}}))\n"
        "print(digest(q.Probabilistic(steps), Data(np.eye(3), np.arange(3.0)), 0))\n"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != "", runs[0].stderr


def test_what_cannot_be_told_is_refused():
    with pytest.raises(TypeError, match=r"a checkpoint cannot tell whether .* is the same"):
        plan(q.Probabilistic(FunctionTransformer(kw_args={"it": (i for i in range(3))})))
