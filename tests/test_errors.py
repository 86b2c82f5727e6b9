"""Warnings: one base class, one record each in `warnings_`, said once per cause and at the caller's line."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import latens
from latens import errors
from latens.errors import ConstantColumns, FitInterrupted, LatensWarning, ValuesCut, WarningRecord


def test_every_warning_has_the_same_base() -> None:
    named = [getattr(errors, name) for name in errors.__all__]
    found = [each for each in named if isinstance(each, type) and issubclass(each, Warning)]
    assert len(found) >= 10
    assert all(issubclass(each, LatensWarning) for each in found)


def test_a_warning_says_what_was_seen_and_what_to_type() -> None:
    seen = FitInterrupted("stopped after 3 iterations.", "Call fit again.")
    assert str(seen) == "stopped after 3 iterations. Call fit again."
    assert seen.record == WarningRecord("fit-interrupted", "stopped after 3 iterations.", "Call fit again.")
    again = pickle.loads(pickle.dumps(seen))
    assert (type(again), again.record) == (FitInterrupted, seen.record)


def test_a_cause_is_told_once_within_a_fit_and_the_owner_nests() -> None:
    owner = object()
    with warnings.catch_warnings(record=True) as warning_records, errors.collect_warnings(owner) as records:
        warnings.simplefilter("always")
        errors.warn(ConstantColumns("a never varies."))
        with errors.collect_warnings(owner):
            errors.warn(ConstantColumns("a never varies."))
            errors.warn(ConstantColumns("b never varies."))
        with errors.collect_warnings(object()) as others:
            errors.warn(ConstantColumns("a never varies."))
    assert [record.message for record in records] == ["a never varies.", "b never varies."]
    assert [record.message for record in others] == ["a never varies."]
    assert len(warning_records) == 3


def test_warnings_inside_pipelines_and_searches_name_the_line_of_the_caller() -> None:
    X = 2.0 * (np.random.default_rng(0).random((40, 5)) < 0.4)
    model = latens.BernoulliMixture(2, max_iter=5, random_state=0)
    steps = make_pipeline(model, LogisticRegression())
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always", ValuesCut)
        steps.fit(X, X[:, 0] > 0)
        GridSearchCV(steps, {"bernoullimixture__max_iter": [5]}, cv=2).fit(X, X[:, 0] > 0)
    files = [each.filename for each in records if issubclass(each.category, ValuesCut)]
    assert len(files) > 3
    assert set(files) == {__file__}


def test_warnings_of_a_fit_are_kept_and_filed(tmp_path: Path) -> None:
    X = 2.0 * (np.random.default_rng(0).random((40, 5)) < 0.4)
    with pytest.warns(ValuesCut) as records:
        model = latens.BernoulliMixture(5, random_state=0).fit(X)
    assert records[0].filename == __file__
    assert [record.code for record in model.warnings_] == ["values-cut"]
    record = model.warnings_[0]
    assert str(records[0].message) == f"{record.message} {record.remedy}"
    latens.report(model, X, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "To look at first" in page
    assert "those above it became 1, the rest 0." in page
    latens.save(model, tmp_path / "model.latens")
    assert latens.load(tmp_path / "model.latens").warnings_ == model.warnings_
    assert model.fit(X > 0).warnings_ == []


def test_batches_of_a_stream_add_to_the_warnings() -> None:
    X = (np.random.default_rng(0).random((60, 5)) < 0.4).astype(float)
    model = latens.BernoulliMixture(2, random_state=0).partial_fit(X[:40])
    assert model.warnings_ == []
    with pytest.warns(ValuesCut):
        model.partial_fit(3 * X[40:])
    assert [record.code for record in model.partial_fit(X).warnings_] == ["values-cut"]
