"""The known wrong formulas of the literature, planted into the model: the contract must refuse each of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows
from latens.errors import ElboDecreased
from latens.families.normal_gamma import NormalGamma
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior, CodeStatistics
from latens.models.binary_factors.posteriors import States, Switches
from tests.contract.cases import CASES, Case
from tests.contract.measurements import checks

ML, ARD = CASES["binary-ml-mean-field"], CASES["binary-ard-mean-field"]


@dataclass(frozen=True)
class WithCodes(CodeStatistics):
    """Statistics that also remember every row's codes, which the wrong formula below cannot do without."""

    lam: Any = None
    weight: Any = None

    def __add__(self, other: WithCodes) -> WithCodes:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(CodeStatistics)}
        return WithCodes(**sums, lam=np.vstack([self.lam, other.lam]), weight=np.append(self.weight, other.weight))


class RatioOfLogarithms(BinaryFactors):
    """log(1 - pi) / log(1 - lam) where the logarithm of the ratio is meant."""

    def statistics(self, batch: Rows, local: Switches | States) -> WithCodes:
        right = super().statistics(batch, local)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        return WithCodes(**{f.name: getattr(right, f.name) for f in fields(right)}, lam=local.mean, weight=weight)

    def data_terms(self, q: BinaryPosterior, stats: WithCodes) -> dict[str, float]:
        lam, pi = stats.lam, q.usage.mean
        each = lam * np.log(pi / lam) + (1 - lam) * np.log(1 - pi) / np.log(1 - lam)
        return {**super().data_terms(q, stats), "codes": float(stats.weight @ each.sum(axis=1)), "entropy": 0.0}


class NoDivergenceOfLoadings(BinaryFactors):
    """A variational free energy without the divergence of the loadings from their prior."""

    def global_terms(self, q: BinaryPosterior) -> dict[str, float]:
        return {**super().global_terms(q), "kl_loadings": 0.0}


class CertainLoadings(BinaryFactors):
    """The residual without the spread of the loadings: D C lam^2 and its cross terms are missing."""

    def data_terms(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, float]:
        right = super().data_terms(q, stats)
        lost = q.loadings.spread * stats.zz  # one matrix for all columns, as no entry is missing
        return {**right, "likelihood": right["likelihood"] + 0.5 * self.n_features * float(np.sum(lost))}


class EntropyOfTheWrongSign(BinaryFactors):
    def data_terms(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, float]:
        return {**super().data_terms(q, stats), "entropy": -stats.entropy}


class DivergenceOfTheWrongSign(BinaryFactors):
    def global_terms(self, q: BinaryPosterior) -> dict[str, float]:
        return {name: -value for name, value in super().global_terms(q).items()}


class ExponentOfTheNoise(BinaryFactors):
    """The normal density with sigma^D where sigma^(D/2) of the variance is meant: twice the logarithm."""

    def data_terms(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, float]:
        right = super().data_terms(q, stats)
        level = 0.5 * float(np.sum(stats.seen * q.loadings.log_tau))
        return {**right, "likelihood": right["likelihood"] + level}


class SharesWithoutTheirComplement(BinaryFactors):
    """The prior of the codes counts causes that are on and forgets those that are off."""

    def data_terms(self, q: BinaryPosterior, stats: CodeStatistics) -> dict[str, float]:
        return {**super().data_terms(q, stats), "codes": q.usage.log_likelihood(stats.on, 0 * stats.on)}


class DiagonalOfTheGram(BinaryFactors):
    """E[z z'] with E[z]^2 on its diagonal, where a switch squared is the switch itself."""

    def statistics(self, batch: Rows, local: Switches | States) -> CodeStatistics:
        right = super().statistics(batch, local)
        lost = np.diag(batch.weigh(local.mean * (1 - local.mean)).sum(axis=0))
        return replace(right, zz=right.zz - lost)


class RelevanceWithoutTheSpread(BinaryFactors):
    """A relevance update from the means of the loadings alone."""

    def global_step(self, q: BinaryPosterior, stats: CodeStatistics) -> BinaryPosterior:
        right = super().global_step(q, stats)
        weights, prior = right.loadings.weights, self.prior(right.n_components).loadings.alpha
        alpha = prior.observe(self.n_features, np.sum(weights.tau * weights.mean**2, axis=1))
        return replace(right, loadings=replace(right.loadings, alpha=alpha))


def planted(cls: type[BinaryFactors], case: Case) -> Callable[[int], BinaryFactors]:
    """The case's own settings, in the class with the error."""

    def build(d: int) -> BinaryFactors:
        right = case.build(d)
        return cls(**{f.name: getattr(right, f.name) for f in fields(right)})

    return build


def faults(cls: type[BinaryFactors], case: Case) -> set[str]:
    """Which of the contract's checks refuse this model; NaN passes none of them."""
    build = planted(cls, case)
    with np.errstate(all="ignore"):
        passed = {
            "evidence": all(checks.gap_at_a_start(case, build, seed, False) > -1e-9 for seed in range(3)),
            "rows": checks.mismatch_of_rows(case, build, False) < 1e-11,
            "globals": checks.global_hill(case, build, False).steepest < 1e-6,
            "locals": checks.local_hill(case, build, False).steepest < 1e-6,
        }
    return {name for name, fine in passed.items() if not fine}


@pytest.mark.parametrize("case", [ML, ARD], ids=["ml", "ard"])
def test_the_right_model_has_no_fault(case: Case) -> None:
    assert faults(BinaryFactors, case) == set()


@pytest.mark.parametrize(
    ("cls", "case", "expected"),
    [
        (RatioOfLogarithms, ML, {"evidence", "rows", "locals"}),
        (EntropyOfTheWrongSign, ML, {"rows", "locals"}),
        (ExponentOfTheNoise, ML, {"rows", "globals"}),
        (SharesWithoutTheirComplement, ML, {"evidence", "rows", "globals", "locals"}),
        (DiagonalOfTheGram, ML, {"evidence", "locals"}),
        (NoDivergenceOfLoadings, ARD, {"globals"}),
        (CertainLoadings, ARD, {"rows", "globals", "locals"}),
        (DivergenceOfTheWrongSign, ARD, {"evidence", "globals"}),
        (RelevanceWithoutTheSpread, ARD, {"globals"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_wrong_formula_is_refused(cls: type[BinaryFactors], case: Case, expected: set[str]) -> None:
    assert faults(cls, case) >= expected


def test_a_free_energy_without_the_divergence_of_loadings_exceeds_the_evidence() -> None:
    """With more causes it only grows: that is how it came to favour ever larger models."""
    build = planted(NoDivergenceOfLoadings, ARD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElboDecreased)  # it falls, too
        gaps = [checks.gap_to_the_evidence(ARD, build, seed, False) for seed in range(4)]
    assert min(gaps) < 0


def test_a_planted_fall_of_the_bound_is_noticed() -> None:
    def fits() -> None:
        for seed in range(6):
            checks.random_fit(ARD, planted(NoDivergenceOfLoadings, ARD), seed, False)

    with pytest.warns(ElboDecreased, match="fell by"):
        fits()


def test_a_lost_constant_shows_in_the_gap_without_data() -> None:
    """Neither evidence nor slopes see a constant that lowers the bound; the divergence of a prior from itself does."""
    prior = ARD.build(3).prior(2).loadings.weights
    assert prior.kl(NormalGamma(prior.mean, prior.precision, prior.shape, prior.rate)) == pytest.approx(0, abs=1e-12)
