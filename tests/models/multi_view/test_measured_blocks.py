"""Sums over blocks of measurements that were asked for before they are needed, as of a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows, State
from latens.inference.ascent import ascend
from latens.models.multi_view import measured_blocks
from latens.models.multi_view.measured_blocks import begin_on_gpu, measured_sums


def rows_of_two_views(n: int = 120) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Views in single precision, which take the way of a device, and weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 14)) + rng.normal(size=(n, 14))
    return {"one": x[:, :6].astype(np.float32), "two": x[:, 6:].astype(np.float32)}, rng.uniform(0.5, 2.0, n)


def fitted(**options: Any) -> Any:
    views, weight = rows_of_two_views()
    return latens.MultiViewFactorAnalysis(4, random_state=0, **options).fit(views, sample_weight=weight)


@pytest.mark.parametrize("holes", [False, True])
def test_blocks_begun_ahead_change_no_bit(holes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    views, weight = rows_of_two_views()
    if holes:
        for x in views.values():
            x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    plain = latens.MultiViewFactorAnalysis(4, random_state=0).fit(views, sample_weight=weight)
    used = list[bool]()

    def counted(model: Any, q: Any, batch: Rows) -> Any:
        used.append(vars(batch).get("begun", (None,))[0] is q)
        return measured_sums(model, q, batch)

    monkeypatch.setattr(measured_blocks, "is_on_gpu", lambda _: True)
    monkeypatch.setattr("latens.models.multi_view.model.measured_sums", counted)
    asked_early = latens.MultiViewFactorAnalysis(4, random_state=0).fit(views, sample_weight=weight)
    assert np.array_equal(asked_early.elbo_history_, plain.elbo_history_)
    assert all(np.array_equal(asked_early.components_[name], plain.components_[name]) for name in views)
    early = latens.MultiViewFactorAnalysis(4, max_iter=2, random_state=0).fit(views, sample_weight=weight)
    rows = asked_early._rows_in_blocks(views, {"sample_weight": weight})
    used.clear()  # in a search many steps begin elsewhere: after moves, leaps and longer steps
    ascend(early._model, rows, State(early.posterior_), max_iter=12, tol=0.0, leaps=False)
    assert used == [False, *[True] * 11]


def test_what_was_begun_for_another_posterior_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = fitted(max_iter=3, n_init=1)
    model, q = estimator._model, estimator._state.q
    other = replace(q, activity=replace(q.activity, mean=2 * q.activity.mean))
    x = np.random.default_rng(2).normal(size=(40, 14)).astype(np.float32)
    weight = np.ones(40, np.float32)
    asked, alone = Rows(x, weight=weight), Rows(x, weight=weight)
    monkeypatch.setattr(measured_blocks, "is_on_gpu", lambda _: True)
    begin_on_gpu(model, q, [asked])
    found: Any = measured_sums(model, other, asked)
    expected: Any = measured_sums(model, other, alone)
    wrong: Any = measured_sums(model, q, alone)
    assert np.array_equal(found.squares, expected.squares)
    assert not np.array_equal(found.squares, wrong.squares)
    assert "begun" not in vars(asked)
