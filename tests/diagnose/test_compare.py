"""Which of several fits to prefer, and when nothing can be said."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

import latens
from latens.errors import RowsOfFit
from latens.estimators.fitted_parts import fitted_parts


@cache
def rows(n: int = 300, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + 4.0 * rng.integers(3, size=n)[:, None]


@cache
def clusters(k: int, kind: str = "full") -> latens.GaussianMixture:
    model = latens.GaussianMixture(k, covariance_type=kind, prune=False, n_init=2, random_state=0)
    return model.fit(rows())


def factors(k: int, prior: str = "ml") -> latens.FactorAnalysis:
    return latens.FactorAnalysis(k, prior=prior, random_state=0).fit(rows())


def test_the_highest_bound_of_bayesian_fits_wins() -> None:
    found = latens.compare({"one": clusters(1), "three": clusters(3)})
    assert (found.best, found.by) == ("three", "bound")
    assert found.table["model"] == ["three", "one"]
    assert found.table["difference"][1] == pytest.approx(clusters(1).elbo_ - clusters(3).elbo_)
    assert sum(found.table["probability"]) == pytest.approx(1.0)
    assert "'three' has the highest bound" in found.verdict


def test_a_lead_of_less_than_three_nats_is_no_clear_winner() -> None:
    found = latens.compare({"a": clusters(3), "b": clusters(3)})
    assert found.best is None
    assert found.verdict.startswith("No clear winner")


def test_a_fit_that_was_broken_off_is_not_beaten_by_its_bound() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = latens.GaussianMixture(2, prune=False, random_state=0, max_iter=1).fit(rows())
    found = latens.compare({"short": short, "three": clusters(3)})
    assert found.best is None
    assert found.table["model"][0] == "three"
    assert "that of 'short' may still rise: the fit ended before it had converged" in found.verdict
    assert latens.compare({"short": clusters(2), "three": clusters(3)}).best == "three"


def test_bounds_of_point_estimates_ask_for_rows_that_no_fit_has_seen() -> None:
    with pytest.raises(ValueError, match=r"'two' is a FactorAnalysis of point estimates.*X_test.*prior='ard'"):
        latens.compare({"three": clusters(3), "two": factors(2)})


def test_new_rows_compare_point_estimates_by_paired_differences() -> None:
    new = rows(400, seed=1)
    found = latens.compare({"factors": factors(1), "clusters": clusters(3)}, X_test=new)
    gap = factors(1).score_samples(new) - clusters(3).score_samples(new)
    assert (found.best, found.by) == ("clusters", "density")
    assert found.table["difference"][1] == pytest.approx(gap.mean())
    assert found.table["error"][1] == pytest.approx(gap.std(ddof=1) / 20)


def test_a_lead_within_two_standard_errors_is_no_clear_winner() -> None:
    found = latens.compare({"full": clusters(3), "diag": clusters(3, "diag")}, X_test=rows(12, seed=2))
    assert found.best is None
    assert "No clear winner" in found.verdict


def test_a_density_is_never_ranked_against_a_mass() -> None:
    binary = (rows() > 4).astype(float)
    masses = latens.BernoulliMixture(2, random_state=0).fit(binary)
    densities = latens.GaussianMixture(2, random_state=0).fit(binary)
    for test in (None, binary):
        with pytest.raises(ValueError, match=r"'a' gives column 0 a probability mass and 'b' a density"):
            latens.compare({"a": masses, "b": densities}, X_test=test)


def test_kinds_of_columns_decide_between_densities_and_masses() -> None:
    X = np.random.default_rng(0).poisson(3.0, size=(100, 2)).astype(float)
    counts = latens.LatentClassAnalysis(1, likelihoods="poisson", random_state=0).fit(X)
    numbers = latens.LatentClassAnalysis(1, likelihoods="gaussian", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"likelihoods=.*latens\.suggest"):
        latens.compare({"counts": counts, "numbers": numbers})


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (rows()[:-1], r"different rows \(300 and 299\)"),
        (rows() + 1.0, "rows with different means"),
        (rows()[:, :2], "describes 3 columns and 'other' 2"),
    ],
)
def test_bounds_of_other_rows_are_refused(other: np.ndarray, words: str) -> None:
    model = latens.GaussianMixture(1, random_state=0).fit(other)
    with pytest.raises(ValueError, match=words):
        latens.compare({"one": clusters(1), "other": model})


@pytest.mark.parametrize("models", [{}, {"a": 1}, [1, 2], None])
def test_fewer_than_two_models_by_name_are_refused(models: Any) -> None:
    with pytest.raises(ValueError, match="give two or more by name"):
        latens.compare(models)


def test_a_model_that_is_not_fitted_is_named() -> None:
    with pytest.raises(ValueError, match=r"'new' is a GaussianMixture that is not fitted; call its fit\(X\) first"):
        latens.compare({"old": clusters(1), "new": latens.GaussianMixture(2)})


def test_a_rival_known_only_by_a_bound_is_not_beaten() -> None:
    X = rows()
    views = latens.NoisyICA(1, random_state=0).fit(X)
    assert views.score_is_bound_
    found = latens.compare({"clusters": clusters(3), "sources": views}, X_test=rows(200, seed=3))
    assert found.table["model"][0] == "clusters"
    assert found.best is None
    assert "only a lower bound" in found.verdict


def test_the_result_prints_and_writes_its_page(tmp_path: Path) -> None:
    found = latens.compare({"one <b>": clusters(1), "three": clusters(3)})
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    assert "one &lt;b&gt;" in page
    assert str(escape(found.verdict)) in page
    assert str(found).startswith(found.verdict)
    assert "<table>" in found._repr_html_()


@pytest.mark.extras
def test_the_result_draws_itself() -> None:
    import matplotlib

    matplotlib.use("agg")
    axes = latens.compare({"one": clusters(1), "three": clusters(3)}).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["three", "one"]


def test_rows_of_the_fit_are_no_test() -> None:
    both = {"one": clusters(1), "three": clusters(3)}
    with pytest.warns(RowsOfFit, match=r"looks like the 300 rows that 'one' was fitted to.* leave X_test out"):
        latens.compare(both, rows())
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsOfFit)
        latens.compare(both, rows(300, seed=1))


@pytest.mark.extras
def test_classes_and_views_of_the_same_mixed_frame_are_compared_whatever_the_order_of_their_columns() -> None:
    import pandas

    rng = np.random.default_rng(0)
    on = rng.random(300) < 0.5
    frame = pandas.DataFrame(
        {
            "member": np.where(rng.random(300) < 0.2 + 0.6 * on, "yes", "no"),
            "height": rng.normal(3.0 * on + 20.0),
            "weight": rng.normal(2.0 * on - 7.0),
            "colour": np.where(rng.random(300) < 0.3, "blue", np.where(on, "red", "green")),
        }
    )
    for table in (frame, frame.drop(columns="colour")):
        classes = latens.LatentClassAnalysis(2, random_state=0).fit(table)
        views = latens.MultiViewFactorAnalysis(1, random_state=0).fit(table)
        found = latens.compare({"classes": classes, "views": views})
        assert found.by == "bound"
        assert sorted(found.table["bound"]) == sorted([classes.elbo_, views.elbo_])
        held_out = latens.compare({"classes": classes, "views": views}, X_test=table.sample(100, random_state=0))
        assert held_out.by == "density"
    other = latens.LatentClassAnalysis(2, random_state=0).fit(
        frame.drop(columns="colour").assign(height=frame["height"] + 1)
    )
    with pytest.raises(ValueError, match="rows with different means"):
        latens.compare({"other": other, "views": views})


def test_fits_of_the_same_rows_are_compared_however_their_origins_are_rounded() -> None:
    """Origins are means on a grid, which differs with the unit that a model takes: 749 and 749.125 of proline."""
    from sklearn.datasets import load_wine

    X = load_wine().data
    full = latens.GaussianMixture(3, random_state=0, n_init=1, max_iter=20).fit(X)
    factors = latens.FactorAnalysis(3, prior="ard", random_state=0).fit(X)
    assert fitted_parts(full).units.origin[-1] != fitted_parts(factors).units.origin[-1]  # else this could not fail
    assert latens.compare({"full": full, "factors": factors}).by == "bound"
