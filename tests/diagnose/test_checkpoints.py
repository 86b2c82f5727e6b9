"""Jobs of many fits that die in the middle, and go on to the answer that they would have given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.estimators.fitting import search
from latens.inference import ascent

X, _ = latens.datasets.make_mixture(150, n_components=3, spread=7.0, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore")


class Died(Exception):
    pass


def dying(monkeypatch: Any, after: int) -> list[int]:
    """Fits end in an exception after so many iterations of all of them together; returns how many there were."""
    steps, ascend = [0], ascent.ascend

    def counted(*rest: Any, on_iteration: Any = None, **options: Any) -> Any:
        def listen(event: Any) -> Any:
            steps[0] += 1
            if steps[0] > after:
                raise Died
            return None if on_iteration is None else on_iteration(event)

        return ascend(*rest, on_iteration=listen, **options)

    monkeypatch.setattr(search, "ascend", counted)
    return steps


def swept(**options: Any) -> Any:
    return latens.sweep(latens.GaussianMixture(random_state=0), X, range(1, 5), **options)


def halved(**options: Any) -> Any:
    model = latens.GaussianMixture(3, random_state=0).fit(X)
    return latens.stability(model, X, 4, **options)


def suggested(**options: Any) -> Any:
    return latens.suggest(X[:, :2], max_time=None, **options)


def numbers(found: Any) -> list[float]:
    return [value for row in found.table.rows for value in row if isinstance(value, float) and value == value]


@pytest.mark.parametrize("job", [swept, halved, suggested])
def test_a_job_that_died_goes_on_to_the_same_answer(job: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        all_steps = dying(patch, 10**9)
        whole = job()
    died_at = all_steps[0] * 2 // 3
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, died_at)
        with pytest.raises(Died):
            job(checkpoint=tmp_path)
    assert list(tmp_path.iterdir())
    with pytest.MonkeyPatch.context() as patch:
        left = dying(patch, 10**9)
        again = job(checkpoint=tmp_path)
    assert numbers(again) == numbers(whole)
    assert again.verdict == whole.verdict
    assert left[0] < all_steps[0] - died_at // 2  # what was done is not done again
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_keeps_the_densities_that_it_has(tmp_path: Path, monkeypatch: Any) -> None:
    fits = {f"K={k}": latens.GaussianMixture(k, prune=False, random_state=0).fit(X[:100]) for k in (1, 2, 3)}
    whole, asked = latens.compare(fits, X[100:]), list[int]()
    score = latens.GaussianMixture.score_samples

    def scored(self: Any, rows: Any) -> Any:
        asked.append(self.n_components_)
        if len(asked) == 3:
            raise Died
        return score(self, rows)

    monkeypatch.setattr(latens.GaussianMixture, "score_samples", scored)
    with pytest.raises(Died):
        latens.compare(fits, X[100:], checkpoint=tmp_path)
    again = latens.compare(fits, X[100:], checkpoint=tmp_path)
    assert asked == [1, 2, 3, 3]
    assert numbers(again) == numbers(whole)
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_names_the_models_for_which_no_time_was_left() -> None:
    fits = {f"K={k}": latens.GaussianMixture(k, prune=False, random_state=0).fit(X[:100]) for k in (1, 2, 3)}
    short = latens.compare(fits, X[100:], max_time=1e-9)
    assert sorted(short.table["model"]) == ["K=1", "K=2"]
    assert short.verdict.endswith("No time was left for 'K=3'.")


def test_a_job_that_draws_rows_needs_a_seed_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint= goes on where the same rows are drawn again; give random_state"):
        halved(checkpoint=tmp_path, random_state=np.random.default_rng(0))
    with pytest.raises(ValueError, match="give random_state a whole number, not None"):
        suggested(checkpoint=tmp_path, random_state=None)
