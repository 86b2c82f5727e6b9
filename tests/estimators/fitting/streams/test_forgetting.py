"""Streams that let old rows go end where a fit of the last 1/forget rows ends."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import StreamChanged
from latens.estimators.rows import reservoir
from tests.estimators.fitting.streams.test_streams import CASES, MIXTURE, WITHIN, Case, batched, in_order, streamed

WINDOW = 300
FORGETFUL = [case for case in CASES if case.name != "FactorAnalysis"]


def changing(case: Case, n: int = 800) -> np.ndarray:
    """Rows of which the later half tells of something else: columns change places, and signs where there are any."""
    x = in_order(case.rows(n), "shuffled")
    later = np.roll(x[n // 2 :], 2, axis=1)
    return np.concatenate([x[: n // 2], later if set(np.unique(x)) <= {0.0, 1.0} else 1 - later])


def forgetting(case: Case, window: int = WINDOW) -> Any:
    return case.make().set_params(forget=1 / window)


@pytest.mark.parametrize("case", FORGETFUL, ids=lambda case: case.name)
def test_a_stream_that_changes_ends_where_a_fit_of_its_last_rows_ends(case: Case) -> None:
    x = changing(case)
    last = x[-WINDOW:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recent, all_alike = case.make().fit(last), case.make().fit(x)
    stream = streamed(forgetting(case), x)
    assert stream.n_components_ == recent.n_components_
    assert stream.score(last) > recent.score(last) - WITHIN
    assert stream.score(last) > all_alike.score(last) + WITHIN  # what came before is not only watered down
    assert stream._state.stats.n == pytest.approx(WINDOW)


def test_rows_that_are_gone_leave_nothing_behind() -> None:
    x = changing(MIXTURE)
    one, two = streamed(forgetting(MIXTURE), x), streamed(forgetting(MIXTURE), np.concatenate([x[:50] - 90, x]))
    assert one.score(x[-WINDOW:]) == pytest.approx(two.score(x[-WINDOW:]), abs=1e-3)
    assert np.array_equal(one.stream_.reservoir.values, x[-WINDOW:])


def test_a_window_larger_than_what_can_be_kept_is_a_sample_that_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservoir, "LEAST_ROWS", 500)
    monkeypatch.setattr(reservoir, "ROWS_PER_PARAMETER", 1)
    x = changing(MIXTURE, 2000)
    stream = streamed(forgetting(MIXTURE, 900), x, 100)
    held = stream.stream_.reservoir
    assert 350 < len(held.keys) <= 500
    assert held.numbers.min() >= 1100
    assert stream._state.stats.n == pytest.approx(900)
    recent = MIXTURE.make().fit(x[-900:])
    assert stream.n_components_ == recent.n_components_
    assert stream.score(x[-900:]) > recent.score(x[-900:]) - WITHIN


def test_a_first_batch_longer_than_the_window_is_fitted_at_its_end() -> None:
    x = changing(MIXTURE)
    stream, recent = forgetting(MIXTURE).partial_fit(x), MIXTURE.make().fit(x[-WINDOW:])
    assert stream.elbo_ == pytest.approx(recent.elbo_, abs=1e-6)


def test_a_change_that_is_forgotten_needs_no_warning_and_one_that_is_not_names_the_remedy() -> None:
    x = changing(MIXTURE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamChanged)
        batched(forgetting(MIXTURE), x)
    with pytest.warns(StreamChanged, match=r"let old rows go: forget=.001 keeps the last 1,000"):
        batched(MIXTURE.make(), x)


def test_after_a_fit_its_sums_fade() -> None:
    x = changing(MIXTURE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamChanged)
        model = forgetting(MIXTURE).fit(x[:400]).partial_fit(x[400:500])
    assert model._state.stats.n == pytest.approx(400 * (1 - 1 / WINDOW) ** 100 + 100)


def test_a_forgetful_stream_goes_on_to_the_same_bits_from_a_file_and_a_pickle(tmp_path: Path) -> None:
    x = changing(MIXTURE)
    stream = streamed(forgetting(MIXTURE), x[:500])
    again = [latens.load(latens.save(stream, tmp_path / "stream")), pickle.loads(pickle.dumps(stream))]
    for model in (stream, *again):
        streamed(model, x[500:])
    for model in again:
        assert model.elbo_ == stream.elbo_
        assert np.array_equal(model.means_, stream.means_)
        assert np.array_equal(model.stream_.reservoir.numbers, stream.stream_.reservoir.numbers)


@pytest.mark.parametrize(
    ("forget", "message"),
    [
        (-0.1, r"forget=-0.1 is out of range; choose a number of at least 0 and at most 0.1"),
        (0.5, r"forget=0.5 is out of range"),
        ("slowly", r"forget='slowly' is not a finite number"),
    ],
)
def test_what_cannot_be_forgotten_is_refused(forget: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MIXTURE.make().set_params(forget=forget).partial_fit(MIXTURE.rows())
