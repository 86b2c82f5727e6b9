"""The page on adding a model is run as it stands, and what it builds is held to the contract."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from latens.core import Rows, State
from latens.inference.ascent import ascend

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add_a_model.md"


@pytest.fixture(scope="module")
def code():
    return "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S))


@pytest.fixture(scope="module")
def toy(code):
    space = {"__name__": "toy"}
    exec(compile(code, str(PAGE), "exec"), space)
    return space


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    rates = np.array([[1.0, 9.0, 2.0], [8.0, 1.0, 2.0], [5.0, 5.0, 20.0]])
    return rng.poisson(rates[rng.integers(3, size=300)]).astype(float), rates


def test_the_model_takes_fewer_than_150_lines(code):
    assert sum(bool(line.strip()) for line in code.splitlines()) < 150


def test_the_regimes_are_found(toy, counts):
    X, rates = counts
    model = toy["CountMixture"](3, random_state=0).fit(X)
    nearest = np.abs(model.components_[:, None] - rates).max(axis=2).min(axis=0)
    assert np.all(nearest < 1)
    assert np.all(np.diff(model.elbo_history_) >= -1e-9 * abs(model.elbo_))


def test_it_streams_imputes_and_scores(toy, counts):
    X, _ = counts
    holes = np.random.default_rng(1).random(X.shape) < 0.1
    missing = np.where(holes, np.nan, X)
    model = toy["CountMixture"](3, random_state=0).partial_fit(missing[:150]).partial_fit(missing[150:])
    filled = model.impute(missing)
    plain = np.nanmean(missing, axis=0) * np.ones_like(X)
    assert np.mean((filled - X)[holes] ** 2) < np.mean((plain - X)[holes] ** 2)
    assert np.isfinite(model.score_samples(missing)).all()
    drawn, _ = model.sample(2000)
    assert drawn.mean(axis=0) == pytest.approx(X.mean(axis=0), rel=0.2)
    assert model.sample_posterior(4)["components"].shape == (4, 3, 3)


def test_weights_are_repetitions(toy, counts):
    X, _ = counts
    weight = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = toy["CountMixture"](3, random_state=0).fit(X, sample_weight=weight)
    repeated = toy["CountMixture"](3, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert weighted.elbo_ == pytest.approx(repeated.elbo_, rel=1e-10)


def test_one_regime_is_the_exact_evidence(toy):
    x = np.random.default_rng(3).poisson(4.0, size=(6, 2)).astype(float)
    model = toy["CountRegimes"](2, shape=1.3, pace=0.7)
    fit = ascend(model, [Rows(x[:2]), Rows(x[2:])], State(model.prior(1)), max_iter=5)
    a, b, n, s = 1.3, 0.7, len(x), x.sum(axis=0)
    per_column = a * np.log(b) - gammaln(a) + gammaln(a + s) - (a + s) * np.log(b + n)
    assert fit.elbo == pytest.approx(per_column.sum() - gammaln(x + 1).sum(), abs=1e-10)


def test_two_regimes_stay_below_the_enumerated_evidence(toy):
    x = np.random.default_rng(4).poisson([[1, 6], [6, 1], [1, 6], [7, 2]]).astype(float)
    model = toy["CountRegimes"](2, shape=1.0, pace=0.5)
    start = toy["Regimes"](model.prior(2).weights, toy["Gamma"](1 + x[:2], np.full((2, 2), 1.5)))
    fit = ascend(model, [Rows(x)], State(start), tol=1e-12)

    def evidence(members):
        s, n = x[members].sum(axis=0), len(members)
        return float(np.sum(np.log(0.5) + gammaln(1 + s) - (1 + s) * np.log(0.5 + n)) - gammaln(x[members] + 1).sum())

    every = []
    for labels in np.ndindex(2, 2, 2, 2):
        groups = [np.flatnonzero(np.array(labels) == k) for k in (0, 1)]
        sizes = np.array([len(g) for g in groups])
        prior = gammaln(2) - gammaln(2 + len(x)) + gammaln(1 + sizes).sum()
        every.append(prior + sum(map(evidence, groups)))
    exact = logsumexp(every)
    assert exact - 3 < fit.elbo <= exact + 1e-9
