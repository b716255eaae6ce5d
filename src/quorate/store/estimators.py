"""Entries for estimators: parameters, checked by the estimator's own constraints, and fitted attributes.

estimator(Probabilistic, member_=a(Residuals, Calibrated), agree=_probabilistic)
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from quorate.committee import Ambiguity, Committee
from quorate.estimators import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BoostedClassifier,
    BoostedRegressor,
    DistributionalRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    FilteringClassifier,
    Probabilistic,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeClassifier,
    TreeRegressor,
)
from quorate.learn.boost import Course
from quorate.learn.crossfit import Calibrated, Residuals
from quorate.learn.filter import Recursion
from quorate.learn.loop import Job, Seat
from quorate.learn.resample import All, BayesianBootstrap, Bootstrap, ResampleState, Subsample
from quorate.members import Softened
from quorate.members.boosted import Boosted
from quorate.members.tree import FittedTree
from quorate.store.checks import (
    MAX_FEATURES,
    MAX_SEED,
    a,
    anything,
    array,
    each,
    each_named,
    either,
    flag,
    labels,
    names,
    number,
    require,
    text,
    whole,
)
from quorate.store.committees import said_by, takes
from quorate.store.registry import check_fields, put
from quorate.store.trees import named
from quorate.vote import Fixed, Powers

# What a fit leaves behind that is not the model: who watched it, and how callbacks and metadata are routed.
OF_THE_FIT = {"_skl_callbacks", "_metadata_request", "_sklearn_output_config", "_parent_callback_ctx"}

NOBODY: Any = None  # in the place of data and unfitted members, which are not kept

_receipt = either(a(Ambiguity), number(finite=False), array("f", 1, finite=False))


def estimator(cls, *, agree=anything, may=None, dropped=(), read=dict, make=dict, refuse=anything, **fitted):
    """Enter an estimator by its fitted attributes; `read` and `make` change those that are kept in another form.

    An attribute that is in none of these lists is an error when a model is saved: better than a model that comes back
    without it. `dropped` are left out of the file. `refuse` raises a TypeError for a model that cannot be saved.
    """
    fitted = {
        "n_features_in_": whole(1, MAX_FEATURES),
        "interrupted_": flag,
        "receipts_": each_named(_receipt),
    } | fitted
    may = {"feature_names_in_": names} | (may or {})
    left_out = OF_THE_FIT | set(dropped)

    def fields(model):
        refuse(model)
        params = model.get_params(deep=False)
        state = {name: v for name, v in vars(model).items() if name not in params and name not in left_out}
        state = read(state)
        unknown = state.keys() - fitted.keys() - may.keys()
        if unknown:
            raise TypeError(f"quorate.store does not know the attributes {sorted(unknown)} of {cls.__name__}")
        return {"params": params, "fitted": state or None}

    def build(found):
        params, state = found["params"], found["fitted"] or {}
        require(type(params) is dict and type(state) is dict, "parameters and attributes should have names")
        known = set(cls._get_param_names())
        require(params.keys() == known, f"{cls.__name__} has other parameters than {sorted(params)}")
        model = cls(**params)
        model._validate_params()
        if state:
            check_fields(cls.__name__, state, fitted, may)
            vars(model).update(make(state))
            _common(model)
            agree(model)
        return model

    put(cls, params=anything, fitted=anything, read=fields, make=build)


def _common(model):
    given = getattr(model, "feature_names_in_", None)
    if given is not None:
        good = len(given) == model.n_features_in_ and len(set(given)) == len(given)
        require(good, f"there should be {model.n_features_in_} different names of columns")


# Bagging: the jobs of its seats are kept by their key and how they drew rows, which is all that a warm start needs.


def _without_state(state):
    jobs = [seat.job for seat in state["_state"].seats] if "_state" in state else None
    kept = {name: value for name, value in state.items() if name != "_state"}
    return kept if jobs is None else {**kept, "_drawn": [(job.key, job.weights) for job in jobs]}


def _with_state(state):
    drawn, members = state.pop("_drawn"), state["committee_"].members
    require(len(drawn) == len(members), f"there are {len(drawn)} jobs for {len(members)} members")
    seats = (Seat(Job(key, NOBODY, draw), member) for (key, draw), member in zip(drawn, members, strict=True))
    return {**state, "_state": ResampleState(NOBODY, tuple(seats))}


def _drawn(value):
    each(each(anything), kind=list)(value)
    for pair in value:
        require(len(pair) == 2, "should be keys and draws")
        each(whole(0), least=1)(pair[0])
        a(All, Bootstrap, Subsample, BayesianBootstrap)(pair[1])
    keys = [key for key, _ in value]
    require(keys == sorted(set(keys)), "should be in the order of their keys, none of them twice")


def _of_committee(model):
    committee = model.committee_
    takes(committee, model.n_features_in_, "committee_")
    if is_classifier(model):
        same = committee.classes is not None and committee.classes.dtype == model.classes_.dtype
        require(
            same and np.array_equal(committee.classes, model.classes_), "classes_ should be the committee's"
        )
    else:
        require(committee.classes is None, "the committee of a regressor has no classes")


def _bagging(cls, agree, **more):
    estimator(
        cls,
        committee_=a(Committee),
        _seed=whole(0, MAX_SEED),
        _learned=text(),
        _drawn=_drawn,
        **more,
        may={"oob_rows_": array("i", 1, low=0), "oob_score_": number(finite=False)},
        dropped=["oob_dist_"],  # as large as the table, once for each member
        read=_without_state,
        make=_with_state,
        agree=agree,
    )


_bagging(BaggingClassifier, _of_committee, classes_=labels)
_bagging(BaggingRegressor, _of_committee)


# Trees and forests


def _one_tree(model):
    takes(model.tree_, model.n_features_in_, "tree_")
    codes, known = said_by(model.tree_), len(getattr(model, "classes_", ()))
    require((0 if codes is None else len(codes)) == known, "the tree speaks of other classes")
    named(model, model.tree_)


def _forest(model):
    _of_committee(model)
    committee = model.committee_
    trees = all(isinstance(member, FittedTree) for member in committee.members)
    require(trees and isinstance(committee.vote, Fixed), "a forest should be trees with fixed votes")
    require(committee.rule == "mixture", "a forest is a mixture")
    numbers = committee.members[0].samples is not None
    require(numbers == (not is_classifier(model)), "the trees should know what the forest is asked for")
    named(model, committee.members[0])


_levels = each_named(names)
estimator(TreeClassifier, tree_=a(FittedTree), classes_=labels, _levels=_levels, agree=_one_tree)
estimator(TreeRegressor, tree_=a(FittedTree), _levels=_levels, agree=_one_tree)
_bagging(RandomForestClassifier, _forest, classes_=labels, _levels=_levels)
_bagging(ExtraTreesClassifier, _forest, classes_=labels, _levels=_levels)
_bagging(RandomForestRegressor, _forest, _levels=_levels)
_bagging(ExtraTreesRegressor, _forest, _levels=_levels)


# Boosting


def _boosted(model):
    member = model.member_
    takes(member, model.n_features_in_, "member_")
    codes, known = said_by(member), len(getattr(model, "classes_", ()))
    require(member.voice is not None, "the model says nothing")
    require((0 if codes is None else len(codes)) == known, "the model speaks of other classes")
    require(member.n_rounds == model.n_estimators_, "there should be as many rounds as n_estimators_")
    named(model, member)
    for course in getattr(model, "_courses", ()):
        takes(course.model, model.n_features_in_, "a course")
        require(len(course.model.start) == len(member.start), "a course has other scores than the model")


def _of_rounds(cls, **more):
    estimator(
        cls,
        member_=a(Boosted),
        n_estimators_=whole(0, 1 << 31),
        _seed=whole(0, MAX_SEED),
        _levels=_levels,
        **more,
        may={"_courses": each(a(Course), least=1)},
        agree=_boosted,
    )


_of_rounds(BoostedClassifier, classes_=labels)
_of_rounds(BoostedRegressor)
_of_rounds(DistributionalRegressor)


# Boosting by filtering


def _filtering(model):
    _of_committee(model)
    committee = model.committee_
    good = len(committee.members) == 2 and isinstance(committee.members[0], Committee)
    require(good, "there should be a committee of experts, and one that doubts it")


estimator(
    FilteringClassifier,
    committee_=a(Committee),
    classes_=labels,
    receipts_=each_named(a(Recursion)),
    consumed_=each_named(each(whole(0), least=2)),
    ended_=each_named(text()),
    agree=_filtering,
)


# AdaBoost


def _adaboost(model):
    _of_committee(model)
    n = len(model.committee_.members)
    good = model.estimator_weights_.shape == model.estimator_errors_.shape == (n,)
    require(good, f"there should be a weight and an error for each of {n} members")
    rounds = [receipt for receipt in model.receipts_.values() if isinstance(receipt, np.ndarray)]
    require(all(len(receipt) == n for receipt in rounds), f"there should be {n} rounds")


def _adaboost_classifier(model):
    _adaboost(model)
    committee = model.committee_
    powers = committee.rule == "log" and isinstance(committee.vote, Powers)
    require(powers, "AdaBoost's committee should be a log pool")
    for member, alpha in zip(committee.members, model.estimator_weights_, strict=True):
        same = isinstance(member, Softened) and member.n_classes == len(model.classes_)
        require(same and member.alpha == alpha, "members should weigh what estimator_weights_ say")


def _rule_of_ones_own(model):
    if getattr(model, "rule", None) is not None:
        raise TypeError(
            "functions cannot be saved, and rule= holds two; what was fitted does not need them: save it after "
            "set_params(rule=None)"
        )


_rounds = {"estimator_weights_": array("f", 1, least=1), "estimator_errors_": array("f", 1, least=1, low=0)}
estimator(
    AdaBoostClassifier,
    committee_=a(Committee),
    classes_=labels,
    temperature_=number(0),
    **_rounds,
    refuse=_rule_of_ones_own,
    agree=_adaboost_classifier,
)
estimator(AdaBoostRegressor, committee_=a(Committee), **_rounds, agree=_adaboost)


# Probabilistic


def _probabilistic(model):
    takes(model.member_, model.n_features_in_, "member_")
    classifies = isinstance(model.member_, Calibrated)
    require(
        is_classifier(model) == classifies == hasattr(model, "classes_"), "a calibration should have classes"
    )
    if classifies:
        require(
            len(model.classes_) == model.member_.n_classes, "classes_ should be as many as are calibrated"
        )


estimator(Probabilistic, member_=a(Residuals, Calibrated), may={"classes_": labels}, agree=_probabilistic)
