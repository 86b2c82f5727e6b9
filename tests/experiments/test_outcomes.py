"""What the experiments find, at quick settings and, slowly, at those of the documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from latens.datasets import make_shapes
from latens.experiments import EXPERIMENTS, Result, binary_sigma, find
from latens.experiments.document_starts import random_codes
from latens.experiments.experiment import Numbers

Table = list[dict[str, Any]]


def outcome(name: str, *, quick: bool, seed: int = 0) -> Result:
    experiment = find(name)
    settings = experiment.quick if quick else experiment.settings
    return experiment.run(settings, np.random.default_rng(seed), lambda _: None)


def table(result: Result, name: str) -> Table:
    (found,) = [one for one in result.tables if one.name == name]
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


Outcomes = Callable[[str], Result]


@pytest.fixture(scope="module", params=[pytest.param(size, marks=pytest.mark.slow) for size in ("quick", "whole")])
def results(request: pytest.FixtureRequest) -> Outcomes:
    """Each experiment is run when first asked for."""
    return cache(lambda name: outcome(name, quick=request.param == "quick"))


def test_our_start_finds_all_eight_and_random_starts_mostly_do_not(results: Outcomes) -> None:
    random, ours = table(results("binary-factors"), "summary")
    assert ours["runs finding all 8"].split(" of ")[0] == ours["runs finding all 8"].split(" of ")[1]
    complete, runs = map(int, random["runs finding all 8"].split(" of "))
    assert complete < runs / 2
    assert ours["F (nats), middle run"] > random["F (nats), best run"]
    features = table(results("binary-factors"), "features")
    assert all(row["cosine"] > 0.99 for row in features if row["start"] == "latens")
    assert all(row["wrong pixels above the threshold"] == 0 for row in features if row["start"] == "latens")


def test_more_noise_settles_sooner_and_the_learnt_noise_has_the_highest_bound(results: Outcomes) -> None:
    learnt, *given = table(results("binary-sigma"), "summary")
    sweeps = [row["sweeps to converge"] for row in given]
    assert sweeps == sorted(sweeps, reverse=True)
    ratios = [row["gain ÷ previous gain"] for row in given]
    assert ratios == sorted(ratios, reverse=True)
    ends = [row["F at the end (nats)"] for row in (learnt, *given)]
    assert ends == sorted(ends, reverse=True)


def test_deletions_leave_exactly_the_true_factors(results: Outcomes) -> None:
    enough = [row for row in table(results("binary-ard"), "summary") if row["K"] >= 8]
    assert {row["in use, deletions"] for row in enough} == {8}
    assert {row["true found, deletions"] for row in enough} == {8}
    for row in enough:
        plain = row["bound (nats), plain"]
        # two ascents to one optimum stop at tol, so that their ends differ by rounding of their last steps
        assert row["bound (nats), deletions"] >= plain - 1e-9 * abs(plain)
        assert plain > row["bound (nats), random"]


def test_the_bound_does_not_grow_with_spare_factors(results: Outcomes) -> None:
    bounds = {row["K"]: row["bound (nats), plain"] for row in table(results("binary-ard"), "summary")}
    assert max(bounds, key=lambda k: bounds[k]) == 8


def test_all_source_images_are_recovered(results: Outcomes) -> None:
    rows = table(results("image-separation"), "summary")
    assert len(rows) == 8
    assert all(row["cosine"] > 0.99 and row["switches right"] > 0.99 for row in rows)
    assert table(results("image-separation"), "iterations")[-1]["components"] == 8
    assert table(results("image-separation"), "iterations")[0]["components"] == 8  # of 16 allowed: a search begins so


@pytest.mark.slow
def test_figures_have_names_of_their_own_and_captions() -> None:
    for experiment in EXPERIMENTS:
        if experiment.name in {"uci-nets", "weight-posterior", "weight-uncertainty"}:
            continue  # needs torch; see tests/weights
        figures = [figure for section in outcome(experiment.name, quick=True).figures for figure in section.figures]
        assert len({figure.name for figure in figures}) == len(figures)
        assert all(figure.name and figure.caption for figure in figures)


def test_every_experiment_says_what_it_is() -> None:
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    for experiment in EXPERIMENTS:
        assert is_dataclass(experiment.settings)
        assert [field.name for field in fields(experiment.settings)] == [
            field.name for field in fields(experiment.quick)
        ]
        assert experiment.source.startswith("document 00")
        assert "\n" not in experiment.title


def test_the_free_energy_of_a_start_is_the_formula_of_the_document_with_the_right_logarithm() -> None:
    rng = np.random.default_rng(0)
    x, truth = make_shapes(30, random_state=rng)
    start, sigma, usage = random_codes(30, 8, rng), 2.0, rng.uniform(0.2, 0.8, size=8)
    fitted: Any = SimpleNamespace(usage_=usage, components_=truth.components)
    course = binary_sigma._converge(binary_sigma.Settings(n_sweeps=3), x, fitted, start, sigma, False)
    lam, w = start.mean, truth.components
    codes = np.sum(lam * np.log(usage / lam) + (1 - lam) * np.log((1 - usage) / (1 - lam)))
    error = np.sum((x - lam @ w) ** 2) + np.sum((lam - lam**2) @ np.sum(w**2, axis=1))
    expected = codes - x.size * np.log(sigma) - error / (2 * sigma**2) - 0.5 * x.size * np.log(2 * np.pi)
    assert course.bounds[0] == pytest.approx(expected, rel=1e-12)
    assert np.all(np.diff(course.bounds) > 0)


def test_an_unknown_experiment_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match="there is no experiment 'ard'; choose one of model-choice, binary-factors, binary-sigma"
    ):
        find("ard")


def test_tables_hold_plain_numbers_and_refuse_anything_else() -> None:
    made = Numbers.of("one", ("a", "b", "c", "d"), [(np.int64(1), np.float64(0.5), np.bool_(True), "x")])
    assert made.rows == ((1, 0.5, "yes", "x"),)
    assert [type(cell) for cell in made.rows[0]] == [int, float, str, str]
    with pytest.raises(TypeError, match="neither text nor a number"):
        Numbers.of("one", ("a",), [(None,)])
