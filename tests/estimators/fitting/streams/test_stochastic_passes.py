"""`learning_method="online"`: two stochastic passes gain nearly what all iterations on all rows gain."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.base import VariationalTransformer

N = 3000
RNG = np.random.default_rng(11)
LABELS = np.sort(RNG.integers(0, 4, N))  # sorted: consecutive rows are alike
CLUSTERS = 4 * RNG.normal(size=(4, 5))[LABELS] + RNG.normal(size=(N, 5))
PROFILES = (RNG.random((N, 8)) < np.where(RNG.random((4, 8)) < 0.5, 0.85, 0.15)[LABELS]).astype(float)
SWITCHES = (RNG.random((N, 3)) < 0.4).astype(float)
SUMS = SWITCHES @ RNG.normal(0, 2, (3, 6)) + 0.5 * RNG.normal(size=(N, 6))
LIT = 1 - 0.95 * np.prod(1 - 0.8 * SWITCHES[:, :, None] * (RNG.random((3, 8)) < 0.4), axis=1)
CAUSED = (RNG.random((N, 8)) < LIT).astype(float)
SOURCES = RNG.laplace(size=(N, 2)) @ RNG.normal(size=(2, 5)) + 0.3 * RNG.normal(size=(N, 5))
VIEWS = {"real": SOURCES + 1.0, "signs": (SOURCES[:, :3] @ RNG.normal(size=(3, 6)) > 0).astype(float)}

FITS: dict[str, tuple[Callable[..., Any], Any]] = {
    "mixture": (lambda **how: latens.GaussianMixture(6, random_state=0, **how), CLUSTERS),
    "diagonal mixture": (
        lambda **how: latens.GaussianMixture(6, covariance_type="diag", random_state=0, **how),
        CLUSTERS,
    ),
    "Bernoulli mixture": (lambda **how: latens.BernoulliMixture(6, random_state=0, **how), PROFILES),
    "classes": (
        lambda **how: latens.LatentClassAnalysis(6, random_state=0, **how),
        np.column_stack([CLUSTERS[:, :2], PROFILES]),
    ),
    "binary": (lambda **how: latens.BinaryFactorAnalysis(4, e_step="mean-field", random_state=0, **how), SUMS),
    "noisy-OR": (lambda **how: latens.NoisyOr(4, random_state=0, **how), CAUSED),
    "ICA": (lambda **how: latens.NoisyICA(2, random_state=0, **how), SOURCES),
    "views": (lambda **how: latens.MultiViewFactorAnalysis(3, random_state=0, **how), VIEWS),
}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search sees one row in five."""
    for cls in (VariationalTransformer, latens.MultiViewFactorAnalysis):
        monkeypatch.setattr(cls, "sample_size", N // 5)


def fitted(make: Callable[..., Any], rows: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(**how).fit(rows)


ONLINE = {"learning_method": "online", "batch_size": 100, "max_iter": 2}


@pytest.mark.parametrize("name", FITS)
def test_two_passes_gain_99_percent_of_what_all_iterations_gain(name: str) -> None:
    make, rows = FITS[name]
    online = fitted(make, rows, **ONLINE)
    batch = fitted(make, rows)
    begin = fitted(make, rows, max_iter=1, moves=False, n_init=1, init="random")
    assert online.elbo_ - begin.elbo_ >= 0.99 * (batch.elbo_ - begin.elbo_)
    assert online.n_components_ == batch.n_components_
    assert len(online.trace_) == 3  # two estimates and the bound of all rows


def test_files_are_read_block_by_block_in_another_order(tmp_path: Path) -> None:
    make, rows = FITS["mixture"]
    np.save(tmp_path / "rows.npy", rows)
    memory, blocks = fitted(make, rows), fitted(make, latens.scan(tmp_path / "rows.npy", block_rows=700), **ONLINE)
    assert blocks.n_components_ == memory.n_components_
    assert blocks.elbo_ == pytest.approx(memory.elbo_, abs=0.01 * N)


def test_the_order_of_batches_comes_from_the_seed() -> None:
    make, rows = FITS["classes"]
    one, same = (fitted(make, rows, **ONLINE) for _ in range(2))
    other = fitted(make, rows, **ONLINE | {"batch_size": 101})
    assert one.elbo_history_.tobytes() == same.elbo_history_.tobytes()
    assert one.elbo_history_.tobytes() != other.elbo_history_.tobytes()


def test_passes_end_when_one_gains_little() -> None:
    make, rows = FITS["mixture"]
    model = fitted(make, rows, **ONLINE | {"max_iter": 50, "tol": 1e-3})
    assert model.converged_
    assert model.n_iter_ < 20


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            {"learning_method": "stochastic"},
            "learning_method='stochastic' is not known; choose one of 'batch', 'online'",
        ),
        ({"batch_size": 0}, "batch_size=0 is too small; choose at least 1"),
        ({"learning_decay": 1.5}, "learning_decay=1.5 is out of range; choose a number above 0 and at most 1"),
        ({"learning_offset": -1}, "learning_offset=-1 is out of range"),
        ({"forget": 0.01}, "forget=0.01 counts the last rows of a stream.*leave forget=0, or give the rows"),
    ],
)
def test_wrong_settings_are_refused(option: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        latens.GaussianMixture(2, **{"learning_method": "online", **option}).fit(CLUSTERS)


def test_streams_forget_whatever_the_method_of_fit() -> None:
    for make, rows in (FITS["mixture"], FITS["views"]):
        model = make(forget=0.01, learning_method="online")
        for part in (slice(0, 300), slice(1500, 1800)):
            model.partial_fit({name: x[part] for name, x in rows.items()} if isinstance(rows, dict) else rows[part])
        assert np.isfinite(model.elbo_)
