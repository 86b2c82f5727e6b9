"""What files may name is fixed by the source tree, is complete, and says the shape of every array."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, make_dataclass
from types import ModuleType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import latens
from latens.array import Floats
from latens.array.fields import part, positive, record, sized
from latens.core import Underway
from latens.errors import FileRefused
from latens.estimators.binary_factors import E_STEPS
from latens.io.checkpoint import StoredEntry, StoredFit, StoredJournal
from latens.io.checks.multi_view_checks import sizes_of_views
from latens.io.checks.shape_checks import arrays_with_shapes, check_sizes, switches_of
from latens.io.estimator_state import EstimatorState
from latens.io.foreign_locals import ForeignLocal
from latens.io.registry import (
    collected,
    estimator_class,
    estimators,
    is_record,
    models_of,
    name_of,
    record_class,
    records,
)
from latens.models.binary_factors.posteriors import States, Switches
from latens.models.likelihoods.bernoulli import Categorical, Ordinal
from latens.models.likelihoods.measured import Measured
from latens.models.likelihoods.names import LIKELIHOODS
from latens.models.likelihoods.softplus_poisson import SoftplusPoisson
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.model import MultiView
from latens.models.noisy_ica.joint import ScaledSources
from latens.models.noisy_ica.posteriors import Sources
from latens.models.noisy_or.jensen import Attributions
from latens.models.noisy_or.model import ListedStates
from tests.io.golden_files import answers_of, path_of

# of models whose local step is not exact; those of the others are found again
LOCAL_POSTERIORS = {Switches, States, ListedStates, Attributions, JointCodes, SparseCodes, Sources, ScaledSources}


def records_declared(hint: Any) -> set[type]:
    """Every dataclass that a value of this type may hold, by the annotations of fields."""
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return {hint}.union(*(records_declared(hints[f.name]) for f in fields(hint)))
    return set[type]().union(*map(records_declared, get_args(hint)))


def test_the_records_are_what_the_models_can_reach_and_no_more() -> None:
    reached = records_declared(EstimatorState)
    for estimator in estimators().values():
        for model in [cls for cls in records().values() if issubclass(cls, models_of(estimator))]:
            reached |= records_declared(model)
            # a model that compresses its rows keeps their sum as its statistics; one that walks tells its own
            for method in {"prior", "statistics", "compress", "walk", "_nothing"}.intersection(dir(model)):
                reached |= records_declared(get_type_hints(getattr(model, method))["return"])
        for attribute in getattr(estimator, "file_attributes", ()):
            reached |= records_declared(get_type_hints(estimator)[attribute])
    reached |= {
        StoredJournal,
        StoredEntry,
        StoredFit,
        Underway,
        ForeignLocal,
        *LOCAL_POSTERIORS,
    }  # what checkpoints hold
    # views declare no more than what a likelihood must answer
    reached |= {Measured, SoftplusPoisson, Ordinal, *LIKELIHOODS.values()} | records_declared(Categorical)
    assert {cls.__name__ for cls in reached} == set(records())


def test_every_estimator_that_latens_offers_is_one_that_files_hold() -> None:
    offered = {name for name in latens.__all__ if hasattr(getattr(latens, name), "get_params")}
    assert set(estimators()) == offered
    assert all(name_of(estimator_class(name)) == name for name in offered)


def test_every_e_step_is_a_record() -> None:
    assert [name for name, e_step in E_STEPS.items() if name_of(type(e_step)) not in records()] == []


@pytest.mark.parametrize("name", records())
def test_every_record_is_a_frozen_dataclass_of_that_name(name: str) -> None:
    cls = record_class(name)
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert (cls.__name__, name_of(cls)) == (name, name)


def options(hint: Any) -> Iterator[Any]:
    """The types that a hint is made of."""
    yield hint if get_origin(hint) is None else get_origin(hint)
    for inner in get_args(hint) if get_origin(hint) is not np.ndarray else ():
        yield from options(inner)


@pytest.mark.parametrize("name", records())
def test_every_field_that_may_hold_an_array_says_its_shape(name: str) -> None:
    cls = record_class(name)
    hints = get_type_hints(cls)
    for f in fields(cls):
        kinds = set(options(hints[f.name]))
        if np.ndarray in kinds:
            assert "shape" in f.metadata, f.name
        open_ended = [kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind) and _is_open(kind)]
        if open_ended:
            assert "..." in f.metadata.get("within", {}), f.name


def _is_open(cls: type) -> bool:
    return any("..." in f.metadata.get("shape", "") for f in fields(cls))


# names beside those that a model or its data fix
FREE = {"profiles", "patterns", "rows", "squares", "base"}


@pytest.mark.parametrize("name", answers_of(1))
def test_every_array_of_a_fitted_model_has_the_shape_that_is_declared(name: str) -> None:
    state = EstimatorState.of(latens.load(path_of(1, name)))
    model, d = state.model, state.n_features_in
    found = [*arrays_with_shapes(model, "model"), *arrays_with_shapes(state.state, "state")]
    known = switches_of(model) | (sizes_of_views(model) if isinstance(model, MultiView) else {})
    known |= {"d": d, "k": state.state.q.n_components}
    assert len(found) > 3
    assert set(check_sizes(found, known)) - set(known) <= FREE


def test_a_class_that_was_imported_but_is_not_in_the_tree_is_no_record() -> None:
    @record
    class Gamma:
        __module__ = "latens.families.gamma"  # it may claim to be from anywhere
        shape: float

    @record
    class Stranger:
        value: float

    module = ModuleType("latens.families.stranger")
    module.Stranger = Stranger  # type: ignore[attr-defined]
    Stranger.__module__ = module.__name__
    sys.modules[module.__name__] = module
    try:
        assert name_of(Gamma) is None
        assert name_of(Stranger) is None
        with pytest.raises(FileRefused, match="names the class 'Stranger', which this version does not know"):
            record_class("Stranger")
    finally:
        del sys.modules[module.__name__]


def test_a_derived_class_is_no_record_by_inheritance() -> None:
    from latens.families.gamma import Gamma

    assert not is_record(make_dataclass("Gamma", [], bases=(Gamma,), frozen=True))


def test_two_classes_of_one_name_are_refused() -> None:
    modules = []
    for name in ("one", "other"):
        module = ModuleType(name)
        module.Same = record(type("Same", (), {"__module__": name}))  # type: ignore[attr-defined]
        modules.append(module)
    assert list(collected(modules[:1], is_record)) == ["Same"]
    with pytest.raises(TypeError, match="have one name in files; give one of them another"):
        collected(modules, is_record)


def test_a_class_is_storable_by_being_written() -> None:
    module = ModuleType("latens.models.new")

    @record
    class Rates:
        mean: Floats = positive("k d")

    @record
    class NewModel:
        rates: Rates = part(k="1")
        known: Floats | None = sized("d", default=None)

    class NewEstimator:
        def _build(self, sample: Any) -> NewModel:
            raise NotImplementedError

    NewEstimator._build.__annotations__["return"] = NewModel
    for cls in (Rates, NewModel, NewEstimator):
        cls.__module__ = module.__name__
        setattr(module, cls.__name__, cls)
    assert list(collected([module], is_record)) == ["NewModel", "Rates"]
    assert list(collected([module], models_of)) == ["NewEstimator"]
    made = NewModel(Rates(np.ones((1, 3))), np.ones(3))
    assert [found.shape for found in arrays_with_shapes(made, "model")] == ["1 d", "d"]


def test_a_file_opens_where_nothing_was_imported_before() -> None:
    path = path_of(1, "views-gaussian-fitted")
    code = f"import latens; print(latens.load({str(path)!r}).n_components_)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(answer.stdout) == latens.load(path).n_components_


def test_a_union_of_models_is_told_whole() -> None:
    found = {cls.__name__ for cls in models_of(latens.NoisyOr)}
    assert get_origin(get_type_hints(latens.NoisyOr._build)["return"]) in (Union, UnionType)
    assert len(found) == 2
