"""LatentClassAnalysis as users meet it, and what reports of classes state, for all mixtures."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as PlainMixture

import latens
from latens.errors import EmptyRows, NotIdentified, UnseenLevels
from tests.estimators.conventions.verdict import complaints

QUICK = {"random_state": 0, "n_init": 1, "n_jobs": 1}
KINDS = {3: "categorical", 6: "ordinal"}  # of the table; the others are guessed


def table(n: int = 300, seed: int = 0, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes with columns of every kind, one of them in another unit, and the classes."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)
    chance = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    x = np.column_stack(
        [
            rng.normal(3.0 * label),
            100 + 1000 * rng.normal(size=n) + 3000 * (label == 1),
            rng.random(n) < np.array([0.1, 0.9, 0.5])[label],
            [rng.choice([1.0, 2.0, 5.0], p=chance[c]) for c in label],
            rng.poisson(np.array([0.5, 2, 1])[label]),
            rng.negative_binomial(2, 2 / (2 + np.array([3, 12, 30])[label])),
            np.clip(np.round(rng.normal(2 + label)), 1, 5),
        ]
    ).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x, label


def fitted(x: np.ndarray, n_components: int = 6, **options: Any) -> latens.LatentClassAnalysis:
    return latens.LatentClassAnalysis(n_components, **{"likelihoods": KINDS, **QUICK, **options}).fit(x)


def test_scikit_learn_finds_no_fault() -> None:
    assert complaints(latens.LatentClassAnalysis(**QUICK)) == []


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("weight_prior", ["dirichlet", "dirichlet_process", "uniform"])
def test_classes_and_their_number_are_found(weight_prior: str, missing: float) -> None:
    x, label = table(missing=missing)
    model = fitted(x, weight_prior=weight_prior)
    assert model.n_components_ == 3
    assert adjusted_rand_score(label, model.predict(x)) > 0.85
    assert np.array_equal(model.predict(x), model.predict_proba(x).argmax(axis=1))
    assert model.weights_.sum() == pytest.approx(1)
    assert np.all(np.diff(model.share_) <= 0)
    assert np.all(np.diff(model.elbo_history_) > -1e-8)
    assert np.array_equal(fitted(x, weight_prior=weight_prior).fit_predict(x), model.predict(x))


def test_kinds_are_guessed_and_said() -> None:
    x, _ = table()
    model = latens.LatentClassAnalysis(2, likelihoods={"x3": "categorical"}, **QUICK).fit(x)
    assert list(model.likelihoods_) == [f"x{d}" for d in range(7)]
    kinds = ["gaussian", "gaussian", "bernoulli", "categorical", "poisson", "negative-binomial", "gaussian"]
    assert list(model.likelihoods_.values()) == kinds  # a scale from 1 to 5 is no count


@pytest.mark.parametrize("factor", [1e-100, 0.01, 1e100])
def test_the_unit_of_a_real_column_moves_the_bound_by_its_entries_alone(factor: float) -> None:
    x, _ = table(missing=0.1)
    units = np.ones(7)
    units[1] = factor
    one, two = fitted(x, tol=1e-9), fitted(x * units, tol=1e-9)  # they start elsewhere and end alike
    entries = np.count_nonzero(~np.isnan(x[:, 1]))
    assert two.n_components_ == one.n_components_
    assert two.predict_proba(x * units) == pytest.approx(one.predict_proba(x), abs=1e-4)
    assert two.elbo_ == pytest.approx(one.elbo_ - entries * np.log(factor), abs=1e-3)
    assert two.means_ / units == pytest.approx(one.means_, rel=1e-3)


def test_the_order_of_columns_and_rows_changes_nothing() -> None:
    x, _ = table(missing=0.1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(x)), rng.permutation(7)
    one = fitted(x, tol=1e-9)
    kinds = {int(np.flatnonzero(columns == d)[0]): kind for d, kind in KINDS.items()}
    two = latens.LatentClassAnalysis(6, likelihoods=kinds, tol=1e-9, **QUICK).fit(x[rows][:, columns])
    assert two.n_components_ == one.n_components_
    assert two.elbo_ == pytest.approx(one.elbo_, abs=1e-3)
    assert two.predict_proba(x[:, columns]) == pytest.approx(one.predict_proba(x), abs=1e-3)


def test_weights_are_repetitions() -> None:
    x, _ = table(120, missing=0.1)
    times = np.random.default_rng(2).integers(0, 4, len(x))
    one = latens.LatentClassAnalysis(4, likelihoods=KINDS, **QUICK).fit(x, sample_weight=times)
    two = fitted(np.repeat(x, times, axis=0), 4)
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-10)
    assert two.score_samples(x) == pytest.approx(one.score_samples(x), rel=1e-8)
    assert two.entropy_ == pytest.approx(one.entropy_, rel=1e-6)


def test_with_real_columns_alone_it_is_the_mixture_of_independent_gaussians() -> None:
    x, _ = latens.datasets.make_mixture(200, n_components=2, n_features=3, spread=8.0, random_state=0)
    classes = latens.LatentClassAnalysis(2, moves=False, **QUICK).fit(x)
    mixture = latens.GaussianMixture(2, covariance_type="diag", moves=False, **QUICK).fit(x)
    # their priors differ by what a rough clustering makes of rows in another order
    assert classes.elbo_ == pytest.approx(mixture.elbo_, abs=0.2)
    assert classes.score_samples(x) == pytest.approx(mixture.score_samples(x), abs=0.01)
    assert classes.means_ == pytest.approx(mixture.means_, abs=0.01)
    assert classes.n_parameters_ == mixture.n_parameters_


def test_overdispersion_buys_no_classes_where_it_is_modelled() -> None:
    counts = np.random.default_rng(3).negative_binomial(0.7, 0.1, size=(400, 4)).astype(float)
    assert latens.LatentClassAnalysis(6, likelihoods="negative-binomial", **QUICK).fit(counts).n_components_ == 1
    assert latens.LatentClassAnalysis(6, likelihoods="poisson", **QUICK).fit(counts).n_components_ > 1


def test_profiles_say_what_each_class_is_like() -> None:
    x, _ = table(600)
    model = fitted(x)
    profiles = model.profiles_
    assert profiles.columns == ("column", "kind", "of", *model.get_feature_names_out())
    assert profiles["of"] == (
        ["mean", "s.d.", "mean", "s.d.", "P(1)", "P(1)", "P(2)", "P(5)", "mean", "mean", "size"]
        + [f"P({step})" for step in range(1, 6)]
    )
    first = model.predict(x) == 0
    by_class = dict(zip(zip(profiles["column"], profiles["of"], strict=True), profiles.rows, strict=True))
    assert by_class["x0", "mean"][3] == pytest.approx(x[first, 0].mean(), abs=0.1)
    assert by_class["x1", "s.d."][3] == pytest.approx(x[first, 1].std(), rel=0.1)
    assert by_class["x3", "P(5)"][3] == pytest.approx(np.mean(x[first, 3] == 5), abs=0.05)
    assert by_class["x5", "size"][3] == pytest.approx(2, rel=0.35)
    assert "x3" in model.summary()["top features"][0]
    draws = model.sample_posterior(50)
    assert draws["means"].shape == (50, 3, 7)
    assert draws["means"][:, 0, 0].mean() == pytest.approx(model.means_[0, 0], abs=0.1)


def test_missing_entries_are_filled_with_values_of_their_kind() -> None:
    x, _ = table(400, missing=0.15)
    model = fitted(x)
    whole, spread = model.impute(x, return_std=True)
    hole = np.isnan(x)
    assert np.array_equal(whole[~hole], x[~hole])
    assert np.all(spread[~hole] == 0)
    assert np.all(spread[hole] > 0)
    assert set(np.unique(whole[:, 3])) == {1.0, 2.0, 5.0}
    assert set(np.unique(whole[:, 6])) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert 0 < whole[hole[:, 2], 2].min() < whole[hole[:, 2], 2].max() < 1
    chances = model.impute_proba(x)
    assert {name: chance.shape for name, chance in chances.items()} == {
        "x2": (400, 2),
        "x3": (400, 3),
        "x6": (400, 5),
    }
    assert chances["x2"][hole[:, 2], 1] == pytest.approx(whole[hole[:, 2], 2])
    assert chances["x3"].sum(axis=1) == pytest.approx(np.ones(400))
    best = np.array([1.0, 2.0, 5.0])[chances["x3"].argmax(axis=1)]
    assert np.array_equal(best[hole[:, 3]], whole[hole[:, 3], 3])
    rebuilt = model.inverse_transform(model.transform(x))
    assert set(np.unique(rebuilt[:, 3])) <= {1.0, 2.0, 5.0}
    drawn, codes = model.sample(200)
    assert set(np.unique(drawn[:, 3])) <= {1.0, 2.0, 5.0}
    assert np.array_equal(drawn[:, 5], np.floor(drawn[:, 5]))
    assert codes.shape == (200, 3)


def test_chances_of_hidden_levels_are_calibrated() -> None:
    x, _ = table(2000, seed=4)
    hidden = x.copy()
    hidden[:, 3] = np.where(np.arange(2000) % 4 == 0, np.nan, x[:, 3])
    model = fitted(hidden, 3)
    chance = model.impute_proba(hidden)["x3"][::4]
    truth = x[::4, 3][:, None] == np.array([1.0, 2.0, 5.0])
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        among = (chance >= low) & (chance < high)
        error = 4 * 0.5 / np.sqrt(max(among.sum(), 1))
        assert truth[among].mean() == pytest.approx(chance[among].mean(), abs=error)


def test_levels_that_the_fit_did_not_see_are_missing_and_counted() -> None:
    x, _ = table()
    model = fitted(x)
    strange, empty = x[:4].copy(), x[:4].copy()
    strange[[0, 2], 3], empty[[0, 2], 3] = [7.0, 8.0], np.nan
    with pytest.warns(UnseenLevels, match=r"taken as missing, in the column\(s\) 'x3 \(2\)'"):
        found = model.predict_proba(strange)
    assert found == pytest.approx(model.predict_proba(empty))
    assert model.score_samples(empty)[1] == pytest.approx(model.score_samples(x[:4])[1])


@pytest.mark.parametrize(
    ("likelihoods", "change", "message"),
    [
        ("nonsense", None, r"likelihoods\['x0'\]='nonsense' is not known; choose one of 'gaussian'"),
        ({"y": "gaussian"}, None, r"likelihoods names the column\(s\) 'y'; there are 'x0'"),
        (["gaussian"], None, r"is no dict; give one such as \{'x0': 'categorical'\}"),
        ({0: "bernoulli"}, None, r"column 'x0' is to be bernoulli but holds .*choose 'categorical'"),
        ({0: "poisson"}, None, r"column 'x0' is to be poisson but holds .*choose 'gaussian'"),
        ({4: "negative-binomial"}, -1.0, r"column 'x4' is to be negative-binomial but holds -1; give counts from 0"),
        ({4: "poisson"}, 0.5, r"column 'x4' is to be poisson but holds 0.5; give counts from 0"),
        ({4: "categorical"}, "constant", r"shows only 2; a category needs two levels, so leave the column out"),
        ({4: "ordinal"}, "nothing", r"shows no value at all; a category needs two levels"),
        ({4: "categorical"}, "many", r"has more than 500 levels, the most that can be learnt. Join rare levels"),
    ],
)
def test_kinds_that_do_not_fit_are_refused_with_a_remedy(likelihoods: Any, change: Any, message: str) -> None:
    x, _ = table(1000)
    if change == "many":
        x[:, 4] = np.arange(1000)
    elif isinstance(change, str):
        x[:, 4] = 2.0 if change == "constant" else np.nan
    elif change is not None:
        x[3, 4] = change
    model = latens.LatentClassAnalysis(2, likelihoods=likelihoods, **QUICK)
    with pytest.raises(ValueError, match=message):
        model.fit(x)
    assert not hasattr(model, "columns_")


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
def test_columns_that_say_nothing_do_no_harm() -> None:
    x, _ = table()
    x[:, 1], x[:, 2], x[:, 4] = np.nan, 1.0, 3.0
    model = fitted(x)
    assert model.n_components_ == 3
    assert np.isfinite(model.score_samples(x)).all()
    assert np.isfinite(model.impute(x)).all()


def test_new_rows_with_values_of_another_kind_are_refused() -> None:
    x, _ = table()
    model = fitted(x)
    for column, value in ((2, 0.5), (5, -1.0), (5, 2.5)):
        strange = x[:3].copy()
        strange[1, column] = value
        with pytest.raises(ValueError, match=f"column 'x{column}' is to be"):
            model.score_samples(strange)


def test_batches_add_to_a_fit() -> None:
    x, label = table(600)
    model = latens.LatentClassAnalysis(3, likelihoods=KINDS, **QUICK)
    for part in np.split(x, 3):
        model.partial_fit(part)
    assert model._state.stats.n == 600
    assert model.classification_.sum() == pytest.approx(600)
    assert adjusted_rand_score(label, model.predict(x)) > 0.8
    with pytest.warns(UnseenLevels):
        model.partial_fit(np.where(np.arange(7) == 3, 4.0, x[:5]))


def test_starts_can_be_given_or_random() -> None:
    x, label = table()
    centres = np.array([x[label == c][0] for c in range(3)])
    given = latens.LatentClassAnalysis(3, likelihoods=KINDS, init=centres, moves=False, **QUICK).fit(x)
    assert adjusted_rand_score(label, given.predict(x)) > 0.85
    assert fitted(x, init="random").n_components_ == 3
    for wrong in (np.ones((3, 2)), "nearest", np.full((3, 7), np.nan)):
        with pytest.raises(ValueError, match="init="):
            fitted(x, 3, init=wrong)


def test_a_warm_start_goes_on_with_the_kinds_it_knows() -> None:
    x, _ = table()
    model = latens.LatentClassAnalysis(3, likelihoods=KINDS, warm_start=True, **QUICK).fit(x)
    before, kinds = model.elbo_, model.columns_
    model.fit(x)
    assert model.elbo_ >= before - 1e-6
    assert model.columns_ is kinds


def test_too_few_binary_columns_are_said_to_identify_nothing() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((3000, 3)) < np.array([[0.95] * 3, [0.05] * 3])[rng.integers(2, size=3000)]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotIdentified)
        assert latens.LatentClassAnalysis(4, **QUICK).fit(x).n_components_ == 2
    with pytest.warns(NotIdentified, match="2 columns of 0 and 1 do not identify 2 classes.*at most 1 classes"):
        latens.LatentClassAnalysis(2, **QUICK, moves=False).fit(x[:, :2])


def test_bits_of_information_criteria_are_those_of_their_definition() -> None:
    x, _ = table(missing=0.1)
    model = fitted(x)
    k, density = 3, model.score_samples(x).sum()
    free = (k - 1) + k * (2 + 2 + 1 + (3 - 1) + 1 + (5 - 1)) + (k + 1)
    assert model.n_parameters_ == free
    assert model.bic(x) == pytest.approx(-2 * density + free * np.log(len(x)))
    assert model.aic(x) == pytest.approx(-2 * density + 2 * free)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_state_the_criteria_that_scikit_learn_states(kind: str) -> None:
    x, _ = latens.datasets.make_mixture(400, n_components=3, n_features=3, spread=8.0, random_state=0)
    ours = latens.GaussianMixture(3, covariance_type=kind, **QUICK).fit(x)
    plain = PlainMixture(3, covariance_type=kind, random_state=0, n_init=3).fit(x)
    assert ours.n_parameters_ == plain._n_parameters()
    assert ours.bic(x) == pytest.approx(plain.bic(x), rel=0.01)
    assert ours.aic(x) == pytest.approx(plain.aic(x), rel=0.01)
    assert (
        latens.GaussianMixture(3, covariance_type=kind, weight_prior="uniform", **QUICK).fit(x).n_parameters_
        == plain._n_parameters() - 2
    )


def test_the_classification_table_says_how_sure_the_assignments_are() -> None:
    x, _ = table()
    model = fitted(x)
    share = model.predict_proba(x)
    sure = model.classification_table_
    assert sure["rows"] == pytest.approx(np.bincount(share.argmax(axis=1), minlength=3))
    for k, name in enumerate(model.get_feature_names_out()):
        assert sure[name][k] == pytest.approx(share[share.argmax(axis=1) == k, k].mean())
    entropy = -np.sum(share * np.log(np.maximum(share, 1e-300)))
    assert model.entropy_ == pytest.approx(1 - entropy / (len(x) * np.log(3)))
    assert 0.5 < model.entropy_ < 1
    assert latens.LatentClassAnalysis(1, **QUICK).fit(x[:, :2]).entropy_ == 1.0
    binary = latens.BernoulliMixture(2, **QUICK).fit((x[:, :3] > 1).astype(float))
    assert len(binary.classification_table_) == binary.n_components_


def test_intervals_count_what_the_classes_leave_unknown() -> None:
    x, _ = table(200)
    model = fitted(x, 3)
    answer = model.intervals(x, method="response", quantities="means")
    assert answer.method == "response"
    rows = {(row[answer.columns.index("component")], row[answer.columns.index("feature")]): row for row in answer.rows}
    name = str(model.get_feature_names_out()[0])
    std = answer.columns.index("std")
    among = x[model.predict(x) == 0]
    for d in (0, 1, 2, 4, 5):
        plain = among[:, d].std() / np.sqrt(len(among))
        assert 0.8 * plain < rows[name, f"x{d}"][std] < 2.5 * plain, d


def test_intervals_of_chances_are_chances_and_those_of_counts_positive() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=300)
    yes, maybe = rng.random(300) < 0.01 + 0.98 * z, rng.random(300) < 0.5 + 0.45 * z
    x = np.column_stack([rng.normal(3 * z), yes, maybe, rng.poisson(0.05 + 3 * z)]).astype(float)
    model = fitted(x, 2, likelihoods={0: "gaussian", 1: "bernoulli", 2: "bernoulli", 3: "poisson"})
    answer = model.intervals(x, quantities="means")
    low, high = (np.array(answer[name]) for name in ("lower", "upper"))
    chances = np.array([feature in ("x1", "x2") for feature in answer["feature"]])
    assert (low[chances] > 0).all()
    assert (high[chances] < 1).all()
    assert (low[np.array(answer["feature"]) == "x3"] > 0).all()
    real = np.array(answer["feature"]) == "x0"
    middle = np.array(answer["estimate"])
    assert (high - middle)[real] == pytest.approx((middle - low)[real])


def test_levels_have_intervals_by_every_method() -> None:
    x, _ = table(300)
    model = fitted(x, 3)
    profiles = {(row[0], row[2]): row[3:] for row in model.profiles_.rows}
    names = [str(name) for name in model.get_feature_names_out()]
    for method in ("response", "bootstrap", "mean-field"):
        answer = model.intervals(x, method=method, quantities="level_probabilities")
        assert {row[2] for row in answer.rows} == {
            *(f"x3 = {level}" for level in (1, 2, 5)),
            *(f"x6 = {level}" for level in range(1, 6)),
        }
        for _, component, feature, _, value, std, low, high, *_ in answer.rows:
            column, level = feature.split(" = ")
            assert value == pytest.approx(profiles[column, f"P({level})"][names.index(component)], abs=0.01)
            assert 0 <= low <= value <= high <= 1, (method, feature)
            assert std > 0
    of_one = model.intervals(x, features="x3")
    assert {row[2] for row in of_one.rows} == {"x3", "x3 = 1", "x3 = 2", "x3 = 5"}
    assert model.sample_posterior(20)["level_probabilities"].shape == (20, 3, 8)


def test_widths_of_classes_have_intervals_by_every_method() -> None:
    """One class of certain rows: the variance is an inverse Gamma, and means have the tails of Student's t."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(5, 3, size=40), rng.random(40) < 0.5, rng.poisson(2.0, size=40)]).astype(float)
    model = fitted(x, 1, likelihoods={2: "poisson"})
    normal = model.posterior_.clusters.parts["gaussian"]
    shape, rate = float(normal.shape[0, 0]), float(normal.rate[0, 0]) * 4.0 ** float(model._units.exponent[0])
    exact = np.sqrt(stats.invgamma(shape, scale=rate).ppf([0.025, 0.975]))
    for method, close in (("response", 0.05), ("mean-field", 0.05), ("bootstrap", 0.4), ("gibbs", 0.05)):
        (row,) = model.intervals(x, method=method, quantities="standard_deviations").rows
        assert row[:3] == ("standard_deviations", "class0", "x0")
        assert row[4] == pytest.approx(model.profiles_["class0"][1], rel=0.02)
        assert row[6:8] == pytest.approx(exact, rel=close), method
    (mean,) = [row for row in model.intervals(x, quantities="means").rows if row[2] == "x0"]
    wide = stats.t(2 * shape).ppf(0.975) * np.sqrt(rate / shape / float(normal.strength[0, 0]))
    assert (mean[7] - mean[6]) / 2 == pytest.approx(wide, rel=0.01)
    assert model.sample_posterior(7)["standard_deviations"].shape == (7, 1, 1)


@pytest.mark.slow
def test_classes_of_conjugate_columns_are_sampled_holes_and_all() -> None:
    x, _ = table(300, missing=0.05)
    with pytest.raises(ValueError, match="columns negative-binomial have no closed posterior given the classes"):
        fitted(x, 3).intervals(x, method="gibbs")
    x = np.delete(x, 5, axis=1)
    model = fitted(x, 3, likelihoods={3: "categorical", 5: "ordinal"})
    assert model.n_components_ == 3
    sampled, response = (model.intervals(x, method=method) for method in ("gibbs", "response"))
    assert [row[:3] for row in sampled.rows] == [row[:3] for row in response.rows]
    ratio = np.array(response["std"]) / np.array(sampled["std"])
    assert np.median(ratio) == pytest.approx(1, abs=0.1)
    gaps = (np.array(response["estimate"]) - np.array(sampled["estimate"])) / np.array(sampled["std"])
    assert np.median(np.abs(gaps)) < 0.2
    drawn = model.sample_posterior(40, method="gibbs", X=x)
    assert max(drawn.r_hat.values()) < 1.1
    assert drawn["standard_deviations"].shape == (40, 3, 2)


def test_a_level_that_a_class_never_shows_is_held_below_what_the_class_would_have_shown() -> None:
    """Classes that are certain: the interval is that of a Beta, 3.7 / n at the most, not half of the range."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=400)
    x = np.column_stack([rng.normal(20 * z), np.where(z, rng.integers(2, size=400), 2)]).astype(float)
    model = fitted(x, 2, likelihoods={0: "gaussian", 1: "categorical"})
    few = stats.beta(1 / 3 + np.sum(x[:, 1] == 1), 2 / 3 + np.sum(x[:, 1] == 0))
    always = stats.beta(1 / 3 + np.sum(x[:, 1] == 2), 2 / 3)
    for method, close in (("response", 2e-3), ("mean-field", 6e-3), ("bootstrap", 0.03)):
        answer = model.intervals(x, method=method, quantities="level_probabilities", features="x1")
        rare = [row for row in answer.rows if row[4] < 0.01]
        assert len(rare) == 3
        for row in rare:
            assert 1 / 200 < row[7] < 3.7 / min(np.sum(z), np.sum(1 - z)), method
        (shown,) = [row for row in answer.rows if row[2] == "x1 = 1" and row[4] > 0.1]
        assert shown[6:8] == pytest.approx(few.ppf([0.025, 0.975]), abs=close), method
        (certain,) = [row for row in answer.rows if row[4] > 0.9]  # rows drawn anew are all alike, too
        assert certain[6] == pytest.approx(always.ppf(0.025), abs=4e-3), method


@pytest.mark.slow
def test_intervals_of_levels_hold_the_truth() -> None:
    """60 data sets of two classes that overlap, with holes: 95 % less three standard errors by data set is .91."""
    chances = [np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]), np.array([[0.6, 0.35, 0.05], [0.1, 0.3, 0.6]])]
    held = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 99])
        label = rng.choice(2, 300, p=[0.6, 0.4])
        columns = [[rng.choice(3, p=chance[k]) for k in label] for chance in chances]
        x = np.column_stack([rng.normal(2.0 * label), rng.normal(-1.0 * label), *columns]).astype(float)
        x[rng.random(x.shape) < 0.05] = np.nan
        kinds = {0: "gaussian", 1: "gaussian", 2: "categorical", 3: "ordinal"}
        model = latens.LatentClassAnalysis(2, likelihoods=kinds, random_state=0).fit(x)
        if model.n_components_ != 2:
            continue
        order = np.argsort(model.means_[:, 0])
        names = [str(name) for name in model.get_feature_names_out()]
        for _, component, feature, _, _, _, low, high, sound, _ in model.intervals(
            x, quantities="level_probabilities"
        ).rows:
            k = int(np.flatnonzero(order == names.index(component))[0])
            d, level = int(feature[1]) - 2, int(feature[-1])
            held += [low <= chances[d][k, level] <= high] if sound else []
    assert len(held) > 400
    assert 0.91 <= np.mean(held) <= 0.98


def test_single_precision_rows_answer_in_kind() -> None:
    x, _ = table(missing=0.1)
    one, two = fitted(x, 3), fitted(x.astype(np.float32), 3)
    assert two.predict_proba(x.astype(np.float32)).dtype == np.float32
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-4)
    assert two.impute(x.astype(np.float32)).dtype == np.float32


@pytest.mark.extras
def test_tensors_stay_tensors() -> None:
    import torch

    x, _ = table(missing=0.1)
    one, two = fitted(x, 3), fitted(torch.asarray(x), 3)
    found = two.predict_proba(torch.asarray(x))
    assert isinstance(found, torch.Tensor)
    assert found.numpy() == pytest.approx(one.predict_proba(x), abs=1e-6)
    assert isinstance(two.impute(torch.asarray(x)), torch.Tensor)
    assert two.impute(torch.asarray(x)).numpy() == pytest.approx(one.impute(x), rel=1e-6)


@pytest.mark.slow
def test_quantiles_of_many_rows_do_not_take_the_memory_of_all_draws() -> None:
    """400 draws of 20,000 x 4 are 244 MiB; the same quantiles come of rows a part at a time."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) + 3 * rng.integers(2, size=(20_000, 1))
    model = latens.LatentClassAnalysis(2, random_state=0, max_iter=5, moves=False, prune=False).fit(X[:500])
    truth = X[::10, 0].copy()
    X[::10, 0] = np.nan
    tracemalloc.start()
    try:
        _, found = model.impute(X, quantiles=(0.05, 0.95))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 230 * 2**20
    inside = (found[0.05][::10, 0] <= truth) & (truth <= found[0.95][::10, 0])
    assert 0.86 < inside.mean() < 0.94


@pytest.mark.extras
def test_rows_that_show_nothing_are_named() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 4.0 * (rng.random((40, 1)) < 0.3)
    X[[3, 7]], X[9, 0] = np.nan, np.nan
    words = r"2 of 40 rows have no observed value: '{}', '{}'\. The fit ignores them, and their chances of classes"
    with pytest.warns(EmptyRows, match=words.format(3, 7)):
        model = latens.LatentClassAnalysis(2, random_state=0).fit(X)
    assert model.predict_proba(X)[3] == pytest.approx(model.weights_)
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(40)]).assign(sex=rng.choice(["f", "m"], 40))
    frame.loc[["r3", "r7"], "sex"] = None
    with pytest.warns(EmptyRows, match=words.format("r3", "r7")):
        latens.LatentClassAnalysis(2, random_state=0).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmptyRows)
        model.fit(X[10:])
