"""Where a search begins: how many factors of many columns and few samples, and what each view has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import latens
from latens.estimators.multi_view import starts
from latens.estimators.multi_view.starts import ColumnsOfView, _once, standing_out


@pytest.fixture
def noise() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 800))


def counted(*views: np.ndarray, at_most: int) -> int:
    return standing_out([ColumnsOfView(view) for view in views], at_most)


def test_directions_that_stand_out_of_noise_are_counted_over_all_views(noise: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(40, 3)) @ (rng.normal(size=(3, 800)) * (rng.random((3, 800)) < 0.2))
    both = noise + signal
    assert counted(both, at_most=10) == 3
    assert counted(both[:, :500], 1000 * both[:, 500:], at_most=10) == 3
    assert counted(both, at_most=2) == 2


def test_noise_has_one_direction_and_columns_that_do_not_vary_none(noise: np.ndarray) -> None:
    assert counted(noise, at_most=10) == 1
    assert counted(np.zeros((5, 20)), at_most=4) == 1


def test_tables_of_few_columns_are_not_counted(noise: np.ndarray) -> None:
    assert counted(noise.T, at_most=10) == 10


def copies_beside_measurements(seed: int) -> dict[str, np.ndarray]:
    """16 segments of 6 columns with few errors in whole numbers, and two factors of measurements of half the rows."""
    rng = np.random.default_rng(seed)
    copies = np.repeat(np.round(1.2 * rng.normal(size=(80, 16))), 6, axis=1)
    wrong = rng.random(copies.shape) < 0.05
    copies = np.where(wrong, np.round(1.2 * rng.normal(size=copies.shape)), copies)
    measured = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12)) + rng.normal(size=(80, 12))
    measured[rng.random(80) < 0.5] = np.nan
    return {"copies": copies, "measured": measured}


@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")
def test_views_with_factors_of_their_own_are_fitted_together_as_well_as_from_what_each_has_alone() -> None:
    views = copies_beside_measurements(0)
    together = latens.MultiViewFactorAnalysis(random_state=0).fit(views)
    parts = [latens.MultiViewFactorAnalysis(random_state=0).fit({name: x}).components_ for name, x in views.items()]
    loadings = [part[name] for part, name in zip(parts, views, strict=True)]
    k = sum(map(len, loadings))
    blocks = {
        name: np.concatenate([np.zeros((before, w.shape[1])), w, np.zeros((k - before - len(w), w.shape[1]))])
        for name, w, before in zip(views, loadings, [0, len(loadings[0])], strict=True)
    }
    from_blocks = latens.MultiViewFactorAnalysis(k, init=blocks, random_state=0).fit(views)
    assert together.elbo_ > from_blocks.elbo_ - 1  # it was 178 nats below


@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")
def test_factors_that_rise_slowly_in_few_rows_are_not_given_up_for_fewer_that_are_ahead_at_first() -> None:
    x = load_diabetes(scaled=False).data[np.random.default_rng(4).permutation(442)[:40]]
    three = latens.MultiViewFactorAnalysis(3, prune=False, random_state=0).fit(x)
    model = latens.MultiViewFactorAnalysis(random_state=0).fit(x)
    assert model.n_components_ == 3  # two, 5.4 nats lower, are ahead after the first iterations
    assert model.elbo_ > three.elbo_ - 0.5


def test_factors_of_several_views_that_are_the_same_begin_once() -> None:
    alike = np.array([[1.0, 0.2, -0.95], [0.2, 1.0, 0.1], [-0.95, 0.1, 1.0]])
    assert _once(alike, np.array([0.2, 0.5, 0.3])) == [1, 2]
    assert _once(alike, np.array([0.2, 0.0, 0.1])) == [0]


@pytest.mark.parametrize(("max_iter", "longest"), [(1, 1), (6, 2), (1000, starts.ITERATIONS_OF_TRIAL)])
def test_a_trial_takes_no_more_than_a_third_of_a_fit(
    max_iter: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths, plain = [], starts._try

    def watched(model: Any, sample: Any, steps: int, *rest: Any) -> Any:
        lengths.append(steps)
        return plain(model, sample, steps, *rest)

    monkeypatch.setattr(starts, "_try", watched)
    views, _ = latens.datasets.make_multiview(60, (12, 10), n_factors=2, random_state=0)
    latens.MultiViewFactorAnalysis(4, random_state=0, max_iter=max_iter).fit(views)
    assert max(lengths) == longest
