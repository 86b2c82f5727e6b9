"""Every estimator fits, saves, loads and reports: run on the oldest and the newest packages by .ci/versions.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import latens
from tests.estimators.subjects import SUBJECTS


def test_every_public_estimator_is_among_the_subjects() -> None:
    public = {name for name in latens.__all__ if hasattr(getattr(latens, name), "fit")}
    assert public == set(SUBJECTS)


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_estimator_fits_saves_loads_and_reports(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]
    X = subject.rows()
    model = subject.fit(X)
    latens.save(model, tmp_path / "model.latens")
    loaded = latens.load(tmp_path / "model.latens")
    np.testing.assert_array_equal(subject.answer(loaded, X), subject.answer(model, X))
    latens.report(loaded, X, tmp_path / "page.html")
    assert name in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.extras
@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if not subject.supervised])
def test_a_frame_goes_in_and_comes_out(name: str) -> None:
    import pandas as pd

    subject = SUBJECTS[name]
    frame = pd.DataFrame(subject.rows(), columns=list("abcd"), index=[f"row {i}" for i in range(len(subject.rows()))])
    model = subject.fit(frame)
    codes = model.set_output(transform="pandas").transform(frame)
    assert list(codes.index) == list(frame.index)
    assert list(codes.columns) == list(model.get_feature_names_out())
