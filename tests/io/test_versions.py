"""Headers of earlier versions in present words."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from latens.io import versions
from latens.io.archive.writing import VERSION
from latens.io.versions import STEPS, Step, upgrade
from tests.io.fits import estimators_differ, fitted
from tests.io.golden_files import path_of
from tests.io.refusals.forging import Forgery


def header(fitted: Any = None, **changes: Any) -> dict[str, Any]:
    return {"version": 1, "estimator": "Old", "params": {"a": 1, "b": 2}, "fitted": fitted, **changes}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"record": name, "fields": fields}


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Step:
    step = Step(
        estimators={"Old": "New"},
        parameters={"Old": {"a": "first"}},
        attributes={"plain_": "_plain"},
        records={"Fitted": "EstimatorState", "Share": "PointBeta"},
        fields={"Fitted": {"kept": "attributes"}, "Share": {"mean": "point"}},
        dropped={"Sums": ("rest",)},
    )
    monkeypatch.setattr(versions, "STEPS", {1: step})
    return step


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert list(STEPS) == list(range(1, VERSION))


def test_names_are_those_of_the_next_version(step: Step) -> None:
    share = record("Share", mean={"array": 0})
    attributes = {"dict": {"plain_": True, "other_": {"tuple": [share, [share]]}}}
    old = header(record("Fitted", model=record("Model", usage=deepcopy(share)), kept=deepcopy(attributes)))
    assert upgrade(old, []) == set()
    new = record("PointBeta", point={"array": 0})
    assert (old["version"], old["estimator"], old["params"]) == (2, "New", {"first": 1, "b": 2})
    assert old["fitted"] == record(
        "EstimatorState",
        model=record("Model", usage=new),
        attributes={"dict": {"_plain": True, "other_": {"tuple": [new, [new]]}}},
    )


def test_arrays_of_what_is_left_out_are_told(step: Step) -> None:
    sums = record("Sums", n={"array": 4}, rest={"tuple": [{"array": 2}, [{"array": 3}]]})
    old = header(record("Fitted", state=sums))
    assert upgrade(old, []) == {2, 3}
    assert old["fitted"]["fields"]["state"] == record("Sums", n={"array": 4})


def test_names_that_a_user_gave_are_no_records(step: Step) -> None:
    views = {"dict": {"record": "Share", "fields": {"dict": {"mean": 1}}}}
    old = header(record("Fitted", kept={"dict": {"likelihoods_": views}}))
    upgrade(old, [])
    assert old["fitted"]["fields"]["attributes"]["dict"]["likelihoods_"] == views


@pytest.mark.parametrize("strange", [None, 3, "x", [], {}, {"record": 1, "fields": 2}, {"dict": 3}, {"tuple": {}}])
def test_what_is_no_header_stays_for_others_to_refuse(step: Step, strange: Any) -> None:
    old = header(deepcopy(strange), params=deepcopy(strange), estimator=deepcopy(strange))
    upgrade(old, [])
    assert old["fitted"] == strange


def test_no_depth_of_nesting_is_too_deep(step: Step) -> None:
    node: Any = {"array": 7}
    for _ in range(100_000):
        node = [node]
    assert upgrade(header(record("Sums", rest=node)), []) == {7}


def test_a_file_of_version_1_is_saved_as_one_of_this_version(tmp_path: Any) -> None:
    model = latens.load(path_of(1, "views-groups-holes-weighted"))
    path = latens.save(model, tmp_path / "new")
    assert Forgery(path).header["version"] == VERSION
    assert estimators_differ(model, latens.load(path)) is None


def test_a_file_that_claims_an_earlier_version_than_its_names_is_refused(tmp_path: Any) -> None:
    forgery = Forgery(latens.save(fitted(), tmp_path / "honest"))
    forgery.header["version"] = 1
    text = json.dumps(forgery.header).replace('"attributes"', '"strange"')
    forgery.text = text.encode()
    with pytest.raises(FileRefused, match="unknown field 'strange'"):
        latens.load(forgery.write(tmp_path / "forged"))


@pytest.mark.parametrize("version", [4, 5])
def test_variances_of_a_regression_with_few_rows_have_their_former_names(version: int, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    model = latens.BayesianLinearRegression(1.0, 2.0).fit(rng.normal(size=(4, 9)), rng.normal(size=4))
    path = latens.save(model, tmp_path / "honest")
    forgery = Forgery(path)
    forgery.header["version"] = version
    text = json.dumps(forgery.header)
    assert '"axis_variances"' in text
    forgery.text = text.replace('"axis_variances"', '"along"').replace('"other_variance"', '"elsewhere"').encode()
    assert estimators_differ(latens.load(forgery.write(tmp_path / "old")), latens.load(path)) is None
