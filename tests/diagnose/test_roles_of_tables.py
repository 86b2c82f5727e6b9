"""Columns that `latens.read` keeps aside reach every tool of choice, or are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.diagnose.comparison import paired_error

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

QUICK: dict[str, Any] = {"max_iter": 9, "moves": False, "n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits to doctors, with weights, months under watch and a site."""
    import pandas as pd

    rng, n = np.random.default_rng(0), 169
    ill = rng.gamma(2.0, 5.6, n).round(2)
    frame = pd.DataFrame(
        {
            "mdvis": rng.poisson(rng.gamma(0.7, 1 + 0.3 * ill)),
            "lncoins": rng.choice([0.0, 3.258, 3.932, 4.564], n),
            "lpi": rng.normal(4.7, 2.7, n).round(4),
            "physlm": (rng.random(n) < 0.02 + 0.008 * ill).astype(float),
            "disea": ill,
        }
    )
    months = rng.integers(1, 13, n)
    frame = frame.assign(w=rng.integers(0, 4, n), months=months, site=rng.choice(["north", "south"], n))
    rate = np.where(rng.random(n) < 0.4, 2.0, 0.1)
    frame = frame.assign(**{name: rng.poisson(rate * months) for name in ("calls", "letters", "visits")})
    path = tmp_path_factory.mktemp("roles") / "visits.csv"
    frame.to_csv(path, index=False)
    return path


COLUMNS = ["mdvis", "calls", "letters", "disea"]


def quick_suggestion(X: Any, **given: Any) -> latens.diagnose.suggestion.Suggestion:
    return latens.suggest(X, max_time=None, refit=False, **given)


def test_weights_of_a_table_reach_a_suggestion(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Those of the table, those given beside its frame, and rows given as often: in scores to the last cell."""
    from latens.diagnose import suggestion

    monkeypatch.setattr(suggestion, "candidates", lambda table, n: [])
    read = latens.read(path, columns=COLUMNS, weights="w")
    weight = read.numbers_aside("weights")
    by_role, beside = quick_suggestion(read), quick_suggestion(read.frame, sample_weight=weight)
    assert str(by_role.table) == str(beside.table)
    plain = quick_suggestion(read.frame)
    assert by_role.table["score"] != plain.table["score"]
    assert by_role.n_cells < plain.n_cells  # rows of weight 0 are none
    twice = quick_suggestion(read.frame, sample_weight=np.full(len(weight), 2.0))
    assert twice.n_cells == plain.n_cells
    frame = read.frame.sample(frac=1.0, random_state=0)
    assert frame.index[0] != 0
    import pandas as pd

    again = quick_suggestion(frame, sample_weight=pd.Series(weight))
    assert again.n_cells == by_role.n_cells


@pytest.mark.slow
def test_exposures_of_a_table_reach_the_candidates_that_know_them(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    from latens.diagnose import suggestion
    from latens.diagnose.candidates import candidates

    names: list[str] = []

    def classes_alone(table: Any, n_train: int) -> Any:
        every = candidates(table, n_train)
        names.extend(each.name for each in every)
        assert all(each.knows_exposures for each in every)
        return every[:1]

    monkeypatch.setattr(suggestion, "candidates", classes_alone)
    monkeypatch.setattr("latens.diagnose.candidates.MOST_WORK", 0)
    monkeypatch.setattr("latens.diagnose.candidates.FEWEST_ITERATIONS", 10)
    read = latens.read(path, columns=["calls", "letters", "visits"], exposure="months", weights="w")
    found = latens.suggest(read, max_time=None)
    assert names == ["classes", "factors"]
    assert found.leader == "classes"
    assert found.model._is_exposed
    assert found.model._state.stats.n == pytest.approx(read.numbers_aside("weights").sum())
    frame = latens.read(path, columns=["calls", "letters", "visits", "months"]).frame
    named = quick_suggestion(frame, exposure="months", sample_weight=read.numbers_aside("weights"))
    assert named.table["score"] == pytest.approx(found.table["score"])
    with pytest.raises(
        ValueError, match=r"exposure is for counts, and no column that is used holds counts, .*\('lncoins'"
    ):
        latens.suggest(latens.read(path, columns=["lncoins", "lpi"], exposure="months"))
    with pytest.raises(ValueError, match="exposure='total' is made of the cells that suggest hides"):
        latens.suggest(read.frame, exposure="total")
    with pytest.raises(ValueError, match="exposure is given beside a table that was read with exposure='months'"):
        latens.suggest(read, exposure=np.ones(read.n_rows))
    with pytest.raises(ValueError, match="exposure is 0 in row 3"):
        latens.suggest(read.frame, exposure=np.where(np.arange(read.n_rows) == 3, 0.0, 1.0))


@pytest.mark.parametrize(("role", "column"), [("groups", "site"), ("covariates", ["site"])])
def test_roles_that_a_tool_does_not_know_are_refused_by_name(role: str, column: Any, path: Path) -> None:
    table = latens.read(path, columns=COLUMNS, **{role: column})
    with pytest.raises(ValueError, match=f"suggest knows no {role}; read the table without {role}="):
        latens.suggest(table)
    for model in (latens.FactorAnalysis(1, **QUICK), latens.LatentClassAnalysis(2, **QUICK)):
        for ask in (latens.stability, latens.sweep):
            with pytest.raises(ValueError, match=f"has no {role}; leave {role}="):
                ask(model, table)
    with pytest.raises(ValueError, match="has no exposure; leave exposure='months' out of"):
        latens.stability(latens.GaussianMixture(2, **QUICK), latens.read(path, columns=COLUMNS, exposure="months"))


def test_halves_of_a_table_with_text_are_those_of_its_numbers(path: Path) -> None:
    table = latens.read(path, columns=[*COLUMNS, "site"], weights="w")
    model = latens.FactorAnalysis(1, **QUICK).fit(table)
    found = latens.stability(model, table, n_samples=2)
    numbers = table.encoded().frame()
    plain = latens.stability(model, numbers, n_samples=2, sample_weight=table.numbers_aside("weights"))
    assert found.table.rows == plain.table.rows


def test_a_fit_with_exposures_and_no_counts_says_what_to_type(path: Path) -> None:
    table = latens.read(path, columns=COLUMNS, exposure="months")
    with pytest.raises(ValueError, match=r"exposure is for counts; .*likelihoods=\{'mdvis': 'poisson'\}"):
        latens.MultiViewFactorAnalysis(1, likelihoods="gaussian", **QUICK).fit(table)


def test_weights_count_in_a_comparison_by_density(path: Path) -> None:
    read = latens.read(path, columns=COLUMNS, weights="w")
    weight = read.numbers_aside("weights")
    fits = {f"K={k}": latens.GaussianMixture(k, prune=False, **QUICK).fit(read) for k in (1, 2)}
    found = latens.compare(fits, read)
    scores = {name: fit.score_samples(read.frame) for name, fit in fits.items()}
    expected = {name: np.average(score, weights=weight) for name, score in scores.items()}
    means = dict(zip(found.table["model"], found.table["mean log density"], strict=True))
    assert means == pytest.approx(expected)
    by_hand = latens.compare(fits, read.frame, sample_weight=weight)
    assert by_hand.table.rows == found.table.rows
    assert latens.compare(fits, read.frame).table.rows != found.table.rows
    sweep = latens.sweep(latens.GaussianMixture(**QUICK), read, [1, 2], X_test=read)
    densities = [np.average(fit.score_samples(read.frame), weights=weight) for fit in sweep.models.values()]
    assert sweep.table["mean log density"] == pytest.approx(densities)
    with pytest.raises(ValueError, match="sample_weight is of X_test, which is not given"):
        latens.compare(fits, sample_weight=weight)
    gap, share = scores["K=1"] - scores["K=2"], weight / weight.mean()
    draws = np.random.default_rng(0).integers(0, len(gap), (2000, len(gap)))
    ratios = [np.average(gap[at], weights=share[at]) for at in draws]
    assert paired_error(gap, share) == pytest.approx(np.std(ratios), rel=0.15)
