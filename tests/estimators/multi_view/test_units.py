"""Views whose columns are in different units, groups of different sizes, views that never vary, values out of range."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows
from latens.estimators.rows.units import Units

UNITS = np.array([10.0, 6e4, 0.2, 3e-4, 1e9])
LEVELS = np.array([60.0, 2.5e5, 0.9, 1e-3, 3e9])


def clinical(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Five columns, each in a unit of its own, of which four follow two factors, and a view of fifty."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    plain = z[:, [0, 1, 0, 1, 0]] * [1, 1, 1, 1, 0] + 0.5 * rng.normal(size=(n, 5))
    return LEVELS + UNITS * plain, z @ rng.normal(size=(2, 50)) + rng.normal(size=(n, 50))


def loud(seed: int, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """A view of 25 columns on two factors, the first column louder by that factor."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(120, 2))
    x = z @ (1.2 * rng.normal(size=(2, 25)) * (rng.random((2, 25)) < 0.6)) + rng.normal(size=(120, 25))
    x[:, 0] *= factor
    return x, z


def found(z: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.abs(np.corrcoef(z.T, scores.T)[: z.shape[1], z.shape[1] :]).max(axis=1)


def mixed(seed: int = 5, n: int = 120) -> dict[str, np.ndarray]:
    """A Gaussian, a binary and a count view on two factors."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    eta = [z @ (1.2 * rng.normal(size=(2, d))) + 0.7 * rng.normal(size=d) for d in (25, 20, 22)]
    return {
        "g": eta[0] + rng.normal(size=eta[0].shape),
        "b": (rng.random(eta[1].shape) < 1 / (1 + np.exp(-eta[1]))).astype(float),
        "p": rng.poisson(np.logaddexp(0, eta[2])).astype(float),
    }


def fitted(views: Any, k: int = 4, short: bool = False, **options: Any) -> latens.MultiViewFactorAnalysis:
    """If `short`, without moves and before it has settled, for what does not depend on where a fit ends."""
    few: dict[str, Any] = {"moves": False, "max_iter": 40} if short else {}
    return latens.MultiViewFactorAnalysis(k, random_state=0, **few).fit(views, **options)


class TestColumnsOfDifferentUnits:
    def test_intervals_are_as_wide_as_in_units_of_each_column(self) -> None:
        clin, omics = clinical()
        hidden = clin.copy()
        hidden[::4] = np.nan
        spread = clin.std(axis=0)
        asked, same = {"clin": hidden, "omics": omics}, {"clin": hidden / spread, "omics": omics}
        model, other = fitted(asked), fitted(same)
        _, low, high = model.impute(asked, coverage=0.95)
        _, low_own, high_own = other.impute(same, coverage=0.95)
        widths, widths_own = ((b["clin"] - a["clin"])[::4].mean(axis=0) for a, b in ((low, high), (low_own, high_own)))
        np.testing.assert_allclose(widths / spread, widths_own, rtol=0.02)
        within = (low["clin"] <= clin) & (clin <= high["clin"])
        assert within[::4].mean() > 0.88

    def test_noise_is_no_larger_than_the_column(self) -> None:
        clin, omics = clinical(1)
        noise = fitted({"clin": clin, "omics": omics}).noise_variance_["clin"]
        assert np.all(noise < 1.2 * clin.var(axis=0))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_one_huge_column_leaves_the_others_alone(self, dtype: Any) -> None:
        x = loud(3, 1e8)[0].astype(dtype)
        noise = fitted(x, 3).noise_variance_["x"]
        assert np.all(noise[1:] < 1.2 * x[:, 1:].var(axis=0))

    def test_a_small_column_far_from_0_beside_a_huge_one(self) -> None:
        x, _ = loud(4, 1e9)
        x[:, 1] = 1e5 + 1e-3 * x[:, 1]
        noise = fitted(x, 3).noise_variance_["x"]
        assert noise[1] < 1.2 * x[:, 1].var()

    def test_a_column_that_never_varies_is_told_from_one_of_small_unit(self) -> None:
        x, _ = loud(4, 1.0)
        x[:, 1], x[:, 2] = 1e-9 * x[:, 1], 0.1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", latens.errors.ConstantColumns)
            noise = fitted(x, 3).noise_variance_["x"]
        assert noise[1] < 1.2 * x[:, 1].var()
        assert noise[2] > 1e-12

    def test_origins_are_as_fine_as_the_unit_of_their_column(self) -> None:
        x = loud(4, 1e9)[0]
        x[:, 1] = 1e5 + 1e-3 * x[:, 1]
        frame = Units.of(Rows(x), centred=True)
        assert np.all(np.abs(frame.origin - x.mean(axis=0)) < 1e-3 * x.std(axis=0))
        np.testing.assert_array_equal(frame.origin, Units.of(Rows(x[::-1].copy()), centred=True).origin)


class TestStart:
    @pytest.mark.parametrize("seed", range(50020, 50026))
    def test_a_loud_column_is_not_followed(self, seed: int) -> None:
        x, z = loud(seed, 10.0)
        plain, _ = loud(seed, 1.0)
        model = fitted(x)
        assert model.n_components_ == 2
        assert np.all(found(z, model.scores_) > found(z, fitted(plain).scores_) - 0.02)

    def test_a_clinical_view_has_no_factor_of_its_own(self) -> None:
        clin, omics = clinical()
        hidden = clin[:, :4].copy()
        hidden[::4] = np.nan
        model = fitted({"clin": hidden, "omics": omics})
        assert model.n_components_ == 2
        assert np.all(model.noise_variance_["clin"] > 0.1 * hidden[1::2].var(axis=0, where=~np.isnan(hidden[1::2])))

    def test_columns_of_one_size_have_one_start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from latens.estimators.multi_view import starts

        def refuse(*_: Any) -> None:
            raise AssertionError("two starts of the same columns were tried")

        x, _ = loud(7, 10.0)
        monkeypatch.setattr(starts, "ascend_all", refuse)
        fitted((x - x.mean(axis=0)) / x.std(axis=0))
        with pytest.raises(AssertionError, match="two starts"):
            fitted(x)

    def test_the_same_twice(self) -> None:
        x, _ = loud(8, 10.0)
        assert fitted(x).elbo_ == fitted(x).elbo_


class TestVarianceExplained:
    def test_nothing_of_a_view_that_is_constant_in_a_group(self) -> None:
        views = mixed()
        for name in "bp":
            views[name][:60] = 0
        total = fitted(views, 3, short=True, groups=np.repeat(["a", "b"], 60)).explained_["total"]
        np.testing.assert_allclose(total[0, 1:], 0, atol=1e-9)
        assert total[0, 0] > 0.3
        assert np.all(total[1] > 0.1)

    def test_nothing_of_a_group_of_one_sample(self) -> None:
        explained = fitted(mixed(), 3, short=True, groups=np.r_[["solo"], ["rest"] * 119]).explained_
        alone = 1  # groups are in the order of their names
        np.testing.assert_allclose(explained["total"][alone], 0, atol=1e-9)
        np.testing.assert_allclose(explained["per_factor"][alone], 0, atol=1e-9)

    def test_nothing_of_rare_counts_without_signal(self) -> None:
        rng = np.random.default_rng(0)
        views = {"p": rng.poisson(1e-4, (4000, 30)).astype(float), "g": rng.normal(size=(4000, 5))}
        model = latens.MultiViewFactorAnalysis(2, likelihoods={"p": "poisson"}, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", latens.errors.ConstantColumns)
            assert model.fit(views).explained_["total"][0, 0] < 1e-3


class TestSample:
    def test_groups_are_as_common_as_in_the_fit(self) -> None:
        x, _ = loud(2, 1.0)
        x[:20] += 10
        groups = np.repeat(["a", "b"], [20, 100])
        model = fitted({"x": x}, 3, short=True, groups=groups)
        drawn = model.sample(4000)[0]["x"]
        assert drawn.mean() == pytest.approx(x.mean(), abs=0.4)
        model.partial_fit({"x": x[:20]}, groups=groups[:20])
        more = np.concatenate([x, x[:20]])
        assert model.sample(4000)[0]["x"].mean() == pytest.approx(more.mean(), abs=0.4)


class TestRange:
    @staticmethod
    def fitted_and_asked(dtype: Any, size: float) -> tuple[Any, np.ndarray]:
        """A model, and two rows for it: one with a hole, one with an entry of that size."""
        x = loud(2, 1.0)[0].astype(dtype)
        rows = x[:2].copy()
        rows[1, 0], rows[0, 1] = size, np.nan
        return fitted(x, 3), rows

    @pytest.mark.parametrize(("dtype", "size"), [(float, 1e155), (float, 1e160), (np.float32, 1e25)])
    @pytest.mark.parametrize("method", ["transform", "score_samples", "impute"])
    def test_values_too_large_to_be_squared_are_refused(self, method: str, dtype: Any, size: float) -> None:
        model, rows = self.fitted_and_asked(dtype, size)
        with pytest.raises(ValueError, match="too large to be squared"):
            getattr(model, method)(rows)

    @pytest.mark.parametrize(("dtype", "size"), [(float, 1e150), (np.float32, 1e16)])
    @pytest.mark.parametrize("method", ["transform", "score_samples", "impute"])
    def test_smaller_ones_have_answers(self, method: str, dtype: Any, size: float) -> None:
        model, rows = self.fitted_and_asked(dtype, size)
        assert np.all(np.isfinite(getattr(model, method)(rows)))

    def test_no_nan_where_a_column_of_small_unit_leaves_the_range(self) -> None:
        x = loud(2, 1e12)[0]
        model = fitted(x, 3)
        row = x[:2].copy()
        row[1, 1] = 1e163  # less than what the unit of the view allows, and too much for that of the column
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="too large to be squared"):
            model.score_samples(row)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_that_share_no_view_do_not_blow_up_the_start() -> None:
    kinds = ("gaussian", "bernoulli", "poisson")
    views, truth = latens.datasets.make_multiview(
        60, (9, 8, 7), kinds, 2, missing=0.1, missing_views=0.2, random_state=3
    )
    tables = {}
    for name, values in views.items():
        here, nothing = values[:10], np.full_like(values[:10], np.nan)
        tables[name] = np.vstack([nothing, here] if name == "view2" else [here, nothing])
    model = latens.MultiViewFactorAnalysis(5, likelihoods=truth.likelihoods, moves=False, max_iter=50, random_state=0)
    model.fit(tables)
    assert model.elbo_history_[0] > 2 * model.elbo_ < 0  # the start was below -1e12
