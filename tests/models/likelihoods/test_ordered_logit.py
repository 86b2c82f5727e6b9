"""Levels in order: how much their bound loses, how cuts are found, and what is said of new entries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from latens.array.kernels.quadratic_bounds import MOST_BENT, middles
from latens.core import Rows
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods import Columns, Predictor
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.ordered_logit import Cuts, OrderedLogit
from latens.models.multi_view.coefficients import Regressors, ViewStatistics
from tests.models.likelihoods.quadrature import D, lost_nats


def scale(cuts: np.ndarray) -> tuple[OrderedLogit, Cuts]:
    """Columns of levels 0, 1, ... with these cuts (D, C - 1), counted from their mean."""
    d, n_cuts = cuts.shape
    values = np.tile(np.arange(n_cuts + 1.0), (d, 1))
    return (
        OrderedLogit(values, np.full(values.shape, 1 / (n_cuts + 1))),
        Cuts.of(cuts, np.full(cuts.shape, 1 / n_cuts)),
    )


def log_chance(y: np.ndarray, eta: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    at = y.astype(int)
    return np.log(expit(ends[at + 1] - eta) - expit(ends[at] - eta))


EVEN, SKEWED, WIDE = np.linspace(-1.5, 1.5, 4), np.array([0.5, 1.4, 2.4, 3.1]), np.array([-6.0, -1.0, 0.2, 7.0])


@pytest.mark.parametrize("level", [0.0, 2.5], ids=["middle", "end"])
@pytest.mark.parametrize("cuts", [EVEN, SKEWED, WIDE, EVEN[:1], np.linspace(-4, 4, 9)])
def test_the_bound_loses_a_twentieth_of_a_nat_an_entry_at_most(cuts: np.ndarray, level: float) -> None:
    kind, own = scale(np.tile(cuts, (D, 1)))
    rng = np.random.default_rng(len(cuts))
    lost = lost_nats(
        kind, 1.0, np.full(D, level), lambda y, eta: log_chance(y, eta, own.values[0]), rng, parameters=own
    )
    assert -1e-4 < lost < 0.05


def place(eta: np.ndarray, variance: float, own: Cuts) -> Predictor:
    about = Columns(KnownGamma(np.ones(eta.shape[1])), parameters=own)
    return Predictor(eta.copy, lambda: eta**2 + variance, about)


def test_the_bound_is_the_log_chance_where_eta_is_known_and_below_it_elsewhere() -> None:
    kind, own = scale(SKEWED[None])
    y = np.arange(5.0)[:, None]
    for eta in (np.full((5, 1), -2.0), np.full((5, 1), 0.4), np.full((5, 1), 5.0)):
        tangent = kind.tangent(Rows(y), place(eta, 0.0, own))
        for other in (0.0, 0.7, -4.0):
            psi = eta + other
            parabola = kind.level(Rows(y), tangent) + tangent.response * psi - 0.5 * tangent.precision * psi**2
            exact = log_chance(y, psi, own.values[0])
            assert (parabola <= exact + 1e-10).all()
            if not other:
                assert parabola == pytest.approx(exact, abs=1e-9)


def one_row(kind: OrderedLogit, own: Cuts, y: np.ndarray, eta: np.ndarray, variance: np.ndarray) -> ViewStatistics:
    """Sums of a single row, whose eta are the coefficients of a regressor that is 1."""
    about = Columns(KnownGamma(np.ones(len(y))), parameters=own)
    tangent = kind.tangent(Rows(y[None]), Predictor(eta[None].copy, lambda: (eta**2 + variance)[None], about))
    at = Regressors(np.zeros((1, 0)), np.zeros((1, 0, 0)), np.ones((1, 1)))
    return ViewStatistics.of(Rows(y[None]), kind, tangent, at)


def test_sums_are_below_the_log_chance_wherever_eta_and_the_cuts_go() -> None:
    rng = np.random.default_rng(7)
    d = 3000
    cuts = np.cumsum(np.exp(rng.uniform(-3, 2, (d, 3))), axis=1)
    kind, own = scale(cuts)
    y = rng.integers(0, 4, d).astype(float)
    centre = np.take_along_axis(own.values, np.clip(y.astype(int), 0, 2)[:, None], axis=1)[:, 0]
    eta, variance = centre + 2 * rng.normal(size=d), np.exp(rng.uniform(-4, 2, d))
    sums = one_row(kind, own, y, eta, variance)
    for spread, turn in ((0.0, 1.0), (0.05, 0.0), (0.05, 1.0), (0.4, 1.0), (1.5, 3.0)):
        other = Cuts(own.gaps * np.exp(spread * rng.normal(size=own.gaps.shape)), own.shares)
        psi, at = eta + turn * rng.normal(size=d), other.applied(sums)
        parabola = at.level + at.pull[:, 0] * psi - 0.5 * at.gram[:, 0] * psi**2
        ends = np.column_stack([np.full(d, -np.inf), other.values, np.full(d, np.inf)])
        low, high = (np.take_along_axis(ends, (y.astype(int) + side)[:, None], axis=1)[:, 0] for side in (0, 1))
        inner = np.isfinite(high - low)
        width = np.log(-np.expm1(-np.where(inner, high - low, 1.0)))
        exact = -np.logaddexp(0, low - psi) - np.logaddexp(0, psi - high) + np.where(inner, width, 0.0)
        assert (parabola <= exact + 1e-8 * (1 + np.abs(exact))).all()


def test_what_a_parabola_of_given_precision_says_of_half_the_gap_is_bent_by_one_at_most() -> None:
    g = np.linspace(1e-3, 8, 4001)
    _, wide, _, slope, fade = middles(-g, g).T
    for precision in [*np.geomspace(0.02, 0.3, 12), *np.linspace(0.31, 0.52, 22)]:
        low, high = np.zeros_like(g), np.full_like(g, 1 / precision)  # where it touches, by halving
        for _ in range(50):
            x = 0.5 * (low + high)
            rises = np.tanh(x) > precision * x * (wide / np.cosh(x) + 1)
            low, high = np.where(rises, x, low), np.where(rises, high, x)
        fall = np.exp(-np.where(precision * (1 + wide) >= 1, 0.0, low))
        by_gap = slope - fade * fall / (1 + fall * (2 * wide + fall))
        assert np.diff(by_gap).min() > -MOST_BENT * (g[1] - g[0]), precision


def test_one_parabola_about_the_middle_of_a_level_loses_less_than_two() -> None:
    """Beside the expectation of the log chance by quadrature, eta between the cuts and uncertain."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(60)
    for gap, two in ((1.0, 0.0080), (1.8, 0.0153), (2.6, 0.0245), (4.0, 0.0394)):
        kind, own = scale(np.array([[-gap / 2, gap / 2]]))
        sums = own.applied(one_row(kind, own, np.ones(1), np.zeros(1), np.array([0.5])))
        exact = masses @ log_chance(np.ones(60), np.sqrt(0.5) * nodes, own.values[0]) / masses.sum()
        lost = exact - float(sums.level[0] - 0.5 * sums.gram[0, 0] * 0.5)
        assert 0 < lost < (0.5 if gap < 2 else 0.9) * two  # `two` is what the sum of those of both cuts loses


def test_two_levels_are_a_yes_no_column() -> None:
    rng = np.random.default_rng(0)
    kind, own = scale(np.zeros((3, 1)))
    y, eta = (rng.random((20, 3)) < 0.4).astype(float), rng.normal(size=(20, 3))
    one, two = kind.tangent(Rows(y), place(eta, 0.3, own)), Bernoulli().tangent(Rows(y), place(eta, 0.3, own))
    assert one.response == pytest.approx(two.response)
    assert one.precision == pytest.approx(two.precision)
    assert kind.level(Rows(y), one) == pytest.approx(Bernoulli().level(Rows(y), two))
    about = place(eta, 0.3, own).columns
    assert kind.expect(eta, 0 * eta + 0.3, about)[0] == pytest.approx(Bernoulli().expect(eta, 0 * eta + 0.3, about)[0])


def test_sums_of_constants_are_those_of_entries_and_know_the_cuts_by_themselves() -> None:
    rng = np.random.default_rng(1)
    kind, own = scale(np.tile(SKEWED, (3, 1)))
    eta, seen = rng.normal(size=(40, 3)), rng.random((40, 3)) < 0.8
    y = np.where(seen, rng.integers(0, 5, (40, 3)), 0).astype(float)
    rows = Rows(y, seen, rng.uniform(0, 2, 40))
    tangent = kind.tangent(rows, place(eta, 0.2, own))
    assert kind.levels(rows, tangent) == pytest.approx(rows.weight @ kind.level(rows, tangent))
    at = Regressors(rng.normal(size=(40, 2)), 0.1 * np.eye(2)[None], np.ones((40, 1)))
    sums = ViewStatistics.of(rows, kind, tangent, at)
    again = own.applied(sums)
    assert again.level == pytest.approx(sums.level)
    assert again.pull == pytest.approx(sums.pull)


def test_sums_of_earlier_files_end_before_parabolas_about_the_middle_and_go_on() -> None:
    rng = np.random.default_rng(8)
    kind, own = scale(np.tile(SKEWED, (3, 1)))
    y, eta = rng.integers(0, 5, 3).astype(float), rng.normal(size=3)
    sums = one_row(kind, own, y, eta, np.full(3, 0.2))
    n_cuts, r = 4, 1
    assert sums.own is not None
    earlier = replace(sums, own=sums.own[:, : 2 + n_cuts + r + n_cuts * (r + 1)])
    both = earlier + sums
    assert (both.own == (sums + earlier).own).all()
    nothing_about = replace(sums, own=np.pad(earlier.own, ((0, 0), (0, sums.own.shape[1] - earlier.own.shape[1]))))
    assert own.applied(earlier).level == pytest.approx(own.applied(nothing_about).level)


def test_a_step_of_the_cuts_is_where_the_bound_is_highest_and_cuts_of_known_rows_are_found() -> None:
    rng = np.random.default_rng(2)
    truth = np.array([[-1.0, 0.2, 1.9, 2.5], [-2.0, -1.6, 0.0, 0.4]])
    eta = 1.5 * rng.normal(size=(4000, 2))
    kind, own = scale(np.tile(np.linspace(-0.5, 0.5, 4), (2, 1)))
    y = np.sum((eta + rng.logistic(size=eta.shape))[..., None] > truth, axis=2).astype(float)
    at = Regressors(eta, 1e-12 * np.eye(2)[None], np.ones((4000, 1)))
    level, found = np.zeros(2), own
    for _ in range(150):
        coefficients = np.column_stack([np.eye(2), level])
        tangent = kind.tangent(Rows(y), place(eta + level, 0.0, found))
        sums = ViewStatistics.of(Rows(y), kind, tangent, at)
        before, found = found, found.improved(sums, coefficients)
        heights = [
            float(np.sum(each.applied(sums).level + np.einsum("dr,dr->d", each.applied(sums).pull, coefficients)))
            + each.log_prior()
            for each in (before, found, Cuts(1.02 * found.gaps, found.shares), Cuts(0.98 * found.gaps, found.shares))
        ]
        assert heights[1] >= max(heights) - 1e-9
        bend = kind.curvature(Rows(y), tangent, place(eta + level, 0.0, found))
        slope, _ = kind.matched(Rows(y), eta + level, 0 * eta, place(eta, 0.0, found).columns)
        level = level + slope.sum(axis=0) / bend.sum(axis=0)
    assert found.values - level[:, None] == pytest.approx(truth, abs=0.25)


def test_levels_that_no_row_shows_keep_their_cuts_apart() -> None:
    kind = OrderedLogit.for_levels(Rows(np.array([[0.0], [0.0], [3.0]])), [(0.0, 1.0, 2.0, 3.0)])
    eta, at = np.zeros((3, 1)), Regressors(np.zeros((3, 1)), np.eye(1)[None], np.ones((3, 1)))
    found, y = kind.first, Rows(np.array([[0.0], [0.0], [3.0]]))
    for _ in range(50):
        sums = ViewStatistics.of(y, kind, kind.tangent(y, place(eta, 0.1, found)), at)
        found = found.improved(sums, np.zeros((1, 2)))
    assert (found.gaps > 0.05).all()


def test_answers_are_those_of_draws_whatever_the_values_of_levels() -> None:
    rng = np.random.default_rng(3)
    kind = OrderedLogit(
        np.array([[1.0, 2.0, 5.0, 10.0], [-1.0, 0.0, 4.0, 4.0]]), np.array([[0.25] * 4, [0.3, 0.3, 0.4, 0]])
    )
    about = Columns(KnownGamma(np.ones(2)), parameters=kind.first)
    mean, variance = np.array([[0.4, -0.8]]), np.array([[0.5, 0.2]])
    drawn = kind.draw(mean + np.sqrt(variance) * rng.normal(size=(200_000, 2)), about, rng)
    expected, spread = kind.expect(mean, variance, about)
    assert drawn.mean(axis=0) == pytest.approx(expected[0], abs=0.03)
    assert drawn.var(axis=0) == pytest.approx(spread[0], rel=0.02)
    chances = np.stack(kind.level_chances(mean, variance, about), axis=2)[0]
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    for d in range(2):
        own = (
            dict(zip(kind.values[d], chances[d], strict=True))
            if d == 0
            else dict(zip(kind.values[d, :3], chances[d, :3], strict=True))
        )
        assert {value: float(np.mean(drawn[:, d] == value)) for value in own} == pytest.approx(own, abs=5e-3)
    assert chances[1, 3] == 0
    for level in (0.05, 0.5, 0.9):
        found = kind.quantile(mean, variance, about, level)[0]
        assert found == pytest.approx(np.quantile(drawn, level, axis=0, method="inverted_cdf"))
    low, high = kind.between(mean, variance, about, 0.05)
    assert (low <= high).all()
    assert kind.middle(kind.link(expected, about), about) == pytest.approx(expected)


def test_limits_hold_as_much_as_levels_allow() -> None:
    kind, own = scale(EVEN[None])
    about = Columns(KnownGamma(np.ones(1)), parameters=own)
    for eta in np.linspace(-4, 4, 17):
        where = (np.full((1, 1), eta), np.full((1, 1), 0.3), about)
        chances = np.ravel(kind.level_chances(*where))
        low, high = (int(side[0, 0]) for side in kind.between(*where, 0.05))
        assert abs(chances[low : high + 1].sum() - 0.9) <= abs(1 - 0.9) + 1e-12
        assert high - low < 4 or chances[[0, -1]].min() > 0.04
        normal = [int(side[0, 0]) for side in kind.limits(*kind.expect(*where), 0.05)]
        assert abs(normal[0] - low) <= 1
        assert abs(normal[1] - high) <= 1


def test_slopes_and_curvatures_are_those_of_the_log_chance_and_a_sure_level_has_no_deviance() -> None:
    kind, own = scale(np.tile(SKEWED, (2, 1)))
    rng, h = np.random.default_rng(4), 1e-4
    y, eta = rng.integers(0, 5, (30, 2)).astype(float), 2 * rng.normal(size=(30, 2))
    about = place(eta, 0.0, own).columns
    up, at, down = (log_chance(y, eta + step, own.values[0]) for step in (h, 0.0, -h))
    slope, bend = kind.matched(Rows(y), eta, 0 * eta, about)
    assert slope == pytest.approx((up - down) / (2 * h), abs=1e-5)
    assert bend == pytest.approx(-(up - 2 * at + down) / h**2, abs=1e-5)
    assert kind.deviance(y, eta, about) == pytest.approx(-2 * at)
    assert kind.deviance(np.array([[4.0, 0.0]]), np.array([[60.0, -60.0]]), about) == pytest.approx(0, abs=1e-9)
