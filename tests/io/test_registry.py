"""The table of classes is complete, and holds nothing that a file does not need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest

from latens.estimators.binary_factors import E_STEPS
from latens.estimators.multi_view.starts import LIKELIHOODS
from latens.io.checks.shape_checks import SHAPES
from latens.io.checks.value_checks import arrays_in
from latens.io.estimator_state import Fitted
from latens.io.registry import ESTIMATORS, RECORDS, estimator_class, name_of, record_class
from latens.models.likelihoods.measured import Measured
from tests.io.fits import SETTINGS, fitted


def records_in(value: Any) -> Iterator[type]:
    if is_dataclass(value):
        yield type(value)
        for f in fields(value):
            yield from records_in(getattr(value, f.name))
    elif isinstance(value, dict | list | tuple):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from records_in(entry)


def records_declared(hint: Any) -> set[type]:
    """Every dataclass that a value of this type may hold, by the annotations of fields."""
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return {hint}.union(*(records_declared(hints[f.name]) for f in fields(hint)))
    return set[type]().union(*map(records_declared, get_args(hint)))


@pytest.mark.parametrize("name", SETTINGS)
def test_every_record_of_a_fitted_model_is_in_the_table(name: str) -> None:
    found = set(records_in(Fitted.of(fitted(name))))
    assert len(found) > 5
    assert [cls.__name__ for cls in found if name_of(cls) not in RECORDS] == []


def test_the_table_is_what_the_models_can_reach_and_no_more() -> None:
    reached = records_declared(Fitted)
    for name, row in ESTIMATORS.items():
        for model in map(record_class, row.models):
            reached |= records_declared(model)
            # a model that compresses its rows keeps their sum as its statistics; one that walks tells its own
            for method in {"prior", "statistics", "compress", "walk"}.intersection(dir(model)):
                reached |= records_declared(get_type_hints(getattr(model, method))["return"])
        estimator = estimator_class(name)
        for kept in getattr(estimator, "kept", ()):
            reached |= records_declared(get_type_hints(estimator)[kept])
    reached |= {Measured, *map(type, LIKELIHOODS.values())}  # views declare no more than what a likelihood must answer
    assert {cls.__name__ for cls in reached} == set(RECORDS)


def test_every_e_step_is_in_the_table() -> None:
    assert [name for name, e_step in E_STEPS.items() if name_of(type(e_step)) not in RECORDS] == []


@pytest.mark.parametrize("name", RECORDS)
def test_every_row_leads_to_a_frozen_dataclass_of_that_name(name: str) -> None:
    cls = record_class(name)
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert (cls.__name__, name_of(cls)) == (name, name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_leads_to_its_class_and_its_models_have_shapes(name: str) -> None:
    assert name_of(estimator_class(name)) == name
    assert set(ESTIMATORS[name].models) <= set(SHAPES)


def test_every_array_of_a_state_has_a_declared_shape_and_every_declared_shape_an_array() -> None:
    found: dict[str, set[str]] = {}
    for model in map(fitted, SETTINGS):
        found.setdefault(type(model.model_).__name__, set()).update(arrays_in(model.state_, "state"))
    found.pop("MultiView")  # whose views have names of their own, and checks
    assert {name: paths - set(SHAPES[name]) for name, paths in found.items() if paths - set(SHAPES[name])} == {}
    assert found["BinaryFactors"] == set(SHAPES["BinaryFactors"])
