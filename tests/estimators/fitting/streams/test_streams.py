"""Streams in any order end where `fit` ends: for every estimator, one table of three orders."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import latens
from latens.errors import FewInReservoir, StreamChanged
from latens.estimators.rows import reservoir

N, BATCH = 400, 50
WITHIN = 0.05  # nats a row


@dataclass(frozen=True)
class Case:
    """Rows in order of what is hidden in them, and an estimator that has to find it."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def rows(self, n: int = N) -> np.ndarray:
        rng = np.random.default_rng(1001)
        if self.name in ("GaussianMixture", "LatentClassAnalysis"):
            return (4 * rng.normal(size=(3, 4)))[np.sort(rng.integers(3, size=n))] + rng.normal(size=(n, 4))
        if self.name == "BernoulliMixture":
            return (rng.random((n, 12)) < rng.uniform(size=(3, 12))[np.sort(rng.integers(3, size=n))]).astype(float)
        if self.name == "BinaryFactorAnalysis":
            on = np.array(sorted((rng.random((n, 3)) < 0.4).tolist()))
            return on @ (3 * rng.normal(size=(3, 6))) + 0.5 * rng.normal(size=(n, 6))
        if self.name == "NoisyOr":
            on = np.array(sorted((rng.random((n, 2)) < 0.3).tolist()))
            lit = 0.9 * np.repeat(np.eye(2), 5, axis=1)
            return (rng.random((n, 10)) > 0.97 * np.prod(1 - on[:, :, None] * lit, axis=1)).astype(float)
        codes = rng.standard_t(4, size=(n, 2))
        x = codes @ rng.normal(size=(2, 6)) + 0.4 * rng.normal(size=(n, 6))
        return x[np.argsort(codes[:, 0])]

    def make(self) -> Any:
        return getattr(latens, self.name)(random_state=0, n_jobs=1, **self.options)


SMALL_FIT = {"n_components": 5, "n_init": 1}
CASES = [
    Case("GaussianMixture", SMALL_FIT),
    Case("LatentClassAnalysis", SMALL_FIT),
    Case("BernoulliMixture", SMALL_FIT),
    Case("BinaryFactorAnalysis", {**SMALL_FIT, "fit_intercept": False}),
    Case("NoisyOr", {"n_components": 3, "n_init": 1}),
    Case("NoisyICA", {"n_components": 2, "n_init": 1}),
    Case("FactorAnalysis", {"n_components": 3, "prior": "ard"}),
    Case("MultiViewFactorAnalysis", {"n_components": 3}),
]
MIXTURE = CASES[0]


def in_order(x: np.ndarray, order: str) -> np.ndarray:
    shuffled = np.random.default_rng(0).permutation(len(x))
    if order == "sorted":
        return x
    if order == "sorted in blocks":
        size = len(x) // 3
        return x[np.concatenate([np.sort(shuffled[at : at + size]) for at in range(0, len(x), size)])]
    return x[shuffled]


def batched(model: Any, x: Any, size: int = BATCH) -> Any:
    for at in range(0, x.shape[0], size):
        model.partial_fit(x[at : at + size])
    return model


def streamed(model: Any, x: Any, size: int = BATCH) -> Any:
    """The same, told nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return batched(model, x, size)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A reservoir that streams of this file are longer than; still 10 rows for each parameter of three clusters."""
    monkeypatch.setattr(reservoir, "LEAST_ROWS", 450)
    monkeypatch.setattr(reservoir, "ROWS_PER_PARAMETER", 1)
    return 450


@pytest.mark.parametrize("order", ["shuffled", pytest.param("sorted", marks=pytest.mark.slow), "sorted in blocks"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_stream_ends_where_a_fit_of_all_rows_ends_in_whatever_order(case: Case, order: str) -> None:
    x = case.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = case.make().fit(x)
    stream = streamed(case.make(), in_order(x, order))
    assert stream.n_components_ == whole.n_components_
    assert stream.score(x) > whole.score(x) - WITHIN
    assert stream._state.stats.n == pytest.approx(N)


@pytest.mark.parametrize("order", ["shuffled", "sorted", "sorted in blocks"])
def test_a_stream_longer_than_its_reservoir_ends_there_too(order: str, small: int) -> None:
    x = MIXTURE.rows(1200)
    whole, stream = MIXTURE.make().fit(x), streamed(MIXTURE.make(), in_order(x, order), 100)
    assert stream.n_components_ == whole.n_components_ == 3
    assert stream.score(x) > whole.score(x) - WITHIN
    held = stream.stream_.reservoir
    assert (len(held.keys), held.n_rows, held.is_whole) == (small, len(x), False)
    assert stream._state.stats.n == pytest.approx(len(x))
    assert stream.classification_.sum() == pytest.approx(len(x))
    assert stream.stream_.nbytes == small * 5 * 8  # four columns and a key


def test_a_sorted_stream_is_told_once_and_a_shuffled_one_never() -> None:
    x = MIXTURE.rows()
    with pytest.warns(StreamChanged, match=r"rows \d+ to \d+ of the stream score .* nats a row below") as records:
        model = batched(MIXTURE.make(), x)
    assert sum(isinstance(each.message, StreamChanged) for each in records) == 1
    assert [each.code for each in model.warnings_].count("stream-changed") == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamChanged)
        calm = batched(MIXTURE.make(), in_order(x, "shuffled"))
    assert calm.n_components_ == 3


def test_a_component_with_few_of_the_rows_kept_is_named(small: int) -> None:
    x = in_order(MIXTURE.rows(900), "shuffled")
    rare = 30 + 0.5 * np.random.default_rng(2).normal(size=(100, 4))
    with pytest.warns(FewInReservoir, match=r"'cluster3': about \d+ of the 450 stored rows .* 50 are needed"):
        stream = batched(MIXTURE.make(), np.concatenate([x, rare]), 100)
    assert stream.n_components_ == 4


def test_a_batch_unlike_the_rows_of_a_fit_is_told_since_nothing_is_kept_of_them() -> None:
    x = MIXTURE.rows()
    model = MIXTURE.make().fit(in_order(x, "shuffled"))
    assert model.stream_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamChanged)
        model.partial_fit(x)
    with pytest.warns(StreamChanged, match=r"the 50 rows of this batch score .* unlike its start. fit keeps no rows"):
        model.partial_fit(x[:50] + 20)


def test_far_rows_alone_do_not_set_off_a_search() -> None:
    x = in_order(MIXTURE.rows(), "shuffled")
    x[300, 0] = 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamChanged)
        model = MIXTURE.make().partial_fit(x[:200])
        model.partial_fit(x[200:390])
    assert model.stream_.fitted_rows == 200


@pytest.mark.parametrize("sparse", [False, True])
def test_a_stream_goes_on_to_the_same_bits_from_a_file_and_a_pickle(sparse: bool, small: int, tmp_path: Path) -> None:
    case = CASES[2] if sparse else MIXTURE
    dense = case.rows(700)
    x = csr_array(dense) if sparse else dense
    stream = streamed(case.make().set_params(random_state=None), x[:500], 100)
    again = [latens.load(latens.save(stream, tmp_path / "stream")), pickle.loads(pickle.dumps(stream))]
    for model in (stream, *again):
        streamed(model, x[500:], 100)
    for model in again:
        assert model.elbo_ == stream.elbo_
        assert np.array_equal(model.means_, stream.means_)
        assert np.array_equal(model.stream_.reservoir.keys, stream.stream_.reservoir.keys)
        assert np.array_equal(model.classification_, stream.classification_)
    assert (stream.stream_.reservoir.ones is not None) == sparse


def test_the_same_seed_keeps_the_same_rows(small: int) -> None:
    x = MIXTURE.rows(600)
    one, two = streamed(MIXTURE.make(), x, 300), streamed(MIXTURE.make(), x, 300)
    assert np.array_equal(one.stream_.reservoir.values, two.stream_.reservoir.values)
    other = streamed(MIXTURE.make().set_params(random_state=1), x, 300)
    assert not np.array_equal(one.stream_.reservoir.values, other.stream_.reservoir.values)


def test_a_fit_forgets_the_stream_before_it() -> None:
    x = MIXTURE.rows()
    assert streamed(MIXTURE.make(), x[:100]).fit(x).stream_ is None
