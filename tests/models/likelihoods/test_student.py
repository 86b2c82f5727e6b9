"""Measurements with outliers: how much their bound loses, and what it says of new entries and of tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

import latens
from latens.core import Rows
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods import Columns, Predictor
from latens.models.likelihoods.student import Student, Tails
from tests.models.likelihoods.quadrature import D, lost_nats


def columns(nu: float, tau: float, d: int = 1) -> Columns:
    return Columns(KnownGamma(np.full(d, tau)), parameters=Tails(np.array([nu])))


@pytest.mark.parametrize("nu", [1.5, 3.0, 10.0, 100.0])
def test_the_bound_loses_a_tenth_of_a_nat_an_entry_at_most(nu: float) -> None:
    lost = [
        lost_nats(
            Student(),
            tau,
            np.zeros(D),
            lambda y, eta, tau=tau: t.logpdf((y - eta) * np.sqrt(tau), nu) + 0.5 * np.log(tau),  # type: ignore[misc]
            np.random.default_rng(round(10 * nu)),
            Tails(np.array([nu])),
        )
        for tau in (0.5, 4.0)
    ]
    assert min(lost) > -1e-3  # quadrature of two modes is good to this
    assert max(lost) < 0.1


def test_the_bound_is_the_density_where_eta_is_known() -> None:
    y, nu, tau = np.array([[-40.0, 0.3, 2.0]]), 2.5, 1.7
    eta = np.full((1, 3), 0.2)
    at = Predictor(eta.copy, lambda: eta**2, columns(nu, tau, 3))
    tangent = Student().tangent(Rows(y), at)
    assert tangent.free is not None
    parabola = Student().level(Rows(y), tangent) + tangent.response * eta - 0.5 * tangent.precision * eta**2
    found = tau * parabola + tangent.free.constant() + 0.5 * np.log(tau / (2 * np.pi))
    assert found == pytest.approx(t.logpdf((y - eta) * np.sqrt(tau), nu) + 0.5 * np.log(tau), rel=1e-12)
    assert tangent.precision[0, 0] < 0.01 < 1 < tangent.precision[0, 1]  # an outlier hardly counts


@pytest.mark.parametrize("nu", [1.2, 5.0, 60.0])
def test_limits_leave_out_as_many_new_entries_as_they_say(nu: float) -> None:
    rng, tau = np.random.default_rng(1), columns(nu, 4.0)
    for variance in (0.0, 0.2, 3.0):
        eta = 0.7 + np.sqrt(variance) * rng.normal(size=(200_000, 1))
        draws = Student().draw(eta, tau, rng)
        low, high = Student().between(np.array([[0.7]]), np.array([[variance]]), tau, 0.05)
        assert np.mean(draws < low) == pytest.approx(0.05, abs=2e-3)
        assert np.mean(draws > high) == pytest.approx(0.05, abs=2e-3)


def test_two_degrees_of_freedom_have_no_variance() -> None:
    mean, variance = Student().expect(np.zeros((1, 1)), np.ones((1, 1)), columns(2.0, 1.0))
    assert (mean, variance) == (0, np.inf)
    assert Student().expect(np.zeros((1, 1)), np.ones((1, 1)), columns(4.0, 2.0))[1] == pytest.approx(1 + 0.5 * 2)


def test_a_perfect_prediction_has_no_deviance_and_an_outlier_has_little() -> None:
    far, near = (Student().deviance(np.full((1, 1), y), np.zeros((1, 1)), columns(3.0, 1.0)) for y in (30.0, 3.0))
    assert Student().deviance(np.ones((1, 1)), np.ones((1, 1)), columns(3.0, 1.0)) == 0
    assert near < far < 5 * near


@pytest.fixture(scope="module")
def contaminated() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True factors, all entries, and those that are hidden."""
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=(300, 3)), rng.normal(size=(3, 40)) * (rng.random((3, 40)) < 0.5)
    return z, 100 * (z @ w + rng.standard_t(2, size=(300, 40)) + 3), rng.random((300, 40)) < 0.1


def recovery(model: latens.MultiViewFactorAnalysis, z: np.ndarray) -> float:
    design = np.column_stack([model.scores_, np.ones(len(z))])
    left = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return float(1 - (left**2).sum() / ((z - z.mean(axis=0)) ** 2).sum())


def test_factors_are_found_behind_outliers_and_intervals_of_hidden_entries_hold(
    contaminated: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    z, y, hidden = contaminated
    views = {"x": np.where(hidden, np.nan, y)}
    models = {
        kind: latens.MultiViewFactorAnalysis(6, likelihoods={"x": kind}, random_state=0).fit(views)
        for kind in ("student", "gaussian")
    }
    robust = models["student"]
    assert robust.likelihoods_ == {"x": "student"}
    assert robust.n_components_ == 3
    assert recovery(robust, z) > recovery(models["gaussian"], z) + 0.1
    assert robust.tails_["x"] == pytest.approx(2, abs=0.5)
    assert robust.elbo_ > models["gaussian"].elbo_ + 1000
    _, low, high = robust.impute(views, coverage=0.9)
    inside = (low["x"] <= y) & (y <= high["x"])
    assert 0.85 < inside[hidden].mean() < 0.95


def test_views_with_outliers_go_into_files_streams_and_intervals(
    contaminated: tuple[np.ndarray, np.ndarray, np.ndarray], tmp_path: object
) -> None:
    _, y, _ = contaminated
    model = latens.MultiViewFactorAnalysis(3, likelihoods={"x": "student"}, random_state=0, max_iter=20)
    model.partial_fit({"x": y[:220]}).partial_fit({"x": y[220:]})
    latens.save(model, f"{tmp_path}/model.latens")
    read = latens.load(f"{tmp_path}/model.latens")
    assert read.tails_ == model.tails_
    assert np.array_equal(read.transform({"x": y}), model.transform({"x": y}))
    table = model.intervals(method="mean-field", quantities=["noise_variance", "tails"])
    assert len(table.rows) == 41
