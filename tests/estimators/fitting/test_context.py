"""What a fit knows while it is under way is in its context: estimators are not written to for the time of a fit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.estimators.subjects import SUBJECTS

CLIMBING = [name for name, subject in SUBJECTS.items() if not subject.supervised]  # a regression calls nobody back


@pytest.mark.parametrize("name", CLIMBING)
@pytest.mark.parametrize("streaming", [False, True], ids=["fit", "partial_fit"])
def test_no_attribute_lives_only_as_long_as_a_fit(name: str, streaming: bool) -> None:
    subject, during = SUBJECTS[name], set[str]()
    model: Any = subject.make(max_time=60.0)
    model.callbacks = lambda event: during.update(vars(model))
    (subject.stream_to if streaming else subject.fit_to)(model, subject.rows())
    assert during
    assert during <= set(vars(model))
