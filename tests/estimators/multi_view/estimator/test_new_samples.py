"""Factors of new samples from any of the views, and their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from latens.datasets import make_multiview
from latens.metrics import match_components
from tests.estimators.multi_view.estimator.views import MIXED, Views, model
from tests.estimators.multi_view.refit import codes_given_loadings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestNewSamples:
    @pytest.mark.parametrize("given", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)], ids=str)
    def test_factors_from_any_views_equal_a_refit_with_the_loadings_given(
        self, given: tuple[int, ...], of_mixed: Any
    ) -> None:
        new, _ = make_multiview(8, (30, 40, 30), MIXED, n_factors=2, missing=0.2, random_state=53)
        part = {f"view{m}": new[f"view{m}"] for m in given}
        mean, std = of_mixed.transform(part, return_std=True)
        exact_mean, exact_std = codes_given_loadings(of_mixed, part)
        assert mean == pytest.approx(exact_mean, abs=1e-6)
        assert std == pytest.approx(exact_std, abs=1e-6)

    def test_fewer_views_leave_more_uncertainty(self, of_mixed: Any, mixed: tuple[Views, Any]) -> None:
        one, all_ = (
            of_mixed.transform({name: mixed[0][name] for name in names}, return_std=True)[1].mean()
            for names in (("view0",), ("view0", "view1", "view2"))
        )
        assert all_ < one < 1.0001

    def test_standard_deviations_are_honest(self) -> None:
        views, truth = make_multiview(400, (25, 20), n_factors=2, random_state=54)
        found = model(4).fit(views)
        mean, std = found.transform({"view0": views["view0"]}, return_std=True)
        match = match_components(found.scores_.T, truth.codes.T, signed=True)
        gaps = match.sign * mean[:, match.index] - truth.codes
        has_loadings = np.abs(truth.components["view0"]).max(axis=1) > 0
        inside = np.abs(gaps) < 1.96 * std[:, match.index]
        assert 0.9 < inside[:, has_loadings].mean() < 0.98

    def test_scores_of_the_fit_are_its_transform(self, data: tuple[Views, Any], fitted: Any, of_mixed: Any) -> None:
        assert fitted.transform(data[0]) == pytest.approx(fitted.scores_, abs=1e-9)
        assert of_mixed.scores_.shape == (250, 2)

    def test_order_of_rows_and_blocks_do_not_matter(self, mixed: tuple[Views, Any], of_mixed: Any) -> None:
        order = np.random.default_rng(0).permutation(250)
        turned = of_mixed.transform({name: view[order] for name, view in mixed[0].items()})
        assert turned == pytest.approx(of_mixed.transform(mixed[0])[order], abs=1e-7)


class TestScores:
    def test_scores_are_the_density_at_the_expected_loadings(self, fitted: Any) -> None:
        new, _ = make_multiview(6, (60, 40), n_factors=3, missing=0.3, random_state=61)
        loadings = np.hstack(list(fitted.components_.values()))
        covariance = loadings.T @ loadings + np.diag(np.concatenate(list(fitted.noise_variance_.values())))
        level = np.concatenate([part[0] for part in fitted.intercepts_.values()])
        expected = []
        for row in np.hstack(list(new.values())):
            seen = ~np.isnan(row)
            expected.append(multivariate_normal.logpdf(row[seen], level[seen], covariance[np.ix_(seen, seen)]))
        assert not fitted.score_is_bound_
        assert fitted.score_samples(new) == pytest.approx(np.array(expected), rel=1e-10)
        assert fitted.score(new) == pytest.approx(np.mean(expected), rel=1e-10)

    def test_scores_of_mixed_views_are_below_the_likelihood_at_the_expected_loadings(self, of_mixed: Any) -> None:
        """Bounds: of a sample's evidence, here integrated over its factors by quadrature."""
        new, _ = make_multiview(5, (30, 40, 30), MIXED, n_factors=2, random_state=62)
        nodes, mass = np.polynomial.hermite_e.hermegauss(60)
        z = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        log_mass = np.log(np.outer(mass, mass).ravel() / mass.sum() ** 2)
        level = np.tile(log_mass[:, None], (1, 5))
        for name, view in of_mixed.inverse_transform(z).items():
            for row, y in enumerate(new[name]):
                level[:, row] += _log_likelihood(of_mixed, name, y, view).sum(axis=1)
        evidence = np.logaddexp.reduce(level, axis=0)
        gaps = evidence - of_mixed.score_samples(new)
        assert np.all((gaps > 0) & (gaps < 25))

    def test_what_is_explained_is_between_nothing_and_all(self, of_mixed: Any, fitted: Any) -> None:
        for each in (of_mixed, fitted):
            shares = each.explained_
            for part in shares.values():
                assert np.all((part >= 0) & (part <= 1))
            assert np.all(shares["per_factor"] <= shares["total"][..., None] + 0.02)
        assert of_mixed.explained_["total"].min() > 0.02

    def test_what_is_explained_without_noise_is_each_factors_share(self) -> None:
        rng = np.random.default_rng(3)
        z = np.linalg.qr(rng.normal(size=(100, 2)) - 0)[0]
        z = np.linalg.qr(z - z.mean(axis=0))[0] * 10
        w = np.zeros((2, 20))
        w[0, :12], w[1, 8:] = rng.normal(size=12), 2 * rng.normal(size=12)
        w[:, ::2] *= -1
        clean = 5 + z @ w
        found = model(4).fit({"a": clean + 1e-3 * rng.normal(size=clean.shape)})
        expected = np.sort(np.mean(w**2 / np.sum(w**2, axis=0), axis=1))  # each column in its own sd
        assert found.n_components_ == 2
        assert found.explained_["total"][0, 0] == pytest.approx(1, abs=1e-4)
        assert np.sort(found.explained_["per_factor"][0, 0]) == pytest.approx(expected, abs=0.02)

    def test_nothing_is_explained_where_there_is_nothing(self) -> None:
        views = {"a": np.random.default_rng(0).normal(size=(300, 30))}
        assert model(5).fit(views).explained_["total"][0, 0] < 0.02


def _log_likelihood(found: Any, name: str, y: np.ndarray, expected: np.ndarray) -> np.ndarray:
    kind = found.likelihoods_[name]
    if kind == "gaussian":
        variance = found.noise_variance_[name]
        return -0.5 * ((y - expected) ** 2 / variance + np.log(2 * np.pi * variance))
    if kind == "bernoulli":
        return np.log(np.where(y > 0, expected, 1 - expected))
    from scipy.special import gammaln

    return y * np.log(expected) - expected - gammaln(y + 1)
