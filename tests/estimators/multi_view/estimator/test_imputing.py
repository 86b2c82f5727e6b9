"""Entries and views that are absent are filled, with intervals that hold."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.datasets import make_multiview
from tests.estimators.multi_view.estimator.views import Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class TestImputing:
    def test_intervals_cover_hidden_entries_as_often_as_they_say(self) -> None:
        views, truth = make_multiview(200, (80, 60), n_factors=3, missing=0.15, random_state=55)
        shifted = {"view0": 100 + views["view0"], "view1": 1e-3 * views["view1"]}
        found = model().fit(shifted)
        filled, low, high = found.impute(shifted, coverage=0.95)
        hits = []
        for (name, hole), shift, unit in zip(truth.missing.items(), (100, 0), (1, 1e-3), strict=True):
            hidden = (shift + unit * truth.complete[name])[hole]
            hits.append((low[name][hole] < hidden) & (hidden < high[name][hole]))
            assert np.array_equal(filled[name][~hole], shifted[name][~hole])
            gap = filled[name][hole] - (shift + unit * truth.expected[name])[hole]
            assert np.sqrt(np.mean(gap**2)) < 0.4 * unit
        assert 0.93 < np.mean(np.concatenate(hits)) < 0.97

    def test_standard_deviations_are_those_of_the_errors(self) -> None:
        views, truth = make_multiview(200, (60, 40), n_factors=2, missing=0.15, random_state=56)
        filled, std = model(4).fit(views).impute(views, return_std=True)
        for name, hole in truth.missing.items():
            ratio = (truth.complete[name] - filled[name])[hole] / std[name][hole]
            assert np.std(ratio) == pytest.approx(1, abs=0.06)
            assert np.all(std[name][~hole] == 0)

    @pytest.mark.parametrize("seed", [57, 58])
    def test_chances_of_rare_events_are_nearly_as_good_as_the_truth(self, seed: int) -> None:
        views, truth = make_multiview(
            300, (80, 60), ("gaussian", "bernoulli"), n_factors=3, rate=0.08, missing=0.1, random_state=seed
        )
        chance = model().fit(views).impute(views)["view1"]
        hole, y = truth.missing["view1"], truth.complete["view1"]

        def log_loss(p: np.ndarray) -> float:
            return float(-np.mean(np.log(np.where(y[hole] > 0, p[hole], 1 - p[hole]))))

        best = log_loss(truth.expected["view1"])
        assert best < log_loss(chance) < best + 0.03

    def test_intervals_of_counts_cover_too(self) -> None:
        views, truth = make_multiview(300, (60, 60), ("gaussian", "poisson"), n_factors=2, missing=0.1, random_state=59)
        filled, low, high = model(4).fit(views).impute(views, coverage=0.9)
        hole, y = truth.missing["view1"], truth.complete["view1"]
        inside = (low["view1"] <= y) & (y <= high["view1"])
        assert 0.88 < inside[hole].mean() <= 1  # whole numbers cannot stop at nine tenths
        assert np.all(filled["view1"] >= 0)
        assert np.all(low["view1"] % 1 == 0)

    @pytest.mark.parametrize("size", [0.5, 1e6], ids=["overdispersed", "poisson"])
    def test_counts_are_filled_with_their_means_and_published_with_their_noise(
        self, size: float, tmp_path: Path
    ) -> None:
        """The bound of common columns has log-normal noise: by its means, counts of size .5 came out twice as large."""
        rng = np.random.default_rng(57)
        log_mean = rng.normal(size=(400, 2)) @ (0.5 * rng.normal(size=(2, 30))) + rng.uniform(2, 5, 30)
        counts = rng.poisson(np.exp(log_mean) * rng.gamma(size, 1 / size, log_mean.shape)).astype(float)
        hidden = rng.random(counts.shape) < 0.1
        found = model(4, likelihoods={"rna": "negative-binomial"}).fit({"rna": np.where(hidden, np.nan, counts)})
        filled = found.impute({"rna": np.where(hidden, np.nan, counts)})["rna"]
        assert filled[hidden].sum() == pytest.approx(np.exp(log_mean[hidden]).sum(), rel=0.15)
        dispersion = found.dispersion_["rna"]
        assert np.median(dispersion) == pytest.approx(1 / size, rel=0.25, abs=0.02)
        again = latens.load(latens.save(found, tmp_path / "model"))
        assert np.array_equal(again.dispersion_["rna"], dispersion)
        assert np.array_equal(again.impute({"rna": np.where(hidden, np.nan, counts)})["rna"], filled)

    @pytest.mark.parametrize("kind", ["poisson", "negative-binomial"])
    def test_a_hundred_rows_tell_the_dispersion_of_rare_counts(self, kind: str) -> None:
        """The prior draws it towards none, by no more nats than that many rows know better."""
        rng = np.random.default_rng(58)
        counts = rng.poisson(0.3 * rng.gamma(1 / 4, 4, size=(100, 40))).astype(float)
        counts = counts[:, counts.sum(axis=0) > 5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there is nothing to find
            found = model(2, likelihoods={"visits": kind}).fit({"visits": counts})
        assert np.mean(found.dispersion_["visits"] > 1) > 0.9
        assert np.median(found.dispersion_["visits"]) == pytest.approx(4.0, rel=0.25)

    def test_views_that_are_absent_are_predicted_whole(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, truth = data
        answer = fitted.impute({"view0": views["view0"]})
        assert set(answer) == {"view0", "view1"}
        assert np.array_equal(answer["view0"], views["view0"])
        rest = truth.expected["view1"] - answer["view1"]
        assert np.var(rest) < 0.5 * np.var(truth.expected["view1"] - truth.intercepts["view1"])

    def test_a_sample_with_nothing_gets_the_prior_and_the_levels(self, fitted: Any) -> None:
        nothing = {"view0": np.full((1, 60), np.nan)}
        mean, std = fitted.transform(nothing, return_std=True)
        assert mean == pytest.approx(0, abs=1e-12)
        assert std == pytest.approx(1)
        assert fitted.score_samples(nothing) == pytest.approx(0, abs=1e-9)
        assert fitted.impute(nothing)["view1"][0] == pytest.approx(fitted.intercepts_["view1"][0])

    def test_answers_come_in_the_container_that_was_given(self, data: tuple[Views, Any], fitted: Any) -> None:
        views, _ = data
        assert isinstance(fitted.impute(list(views.values())), list)
        plain = model(3).fit(views["view0"])
        assert plain.impute(views["view0"]).shape == (200, 60)
        assert plain.layout_.views == ("x",)
        assert plain.inverse_transform(plain.transform(views["view0"])).shape == (200, 60)

    @pytest.mark.parametrize("seed", [1, 2, 4])
    @pytest.mark.parametrize("kind", ["negative-binomial", "poisson"])
    def test_counts_of_a_row_that_shows_nothing_are_filled_with_about_what_was_seen(self, kind: str, seed: int) -> None:
        """The mean of a log-normal rate is that of its tail: it was a million times the largest count.

        Rates above the largest count are counted as that or a little more.
        """
        rng = np.random.default_rng(seed)
        z, w = rng.normal(size=(60, 2)), 3 * rng.normal(size=(2, 10))
        y = rng.poisson(np.exp(np.minimum(2 + z @ w, 20))).astype(float)
        y[:5] = np.nan
        found = latens.MultiViewFactorAnalysis(2, likelihoods={"c": kind}, random_state=0, moves=False).fit({"c": y})
        filled, std = (part["c"] for part in found.impute({"c": y}, return_std=True))
        assert np.all(filled[:5] <= 1.05 * np.nanmax(y, axis=0))
        assert np.all(filled[:5] > 0.02 * np.nanmean(y, axis=0))
        assert np.all(std[:5] <= np.nanmax(y, axis=0))
        _, low, high = (part["c"] for part in found.impute({"c": y}, coverage=0.9))
        assert np.all((low[:5] <= filled[:5]) & (filled[:5] <= 1.01 * np.maximum(high[:5], np.nanmax(y, axis=0))))
