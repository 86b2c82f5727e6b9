"""Mixtures against what can be computed in other ways: closed evidences, enumeration, the document, integrals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

from latens.core import Rows, State
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.dirichlet import Dirichlet
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.sticks import Sticks
from latens.inference.ascent import ascend
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior
from tests.contract.cases import CASES
from tests.contract.measurements import checks
from tests.contract.models import mixture_cases as cases

LOG_2PI = math.log(2 * math.pi)
KINDS = ["full", "tied", "diag", "spherical", "known", "bernoulli"]


def rows_of(kind: str, rng: np.random.Generator, n: int, d: int, *, holes: bool = False) -> Rows:
    x = rng.normal(size=(n, d)) * np.linspace(0.5, 2, d) + rng.choice([-2.0, 2.0], size=(n, 1))
    x = (x > 0).astype(float) if kind == "bernoulli" else x
    if not holes:
        return Rows(x)
    seen = rng.random((n, d)) < 0.7
    return Rows(np.where(seen, x, 0.0), seen)


def fit_of(model: Mixture, rows: Rows, k: int, rng: np.random.Generator, **options: Any) -> Any:
    start = State(cases.start(model, k, np.asarray(rows.x), rng))
    return ascend(model, [rows], start, **({"max_iter": 500, "tol": 1e-13} | options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_the_bound_of_one_cluster_is_its_evidence(kind: str, weights: str) -> None:
    rng = np.random.default_rng(1)
    rows = rows_of(kind, rng, 12, 3)
    model = Mixture(cases.WEIGHTS[weights](), cases.clusters(kind, 3))
    fit = fit_of(model, rows, 1, rng)
    # alpha is in the bound even where there is no stick to break, and its posterior is then its prior
    assert fit.elbo == pytest.approx(cases.log_evidence(model, fit.state.q, rows), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("kind", ["diag", "spherical", "known", "bernoulli"])
def test_holes_leave_one_cluster_its_evidence_where_columns_are_apart(kind: str) -> None:
    rng = np.random.default_rng(2)
    rows = rows_of(kind, rng, 12, 3, holes=True)
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 3))
    fit = fit_of(model, rows, 1, rng)
    assert fit.elbo == pytest.approx(cases.log_evidence(model, fit.state.q, rows), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", cases.WEIGHTS)
def test_the_best_bound_is_just_below_the_sum_over_all_labellings(kind: str, weights: str) -> None:
    """2^6 labellings, all starts: the gap is what the factorised posterior leaves out."""
    rng = np.random.default_rng(3)
    rows = rows_of(kind, rng, 6, 2)
    model = Mixture(cases.WEIGHTS[weights](), cases.clusters(kind, 2))
    best = max(fit_of(model, rows, 2, rng, max_iter=60).elbo for _ in range(12))
    exact = cases.log_evidence(model, model.prior(2), rows)
    assert best <= exact + 1e-9
    assert best > exact - 3


@pytest.mark.parametrize(("kind", "k"), [("full", 2), ("diag", 2), ("spherical", 2), ("known", 2), ("known", 3)])
def test_far_apart_clusters_leave_a_gap_of_log_k_factorial(kind: str, k: int) -> None:
    """The posterior has K! equal modes and the bound sees one."""
    rng = np.random.default_rng(4)
    n = 8 if k == 2 else 6
    labels = np.arange(n) % k
    rows = Rows(1000.0 * (labels - 1)[:, None] + 0.3 * rng.normal(size=(n, 2)))
    prior = cases.clusters(kind, 2)
    if kind != "known":
        prior = replace(prior, strength=np.full_like(prior.strength, 1e-7))  # centres may be anywhere
    model = Mixture(Dirichlet(np.array([0.7])), prior)
    q = model.global_step(model.prior(k), model.statistics(rows, Memberships(np.eye(k)[labels])))
    fit = ascend(model, [rows], State(q), max_iter=100, tol=1e-13)
    assert cases.log_evidence(model, q, rows) - fit.elbo == pytest.approx(math.log(math.factorial(k)), abs=1e-5)


def document_bound(x: np.ndarray, phi: np.ndarray, m: np.ndarray, s2: np.ndarray, sigma2: float, sign: float) -> float:
    """The document's sum, its noise variance 1; `sign` is that of the prior's quadratic term, + as printed."""
    (n, p), k = x.shape, len(m)
    total = -0.5 * k * p * np.log(2 * np.pi * sigma2) + sign * 0.5 / sigma2 * np.sum(s2 * p + np.sum(m**2, axis=1))
    gap = np.sum((x[:, None] - m) ** 2, axis=2) + p * s2
    total += -n * np.log(k) + np.sum(phi * (-0.5 * p * np.log(2 * np.pi) - 0.5 * gap))
    return float(total - np.sum(phi * np.log(phi)) + 0.5 * p * np.sum(np.log(2 * np.pi * s2) + 1))


def document_model(p: int, sigma2: float) -> Mixture:
    return Mixture(KnownDirichlet(np.ones(1)), NormalMeans(np.ones((1, 1)), np.zeros((1, p)), np.full((1, 1), sigma2)))


@pytest.mark.parametrize("seed", range(3))
def test_the_document_s_bound_is_ours_once_its_sign_is_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, model = rng.normal(size=(5, 2)) * 4, document_model(2, 5.0)
    before = fit_of(model, Rows(x), 2, rng, max_iter=29, tol=0)
    fit = ascend(model, [Rows(x)], before.state, max_iter=1, tol=0)
    q = fit.state.q.clusters
    phi = model.local_step(before.state.q, Rows(x)).mean
    parts = x, phi, q.mean, q.spread[:, 0], 5.0
    assert fit.elbo == pytest.approx(document_bound(*parts, sign=-1.0), rel=1e-12)
    exact = cases.log_evidence(model, fit.state.q, Rows(x))
    assert fit.elbo <= exact
    assert document_bound(*parts, sign=1.0) > exact  # as printed it exceeds what it should bound


def test_with_the_document_s_sign_error_the_contract_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["mixture-known-dirichlet"]
    assert min(checks.gap_at_a_start(case, case.build, seed, holes=False) for seed in range(3)) > -1e-9

    def flipped(self: NormalMeans, other: NormalMeans) -> float:
        prior = (self.spread + (self.mean - other.mean) ** 2) / other.spread
        return float(0.5 * np.sum(-prior - 1 - np.log(self.spread / other.spread)))

    monkeypatch.setattr(NormalMeans, "kl", flipped)
    assert min(checks.gap_at_a_start(case, case.build, seed, holes=False) for seed in range(3)) < -0.1


@pytest.mark.parametrize("kind", KINDS)
def test_updates_of_the_document_are_those_of_the_model(kind: str) -> None:
    """Its assignments 2 and 3, and the same by hand for the others' counts and means."""
    rng = np.random.default_rng(5)
    rows = rows_of(kind, rng, 20, 2)
    phi = rng.dirichlet(np.ones(3), 20)
    model = document_model(2, 5.0) if kind == "known" else Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 2))
    q = model.global_step(model.prior(3), model.statistics(rows, Memberships(phi)))
    counts, sums = phi.sum(axis=0), phi.T @ rows.x
    if kind == "known":
        s2 = 1 / (1 / 5.0 + counts)
        assert q.clusters.spread[:, 0] == pytest.approx(s2)
        assert q.clusters.mean == pytest.approx(s2[:, None] * sums)
        m = q.clusters.mean
        logits = rows.x @ m.T - 0.5 * (2 * s2 + np.sum(m**2, axis=1))
        expected = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        assert model.local_step(q, rows).mean == pytest.approx(expected)
    elif kind == "bernoulli":
        prior = model.clusters.chance
        assert q.clusters.mean == pytest.approx((prior.on + sums) / (prior.on + prior.off + counts[:, None]))
    else:
        prior = model.clusters
        strength = np.ravel(prior.strength)[0]
        assert q.clusters.mean == pytest.approx((strength * prior.mean + sums) / (strength + counts)[:, None])


def point_density(clusters: Any, x: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(n, K), log density of what was seen, at given parameters, by SciPy."""
    out = np.zeros((len(x), len(clusters.mean)))
    for i, (row, there) in enumerate(zip(x, seen, strict=True)):
        for k, mean in enumerate(clusters.mean):
            if isinstance(clusters, BernoulliColumns):
                out[i, k] = np.log(np.where(row > 0, mean, 1 - mean))[there].sum()
            elif isinstance(clusters, NormalMeans):
                width = np.sqrt(np.broadcast_to(clusters.noise, clusters.mean.shape)[k])
                out[i, k] = -0.5 * (((row - mean) / width) ** 2 + 2 * np.log(width) + LOG_2PI)[there].sum()
            else:  # the equation, and not scipy's function of it: that takes twenty times as long
                part, gap = clusters.covariance[0 if clusters.tied else k][np.ix_(there, there)], (row - mean)[there]
                level = np.linalg.slogdet(part)[1] + len(gap) * LOG_2PI
                out[i, k] = -0.5 * (gap @ np.linalg.solve(part, gap) + level)
    return out


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_predictive_density_is_the_likelihood_averaged_over_draws(kind: str, holes: bool) -> None:
    rng = np.random.default_rng(6)
    model = Mixture(Sticks.prior(2.0, 1.5), cases.clusters(kind, 3))
    rows = rows_of(kind, rng, 60, 3)
    q = fit_of(model, rows, 2, rng, max_iter=5, tol=0).state.q
    asked = rows_of(kind, rng, 3, 3, holes=holes)
    seen = np.ones(asked.x.shape, bool) if asked.seen is None else asked.seen
    draws = []
    for _ in range(1200):
        point = q.sample(rng)
        draws.append(np.exp(point_density(point.clusters, asked.x, seen) + point.weights.mean_log).sum(axis=1))
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(len(draws))
    density = np.exp(model.log_predictive(q, asked, model.local_step(q, asked)))
    assert np.all(np.abs(density - mean) < 5 * error)
    assert np.all(error < 0.2 * mean)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "known"])
def test_the_predictive_density_integrates_to_one_and_a_hole_is_an_integral(kind: str) -> None:
    rng = np.random.default_rng(7)
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 2))
    q = fit_of(model, rows_of(kind, rng, 30, 2), 2, rng, max_iter=5, tol=0).state.q
    u = (np.arange(6000) + 0.5) / 6000 * np.pi - np.pi / 2
    x, mass = 4 * np.tan(u), 4 * np.pi / 6000 / np.cos(u) ** 2

    def density(rows: Rows) -> np.ndarray:
        return np.exp(model.log_predictive(q, rows, model.local_step(q, rows)))

    for value in (-1.5, 0.7):
        full = density(Rows(np.column_stack([np.full_like(x, value), x]))) @ mass
        part = density(Rows(np.array([[value, 0.0]]), np.array([[True, False]])))
        assert part == pytest.approx(full, rel=1e-6)
    alone = density(Rows(np.column_stack([x, 0 * x]), np.column_stack([x < np.inf, x == np.inf])))
    assert alone @ mass == pytest.approx(1, abs=1e-5)


def test_the_next_row_s_density_is_a_ratio_of_evidences_for_one_cluster() -> None:
    rng = np.random.default_rng(8)
    for kind in ("full", "diag", "spherical", "known", "bernoulli"):
        rows = rows_of(kind, rng, 9, 2)
        model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 2))
        q = fit_of(model, rows[:8], 1, rng).state.q
        ratio = cases.log_evidence(model, q, rows) - cases.log_evidence(model, q, rows[:8])
        assert model.log_predictive(q, rows[8:], None)[0] == pytest.approx(ratio, abs=1e-10), kind


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_missing_entries_are_conditional_students_of_each_cluster(kind: str) -> None:
    """Memberships of the bound by block formulas in precisions; filled entries by those of the Student-t."""
    rng = np.random.default_rng(9)
    rows = rows_of(kind, rng, 15, 4, holes=True)
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 4))
    q = cases.start(model, 2, np.asarray(rows.x), rng)
    local = model.local_step(q, rows)
    mean, variance = model.impute(q, rows, local)
    c = q.clusters
    dof, scale = c.student()
    for i, there in enumerate(rows.seen):
        o, u = np.flatnonzero(there), np.flatnonzero(~there)
        logits, joint = np.zeros(2), np.log(q.weights.mean)
        fills, squares = [], []
        for k in range(2):
            p = c.precision[0 if kind == "tied" else k]
            inner = np.linalg.inv(p[np.ix_(u, u)])
            gap = (rows.x[i] - c.mean[k])[o]
            schur = p[np.ix_(o, o)] - p[np.ix_(o, u)] @ inner @ p[np.ix_(u, o)]
            log_det = np.broadcast_to(c.log_det, 2)[k] - np.linalg.slogdet(p[np.ix_(u, u)])[1]
            logits[k] = q.weights.mean_log[k] + 0.5 * (log_det - 4 / c.strength[k] - gap @ schur @ gap)
            seen = scale[k][np.ix_(o, o)]
            form = gap @ np.linalg.solve(seen, gap) if len(o) else 0.0
            if len(o):
                joint[k] += multivariate_t(c.mean[k, o], seen, dof[k]).logpdf(rows.x[i, o])
            fills.append(c.mean[k, u] - inner @ p[np.ix_(u, o)] @ gap)
            turned = np.linalg.inv(np.linalg.inv(scale[k])[np.ix_(u, u)])  # of the others, given what is seen
            squares.append(fills[k] ** 2 + np.diagonal(turned) * (dof[k] + form) / (dof[k] + len(o) - 2))
        assert local.mean[i] == pytest.approx(np.exp(logits - logsumexp(logits)), rel=1e-9)
        share = np.exp(joint - logsumexp(joint))
        assert model.predicted_memberships(q, rows)[i] == pytest.approx(share, rel=1e-9)
        assert mean[i, u] == pytest.approx(share @ np.array(fills), rel=1e-9)
        assert variance[i, u] == pytest.approx(share @ np.array(squares) - mean[i, u] ** 2, rel=1e-8)
        assert np.array_equal(mean[i, o], rows.x[i, o])
        assert np.all(variance[i, o] == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_means_of_the_clusters(kind: str) -> None:
    rng = np.random.default_rng(10)
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 2))
    q = fit_of(model, rows_of(kind, rng, 80, 2), 2, rng, max_iter=5, tol=0).state.q
    drawn = [model.draw(q, 30, rng) for _ in range(400)]
    x, codes = np.array([x for x, _ in drawn]), np.array([z for _, z in drawn])
    assert set(np.unique(codes)) <= {0.0, 1.0}
    assert np.all(codes.sum(axis=2) == 1)
    for values, expected in ((x, q.weights.mean @ q.clusters.mean), (codes, q.weights.mean)):
        error = values.mean(axis=1).std(axis=0) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=(0, 1)) - expected) < 5 * error)


def test_gains_of_merging_are_differences_of_evidence() -> None:
    """The ranking of moves, against the chain of predictive densities."""
    rng = np.random.default_rng(11)
    for kind in ("full", "diag", "spherical", "known", "bernoulli"):
        prior = cases.clusters(kind, 2)
        model = Mixture(Dirichlet(np.ones(1)), prior)
        rows, labels = rows_of(kind, rng, 10, 2), np.arange(10) % 2
        stats = model.statistics(rows, Memberships(np.eye(2)[labels]))
        seen = np.ones((10, 2), bool)
        for k in range(2):
            alone = cases.given_labels(prior, rows.x[labels == k], seen[labels == k], np.zeros(5, int))
            assert prior.tiled(2).evidence(*stats.moments, None)[k] == pytest.approx(alone, rel=1e-10)


def test_a_tied_merge_changes_the_evidence_as_if_the_precision_were_known() -> None:
    rng = np.random.default_rng(12)
    prior = cases.clusters("tied", 2)
    model = Mixture(Dirichlet(np.ones(1)), prior)
    rows, labels = rows_of("tied", rng, 12, 2), np.arange(12) % 2
    stats = model.statistics(rows, Memberships(np.eye(2)[labels]))
    q = model.global_step(model.prior(2), stats)
    gain = prior.evidence(*stats.regroup(np.ones((1, 2)), True).moments, q.clusters)[0]
    gain -= prior.evidence(*stats.moments, q.clusters).sum()
    precision = q.clusters.precision[0]

    def known(x: np.ndarray) -> float:
        n, b = len(x), prior.strength[0]
        cov = np.linalg.inv(precision)
        big = np.kron(np.eye(n), cov) + np.kron(np.ones((n, n)), cov / b)
        return float(multivariate_normal.logpdf(x.ravel(), np.tile(prior.mean[0], n), big))

    expected = known(rows.x) - known(rows.x[labels == 0]) - known(rows.x[labels == 1])
    assert gain == pytest.approx(expected, rel=1e-9)


def test_sorting_sticks_never_lowers_what_the_counts_are_worth() -> None:
    prior = Sticks.prior(1.0, 1.0)
    counts = np.array([3.0, 40.0, 1.0, 20.0])

    def worth(order: np.ndarray) -> float:
        family = prior.tiled(4)
        for _ in range(200):
            family = prior.tiled(4).observe(counts[order], current=family)
        return family.log_likelihood(counts[order]) - family.kl(prior.tiled(4))

    assert worth(np.argsort(-counts)) > worth(np.arange(4))
    q = prior.tiled(4).observe(counts, current=prior.tiled(4))
    assert np.allclose(q.only(np.arange(4)).breaks.on, q.breaks.on)
    assert q.mean.sum() == pytest.approx(1)
    assert q.only(np.array([1, 3])).mean[0] > 0.5


def test_single_precision_is_left_where_it_would_cancel() -> None:
    """Narrow clusters far from the origin: memberships of float32 rows still agree with those of float64."""
    rng = np.random.default_rng(13)
    for kind in ("full", "tied", "diag", "spherical", "known"):
        label = rng.integers(2, size=400)
        x = (300.0 + 2.0 * label[:, None] + 0.5 * rng.normal(size=(400, 3))).astype(np.float32)
        model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 3))
        local = Memberships(np.eye(2)[label])
        q = model.global_step(model.prior(2), model.statistics(Rows(x.astype(float)), local))
        one, two = model.local_step(q, Rows(x)), model.local_step(q, Rows(x.astype(float)))
        assert one.mean.dtype == np.float32
        assert np.abs(one.mean - two.mean).max() < 1e-4, kind
        again = model.global_step(q, model.statistics(Rows(x), one))
        assert again.clusters.covariance == pytest.approx(
            model.global_step(q, model.statistics(Rows(x.astype(float)), two)).clusters.covariance, rel=1e-3
        ), kind


def test_memberships_of_gappy_rows_need_what_was_filled_in() -> None:
    rng = np.random.default_rng(14)
    rows = rows_of("full", rng, 8, 3, holes=True)
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters("full", 3))
    with pytest.raises(ValueError, match="take a local step"):
        model.statistics(rows, Memberships(np.full((8, 2), 0.5)))


def test_kl_of_normal_wisharts_has_its_constants() -> None:
    """Against draws: E_q[log q - log p] of mean and precision."""
    from scipy.stats import wishart

    rng = np.random.default_rng(15)
    p = NormalWishart(np.zeros((1, 2)), np.array([0.8]), np.array([4.0]), np.array([[[1.5, 0.2], [0.2, 1.0]]]))
    q = NormalWishart(np.ones((1, 2)), np.array([3.0]), np.array([9.0]), np.array([[[4.0, -0.5], [-0.5, 6.0]]]))

    def log_density(f: NormalWishart, mean: np.ndarray, precision: np.ndarray) -> float:
        scale = np.linalg.inv(f.scatter[0])
        normal = multivariate_normal.logpdf(mean, f.mean[0], np.linalg.inv(f.strength[0] * precision))
        return float(wishart.logpdf(precision, f.dof[0], scale) + normal)

    gaps = []
    for _ in range(1500):
        point = q.sample(rng)
        precision = np.linalg.inv(point.covariance[0])
        gaps.append(log_density(q, point.mean[0], precision) - log_density(p, point.mean[0], precision))
    assert q.kl(p) == pytest.approx(np.mean(gaps), abs=5 * np.std(gaps) / np.sqrt(len(gaps)))


@pytest.mark.parametrize("kind", KINDS)
def test_posteriors_without_rows_are_the_prior(kind: str) -> None:
    model = Mixture(Dirichlet(np.ones(1)), cases.clusters(kind, 2))
    q: MixturePosterior = model.prior(3)
    row = Rows(np.ones((1, 2)))
    after = model.global_step(q, 0.0 * model.statistics(row, model.local_step(q, row)))
    assert after.clusters.mean == pytest.approx(q.clusters.mean)
    assert after.clusters.kl(q.clusters) == pytest.approx(0, abs=1e-12)
