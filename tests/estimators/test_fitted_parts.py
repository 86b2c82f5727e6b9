"""One accessor reads what a fitted estimator stands on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from latens.estimators.fitted_parts import fitted_parts
from tests.estimators.subjects import SUBJECTS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "latens"
INNER = ("_model", "_frame", "_state", "_question", "_waiting", "_plain")
READ = re.compile(rf"\b(?:model|estimator|self\.model)\.(?:{'|'.join(INNER)})\b")


def test_layers_above_the_estimators_read_their_parts_through_the_accessor() -> None:
    readers = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "estimators" and READ.search(path.read_text())
    ]
    assert readers == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_estimator_has_a_model_a_frame_and_a_state(name: str) -> None:
    subject = SUBJECTS[name]
    model = subject.fit(subject.rows())
    parts = fitted_parts(model)
    assert parts.state.stats.n == len(subject.rows())
    assert parts.units.origin.shape == (model.n_features_in_,)
    assert parts.model.prior(2).n_components >= 1
    assert parts.waiting is None
    public = {f"{inner.removeprefix('_')}_" for inner in INNER}
    assert public.isdisjoint(vars(model))  # none of them is a promise
