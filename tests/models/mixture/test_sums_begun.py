"""Sums of clusters that are asked for before they are needed, as of a GPU, and brought by one copy."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows, Statistics
from latens.models.mixture.model import Mixture

LIBRARIES = ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


def clusters(binary: bool = False) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 5)) * 2
    x = centres[rng.integers(0, 3, 300)] + rng.normal(size=(300, 5))
    return (x > 0).astype(float) if binary else x


def rows(library: str, x: np.ndarray, weight: np.ndarray) -> Rows:
    xp = importlib.import_module(library)
    return Rows(xp.asarray(x), weight=xp.asarray(weight))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "Bernoulli"])
def test_sums_that_come_together_are_those_that_come_one_by_one(kind: str, library: str) -> None:
    x, weight = clusters(kind == "Bernoulli"), np.random.default_rng(1).uniform(0.5, 2.0, 300)
    made: Any = latens.BernoulliMixture if kind == "Bernoulli" else latens.GaussianMixture
    shape = {} if kind == "Bernoulli" else {"covariance_type": kind}
    fit = made(3, random_state=0, max_iter=3, tol=0, moves=False, n_init=1, **shape).fit(x)
    model, q = fit._model, fit.posterior_
    batch = rows(library, x, weight)
    found = model.statistics(batch, model.local_step(q, batch))
    alone = Rows(x, weight=weight)
    expected = model.statistics(alone, model.local_step(q, alone))
    for name in ("n", "entries", "counts", "seen", "x", "xx", "entropy"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-11, abs=1e-9), name
        assert np.shape(getattr(found, name)) == np.shape(getattr(expected, name)), name


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_blocks_begun_ahead_change_no_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = {"covariance_type": kind, "random_state": 0}
    plain = latens.GaussianMixture(6, **settings).fit(clusters())
    used, asked = list[bool](), Mixture.inferred

    def counted(model: Mixture, q: Any, batch: Rows, warm: Any) -> tuple[None, Statistics] | None:
        found = asked(model, q, batch, warm)
        used.append(found is not None)
        return found

    monkeypatch.setattr("latens.models.mixture.model.is_on_gpu", lambda _: True)
    monkeypatch.setattr(Mixture, "inferred", counted)
    early = latens.GaussianMixture(6, **settings).fit(clusters())
    assert np.array_equal(early.elbo_history_, plain.elbo_history_)
    assert np.array_equal(early.means_, plain.means_)
    assert np.mean(used) > 0.3


def test_what_was_begun_for_another_posterior_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = latens.GaussianMixture(3, random_state=0, max_iter=3).fit(clusters())
    model, q = fit._model, fit.posterior_
    batch, other = Rows(clusters()), replace(q, weights=q.weights)
    monkeypatch.setattr("latens.models.mixture.model.is_on_gpu", lambda _: True)
    model.begin(q, [batch])
    assert model.inferred(other, batch, None) is None
    assert "begun" not in vars(batch)
    model.begin(q, [batch])
    assert model.inferred(q, batch, None) is not None


def test_rows_with_holes_and_places_in_files_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = latens.GaussianMixture(3, random_state=0, max_iter=3).fit(clusters())
    monkeypatch.setattr("latens.models.mixture.model.is_on_gpu", lambda _: True)
    seen = np.random.default_rng(0).random((300, 5)) > 0.1
    batch = Rows(np.where(seen, clusters(), 0.0), seen)
    fit._model.begin(fit.posterior_, [batch, "part-0.parquet"])
    assert "begun" not in vars(batch)
