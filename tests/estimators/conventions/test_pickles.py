"""A pickle of an estimator holds what it learnt, and nothing that was computed from that on the way."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from latens.array.fields import real, record
from tests.contract.variants import VARIANTS, Variant

# one of each estimator, and of each kind of model that keeps what it computes
KINDS = [
    "binary-ard-exact",
    "noisy-or-ard-truncated-2",
    "noisy-or-ard-jensen",
    "mixture-full-process",
    "mixture-bernoulli-dirichlet",
    "ica-mixed-intercept",
    "factors-ard",
    "factors-many-patterns",
    "views-long-groups",
    "regression-gamma",
]


def from_fields(value: Any) -> Any:
    """The same, every dataclass made anew from its fields alone."""
    if is_dataclass(value) and not isinstance(value, type):
        made = object.__new__(type(value))
        vars(made).update({f.name: from_fields(getattr(value, f.name)) for f in fields(value)})
        return made
    if isinstance(value, dict):
        return {key: from_fields(entry) for key, entry in value.items()}
    return type(value)(map(from_fields, value)) if type(value) in (list, tuple) else value


def used(variant: Variant) -> Any:
    """A fitted model that has answered questions, which is when most is computed and kept."""
    model, call = variant.make(), variant.batch(0)
    call.fit(model)
    call.codes(model)
    call.score(model)
    return model


@pytest.mark.parametrize("name", KINDS)
def test_a_pickle_is_hardly_larger_than_the_fields(name: str) -> None:
    model = used(VARIANTS[name])
    plain = from_fields(vars(model))
    assert len(pickle.dumps(model)) <= 1.2 * len(pickle.dumps(plain))


@pytest.mark.parametrize("name", KINDS)
def test_a_model_comes_back_from_a_pickle_with_its_answers_and_goes_on(name: str) -> None:
    variant = VARIANTS[name]
    model, call = used(variant), variant.batch(0)
    again, copy = pickle.loads(pickle.dumps(model)), deepcopy(model)
    for other in (again, copy):
        assert np.array_equal(call.codes(other), call.codes(model))
        variant.batch(1).partial_fit(other)
    variant.batch(1).partial_fit(model)
    assert again.elbo_ == copy.elbo_ == model.elbo_


def test_what_a_record_computed_stays_behind() -> None:
    @record
    class Numbers:
        values: Any = real("n")

    globals()["Numbers"] = Numbers  # where pickle looks
    Numbers.__qualname__ = "Numbers"
    try:
        numbers = Numbers(np.arange(3.0))
        vars(numbers)["total"] = 3.0
        again = pickle.loads(pickle.dumps(numbers))
    finally:
        del globals()["Numbers"]
    assert vars(again).keys() == {"values"}
    assert np.array_equal(again.values, numbers.values)
    assert vars(numbers)["total"] == 3.0
