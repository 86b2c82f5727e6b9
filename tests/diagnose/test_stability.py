"""Whether components come back in halves of the rows."""

from __future__ import annotations

import importlib
import inspect
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.diagnose import halves


@cache
def factors(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    loadings = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0.8, 0.8, 0.8, 0.8]])
    return rng.normal(size=(160, 2)) @ loadings + rng.normal(size=(160, 8))


@cache
def of_factors() -> halves.Stability:
    return latens.stability(latens.FactorAnalysis(2, random_state=0), factors())


def test_planted_components_return() -> None:
    found = of_factors()
    assert found.n_pairs == 25
    assert found.return_rate.min() >= 0.9
    assert found.table["component"] == ["factor0", "factor1"]
    assert found.verdict.startswith("2 of 2 components return")


def test_components_forced_on_noise_do_not() -> None:
    noise = np.random.default_rng(1).normal(size=(160, 8))
    found = latens.stability(latens.FactorAnalysis(3, random_state=0), noise)
    assert found.return_rate.max() <= 0.3
    assert "not factor" in found.verdict


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 10, 11])
def test_columns_that_are_factors_of_their_own_do_not_return(seed: int) -> None:
    """Maximum likelihood gives columns of noise no noise; factors are these columns, one each or turned together."""
    noise = np.random.default_rng(seed).normal(size=(160, 8))
    assert latens.stability(latens.FactorAnalysis(3, prior="ml", random_state=0), noise).return_rate.max() <= 0.3


@pytest.mark.parametrize("columns", ["four", "two", "equal"])
def test_causes_of_few_columns_return_though_one_of_these_has_no_noise(columns: str) -> None:
    rng = np.random.default_rng(3)
    z, e = rng.normal(size=(400, 2)), rng.normal(size=(400, 8))
    parts = {"four": np.kron(np.eye(2), np.full(4, 0.9)), "two": np.kron(np.eye(2), [1.4, 1.4, 0.0, 0.0])}
    X = np.column_stack([e, e[:, 0], e[:, 1]]) if columns == "equal" else z @ parts[columns] + e
    found = latens.stability(latens.FactorAnalysis(2, prior="ml", random_state=0), X)
    assert found.return_rate.min() >= 0.9


def test_intervals_of_hidden_numbers_are_checked_on_the_other_half() -> None:
    found = of_factors()
    assert 0.82 <= found.coverage <= 0.97
    assert "90 % interval" in found.verdict
    low, high = found.coverage_interval
    assert 0 < low < found.coverage < high < 1
    assert f"of {found.n_hidden:,} hidden numbers" in found.verdict
    assert f"({100 * low:.0f} to {100 * high:.0f} %" in found.verdict


def test_few_hidden_numbers_are_said_to_be_few(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(16, 3)) @ np.ones((3, 3))
    found = latens.stability(latens.FactorAnalysis(1, random_state=0), X, n_samples=2)
    assert 0 < found.n_hidden < 20
    assert found.coverage_interval[1] - found.coverage_interval[0] > 0.1
    assert "too few to tell" in str(found)
    assert f"of {found.n_hidden} hidden numbers" in found.report(tmp_path / "page.html").read_text()


def test_intervals_that_are_too_narrow_are_noticed() -> None:
    class Sure(latens.FactorAnalysis):
        def impute(self, X: Any, return_std: bool = False) -> Any:
            filled, sd = super().impute(X, return_std=True)
            return filled, 0.3 * sd

    assert latens.stability(Sure(2, random_state=0), factors(), n_samples=8).coverage < 0.6


@pytest.mark.extras
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis])
def test_intervals_of_the_numbers_of_a_mixed_frame_are_checked(kind: Any, library: str) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 2))
    columns = {f"x{j}": z @ rng.normal(size=2) + 0.5 * rng.normal(size=200) for j in range(6)}
    columns["x1"][::7] = np.nan
    text = {"smoker": np.where(z[:, 0] > 0, "yes", "no"), "colour": np.array(["red", "blue"])[(z[:, 1] > 1) * 1]}
    frame = importlib.import_module(library).DataFrame
    found = latens.stability(kind(3, random_state=0), frame({**columns, **text}), n_samples=4)
    assert 0.8 <= found.coverage <= 0.98
    assert "90 % interval" in found.verdict
    none = latens.stability(kind(3, random_state=0), frame(text), n_samples=2)
    assert np.isnan(none.coverage)
    assert none.verdict.endswith("Intervals were not checked: the model fills no cells of measurements.")


def test_clusters_are_matched_whatever_their_order() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + 8.0 * np.eye(3)[:, :2][np.arange(90) % 3]
    found = latens.stability(latens.GaussianMixture(random_state=0), X, n_samples=6)
    assert len(found.return_rate) == 3
    assert found.return_rate.min() == 1


def test_a_fitted_model_is_left_as_it_was() -> None:
    model = latens.FactorAnalysis(2, random_state=0).fit(factors())
    before = model.components_.copy()
    latens.stability(model, factors(), n_samples=2)
    assert np.array_equal(model.components_, before)


class Codes:
    """A fit that says this of every row."""

    def __init__(self, codes: np.ndarray, sd: float = 0.0) -> None:
        self.codes, self.sd = codes, np.full(codes.shape, sd)

    def transform(self, X: Any, return_std: bool = False) -> tuple[np.ndarray, np.ndarray]:
        return self.codes, self.sd


def agreement(whole: Codes, *fits: Codes) -> float:
    n = len(whole.codes)
    return float(halves._agreement(whole, fits, np.zeros((n, 1)), np.array_split(np.arange(n), 2), {})[0])


def test_agreement_is_the_least_among_the_three_fits_in_either_half() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    together = [abs(np.corrcoef(one[half, 0], other[half, 0])[0, 1]) for half in (slice(25), slice(25, None))]
    assert agreement(Codes(one + other), Codes(-3 * one), Codes(other)) == pytest.approx(min(together))


def test_codes_that_say_next_to_nothing_do_not_agree_however_alike_they_are() -> None:
    near_nothing = 1e-4 * np.random.default_rng(0).random((50, 1))
    assert agreement(*[Codes(near_nothing)] * 3) == pytest.approx(1)
    assert agreement(*[Codes(near_nothing, sd=0.1)] * 3) < 1e-4


def test_a_cluster_of_one_row_is_not_in_the_half_without_it() -> None:
    lone = np.zeros((50, 1))
    lone[3] = 1.0
    assert agreement(*[Codes(lone)] * 3) == 0
    lone[30] = 1.0
    assert agreement(*[Codes(lone)] * 3) == pytest.approx(1)


class Named:
    def get_feature_names_out(self) -> list[str]:
        return ["cluster0"]


def test_humps_that_shuffled_columns_keep_are_no_chance() -> None:
    agreement, humps = np.full((25, 1), 0.85), [np.array([0.99])] * 8
    agreement[0] = 0.0
    rate = halves._result(Named(), agreement, np.ones(1), humps, []).return_rate[0]
    assert 0.9 <= rate < 0.96


@pytest.mark.parametrize(("reliability", "returns"), [(0.6, True), (1.0, False)])
def test_halves_need_not_be_surer_of_a_weak_component_than_all_rows_are(reliability: float, returns: bool) -> None:
    agreement, humps = np.full((25, 1), 0.5), [np.array([0.9])] * 8
    rate = halves._result(Named(), agreement, np.array([reliability]), humps, []).return_rate[0]
    assert rate == (1.0 if returns else 0.0)


def test_reliability_is_the_correlation_of_two_draws() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(200_000, 1))
    codes = halves._codes(Codes(mean, sd=0.7), mean, {})
    one, other = (mean[:, 0] + 0.7 * rng.normal(size=len(mean)) for _ in range(2))
    assert codes.reliability()[0] == pytest.approx(np.corrcoef(one, other)[0, 1], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_empty_classes_on_noise_do_not_return(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(100, 4))
    model = latens.LatentClassAnalysis(3, prune=False, random_state=0).fit(X)
    assert latens.stability(model, X, n_samples=10).return_rate.max() <= 0.3


def test_nothing_found_returns_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(40, 4))
    for model in (latens.FactorAnalysis(2, prior="ard", random_state=0), latens.MultiViewFactorAnalysis(2)):
        found = latens.stability(model, X, n_samples=2)
        assert found.return_rate.size == 0
        assert found.verdict.startswith("Nothing was found")


def test_halves_share_no_row_and_rows_come_with_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    plain = halves._fitted

    def watch(model: Any, X: Any, rows: Any, fit_params: dict[str, Any]) -> Any:
        seen.append(rows)
        return plain(model, X, rows, fit_params)

    monkeypatch.setattr(halves, "_fitted", watch)
    weights = np.ones(160)
    latens.stability(latens.FactorAnalysis(1, random_state=0), factors(), n_samples=2, sample_weight=weights)
    one, other = (rows for rows in seen[1:3])
    assert len(one) == len(other) == 80
    assert not set(one) & set(other)


def test_the_time_limits_the_pairs() -> None:
    found = latens.stability(latens.FactorAnalysis(1, random_state=0), factors(), max_time=1e-3)
    assert found.n_pairs == 1
    assert "return in one pair of halves" in found.verdict
    assert found.verdict.endswith("Time was over after 1 of 25 pairs.")
    whole = latens.stability(latens.FactorAnalysis(1, random_state=0), factors(), n_samples=2, max_time=60)
    assert "Time was over" not in whole.verdict


@pytest.mark.parametrize(
    ("X", "n", "words"), [(factors()[:5], 50, "X has 5 rows"), (factors(), 1, "n_samples=1 are no pair")]
)
def test_what_cannot_be_halved_is_refused(X: np.ndarray, n: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        latens.stability(latens.FactorAnalysis(1), X, n)


def test_views_are_halved_together() -> None:
    views, _ = latens.datasets.make_multiview(80, (12, 8), n_factors=1, random_state=0)
    found = latens.stability(latens.MultiViewFactorAnalysis(2, random_state=0), views, n_samples=2)
    assert 0.7 <= found.coverage <= 1


def test_the_signature_is_that_of_the_documentation(tmp_path: Path) -> None:
    parameters = inspect.signature(latens.stability).parameters
    assert list(parameters)[:3] == ["model", "X", "n_samples"]
    assert parameters["n_samples"].default == 50
    assert "return rate above chance" in of_factors().report(tmp_path / "page.html").read_text("utf-8")


@pytest.mark.extras
def test_the_result_draws_itself() -> None:
    import matplotlib

    matplotlib.use("agg")
    assert len(of_factors().plot().patches) == 2


def test_halves_have_as_many_components_as_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[Any] = []
    plain = halves._fitted

    def watch(*given: Any) -> Any:
        fitted.append(plain(*given))
        return fitted[-1]

    monkeypatch.setattr(halves, "_fitted", watch)
    model = latens.FactorAnalysis(5, prior="ard", random_state=0).fit(factors())
    latens.stability(model, factors(), n_samples=2)
    assert [each.n_components_ for each in fitted] == [2] * 5  # two halves, and shuffled rows with theirs


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: latens.MultiViewFactorAnalysis(5, random_state=0),
                                  lambda: latens.FactorAnalysis(5, prior="ard", random_state=0)])  # fmt: skip
def test_a_weak_factor_worth_ten_nats_in_half_of_the_rows_returns(make: Any) -> None:
    rng = np.random.default_rng(0)
    loadings = np.zeros((2, 10))
    loadings[0, :5], loadings[1, 5:] = 1.0, 0.62
    X = rng.normal(size=(300, 2)) @ loadings + rng.normal(size=(300, 10))
    two, one = (latens.FactorAnalysis(k, prior="ard", prune=False).fit(X[:150]).elbo_ for k in (2, 1))
    assert 8 < two - one < 20
    found = latens.stability(make(), X, n_samples=20)
    assert len(found.return_rate) == 2
    assert found.return_rate.min() >= 0.9


@pytest.mark.extras
def test_a_class_that_is_left_empty_does_not_widen_the_intervals_of_hidden_cells() -> None:
    """More classes than half of the rows tell apart: by their variances every cell lay inside, by quantiles 90 % do."""
    import pandas

    rng = np.random.default_rng(0)
    label = rng.integers(3, size=160)
    x = rng.normal(2.5 * label[:, None], 1, (160, 3))
    frame = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "t": np.array(["u", "v", "w"])[label]})
    for X in (frame, frame[["a", "b", "c"]].to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = latens.LatentClassAnalysis(12, prune=False, moves=False, random_state=0).fit(X)
            found = latens.stability(model, X, n_samples=8)
        assert 0.8 <= found.coverage <= 0.97
