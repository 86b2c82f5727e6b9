"""The structures that `latens.suggest` tries, and how each of them scores single hidden cells.

The score of a hidden cell is log p(its value | the seen cells of its row). Where a model has densities of rows, that is
the density of the seen cells and this one less that of the seen cells; else it is the integral over the posterior of
the row's codes, which `impute` gives: probabilities, or a normal with the predictive mean and variance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr
from scipy.stats import nbinom, poisson

import latens
from latens.array import Floats, Index
from latens.array.transfer import host
from latens.diagnose.cells import NUMBERS, CellTable, Mask

__all__ = ["COUNT_LIKELIHOOD", "Candidate", "baselines", "candidates"]

MOST_SWITCHES = 12  # up to which densities of rows sum over all combinations
WIDEST_FULL = 60  # columns up to which full covariances are tried
ROWS_PER_COLUMN = 3  # training rows that full covariances take at least
MOST_WORK = 30_000_000  # cells times iterations of a fit: some 20 seconds of switches, less of the others
FEWEST_ITERATIONS = 50
LEAST_CHANCE = 1e-4  # probabilities are kept from 0 and 1 by this, alike for all
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)
COUNT_LIKELIHOOD = "negative-binomial"  # of classes: with Poisson, overdispersion would be classes of its own


@dataclass(frozen=True)
class Candidate(ABC):
    """A structure by its name, the model that finds it, and how to make one."""

    name: str
    finds: str  # in words
    build: Callable[..., Any]  # estimator, given max_time and random_state
    spreads_counts: ClassVar[bool] = True  # whether counts enter as numbers
    knows_exposures: ClassVar[bool] = False  # whether counts may have exposures

    def fit(self, table: CellTable, train: Index, seconds: float | None, seed: int) -> Any:
        return self.short(table, train, seconds, seed).fit(self.rows(table, train), **self.given(table, train))

    def given(self, table: CellTable, train: Index) -> dict[str, Floats]:
        """What `fit` takes beside rows: how often they count, and their exposures."""
        weight = {} if table.weight is None else {"sample_weight": table.weight[train]}
        return weight | self.exposed(table, train)

    def exposed(self, table: CellTable, at: Index) -> dict[str, Floats]:
        """What answers about rows take, too: exposures, of models that know some."""
        return {"exposure": table.exposure[at]} if table.exposure is not None and self.knows_exposures else {}

    def short(self, table: CellTable, train: Index, seconds: float | None, seed: int, **settings: Any) -> Any:
        """The estimator with so many iterations as the size of the table allows: the same on a busy machine."""
        model = self.build(max_time=seconds, random_state=seed, **settings)
        most = max(FEWEST_ITERATIONS, MOST_WORK // (len(train) * table.n_columns))
        return model.set_params(max_iter=min(model.max_iter, most))

    @abstractmethod
    def rows(self, table: CellTable, at: Index, hidden: Mask | None = None) -> Any:
        """Rows as the model takes them, with NaN where `hidden` (n, C)."""

    @abstractmethod
    def score(self, model: Any, table: CellTable, at: Index, hidden: Mask) -> Floats:
        """(n, C), log probability of the value of each hidden cell given the seen ones of its row."""


class _Matrix(Candidate):
    """A model of one matrix of numbers."""

    def rows(self, table: CellTable, at: Index, hidden: Mask | None = None) -> Floats:
        matrix = (table.spread if self.spreads_counts else table.values)[at]
        return matrix if hidden is None else np.where(hidden, np.nan, matrix)


class RowDensities(_Matrix):
    """Of models whose `score_samples` is a density."""

    def score(self, model: Any, table: CellTable, at: Index, hidden: Mask) -> Floats:
        if model.score_is_bound_:
            return _score_normal(model, self.rows(table, at, hidden), table, at, hidden)
        rows, out = self.rows(table, at, hidden), np.full(hidden.shape, np.nan)
        exact = (table.spread_exact if self.spreads_counts else table.exact)[at]
        seen = host(model.score_samples(rows, **self.exposed(table, at)))
        for j in np.flatnonzero(hidden.any(axis=0)).tolist():
            own = np.flatnonzero(hidden[:, j])
            shown, beside = rows[own].copy(), self.exposed(table, at[own])

            def density(
                values: Floats, shown: Floats = shown, own: Index = own, j: int = j, beside: Any = beside
            ) -> Floats:
                shown[:, j] = values
                return np.asarray(host(model.score_samples(shown, **beside)) - seen[own])

            numeric = table.kinds[j] in NUMBERS and (self.spreads_counts or table.kinds[j] != "count")
            out[own, j] = _mass(density, exact[own, j], table.width[j] if numeric else 0.0)
        return out


class Clusters(RowDensities):
    """Gaussian clusters with full or diagonal covariances, whichever has the higher bound."""

    def fit(self, table: CellTable, train: Index, seconds: float | None, seed: int) -> Any:
        kinds = ("full", "diag") if _takes_full(table, len(train)) else ("diag",)
        share = None if seconds is None else seconds / len(kinds)
        rows, given = self.rows(table, train), self.given(table, train)
        fits = [self.short(table, train, share, seed, covariance_type=kind).fit(rows, **given) for kind in kinds]
        return max(fits, key=lambda fit: float(fit.elbo_))


class KindDensities(RowDensities):
    """The same of models that know kinds of columns."""

    spreads_counts = False
    knows_exposures = True

    def fit(self, table: CellTable, train: Index, seconds: float | None, seed: int) -> Any:
        kinds = {
            "number": "gaussian", "scale": "gaussian", "count": COUNT_LIKELIHOOD, "binary": "bernoulli",
            "category": "categorical",
        }  # fmt: skip
        likelihoods = {j: kinds[kind] for j, kind in enumerate(table.kinds)}
        model = self.short(table, train, seconds, seed, likelihoods=likelihoods)
        return model.fit(self.rows(table, train), **self.given(table, train))


class NormalCells(_Matrix):
    """Of models whose codes have a normal posterior: a cell is normal about what `impute` fills in."""

    def score(self, model: Any, table: CellTable, at: Index, hidden: Mask) -> Floats:
        return _score_normal(model, self.rows(table, at, hidden), table, at, hidden)


class Probabilities(_Matrix):
    """Of models of binary rows: `impute` gives the probability of a 1."""

    def score(self, model: Any, table: CellTable, at: Index, hidden: Mask) -> Floats:
        chance = np.clip(host(model.impute(self.rows(table, at, hidden))), LEAST_CHANCE, 1 - LEAST_CHANCE)
        return np.where(hidden, np.log(np.where(table.exact[at] == 1, chance, 1 - chance)), np.nan)


class Views(Candidate):
    """Factors over views by kind of column; categories are a column for each level, which are hidden together."""

    knows_exposures = True

    def fit(self, table: CellTable, train: Index, seconds: float | None, seed: int) -> Any:
        rows = self.rows(table, train)
        likelihoods = {view: VIEW_LIKELIHOODS[view] for view in rows}
        return self.short(table, train, seconds, seed, likelihoods=likelihoods).fit(rows, **self.given(table, train))

    def rows(self, table: CellTable, at: Index, hidden: Mask | None = None) -> dict[str, Floats]:
        values = table.values[at] if hidden is None else np.where(hidden, np.nan, table.values[at])
        blocks: dict[str, list[Floats]] = {}
        for j, kind in enumerate(table.kinds):
            column = values[:, j : j + 1]
            if kind == "category":
                column = np.where(np.isnan(column), np.nan, column == np.arange(table.levels[j]))
            blocks.setdefault(VIEW_OF[kind], []).append(column)
        return {view: np.concatenate(parts, axis=1) for view, parts in blocks.items()}

    def score(self, model: Any, table: CellTable, at: Index, hidden: Mask) -> Floats:
        mean, sd = model.impute(self.rows(table, at, hidden), return_std=True, **self.exposed(table, at))
        exact, out, place = table.exact[at], np.full(hidden.shape, np.nan), dict.fromkeys(mean, 0)
        for j, kind in enumerate(table.kinds):
            view, size = VIEW_OF[kind], table.levels[j] if kind == "category" else 1
            own = slice(place[view], place[view] + size)
            place[view] += size
            at_cell = _score_cell(kind, exact[:, j], host(mean[view])[:, own], host(sd[view])[:, own], table.width[j])
            out[:, j] = np.where(hidden[:, j], at_cell, np.nan)
        return out


VIEW_OF = {"number": "numbers", "scale": "numbers", "count": "counts", "binary": "yes_no", "category": "categories"}
VIEW_LIKELIHOODS = {"numbers": "gaussian", "counts": "poisson", "yes_no": "bernoulli", "categories": "bernoulli"}


def _score_cell(kind: str, value: Floats, mean: Floats, sd: Floats, width: float) -> Floats:
    """(n,), log probability of the values of one column of a view."""
    if kind in ("number", "scale"):
        return np.asarray(_log_normal_mass(value[:, None], mean, sd, np.array([width]))[:, 0])
    if kind == "count":
        return _log_count_mass(np.nan_to_num(value), mean[:, 0], sd[:, 0])
    chance = np.clip(mean, LEAST_CHANCE, 1 - LEAST_CHANCE)
    if kind == "binary":
        return np.asarray(np.log(np.where(value == 1, chance[:, 0], 1 - chance[:, 0])))
    level = np.nan_to_num(value).astype(int)
    return np.asarray(np.log(chance[np.arange(len(level)), level] / chance.sum(axis=1)))


def _log_count_mass(value: Floats, mean: Floats, sd: Floats) -> Floats:
    """Of the count distribution with these moments: Poisson, or negative binomial where it varies more."""
    mean = np.maximum(mean, 1e-6)
    excess = np.maximum(sd**2 - mean, 0.0)
    size = mean**2 / np.maximum(excess, 1e-9)
    wide = nbinom.logpmf(value, size, size / (size + mean))
    return np.maximum(np.where(excess > 1e-6 * mean, wide, poisson.logpmf(value, mean)), np.log(LEAST_CHANCE**4))


def _score_normal(model: Any, rows: Floats, table: CellTable, at: Index, hidden: Mask) -> Floats:
    """(n, C), log probability of each hidden cell, taken as normal about what `impute` fills in; NaN elsewhere."""
    mean, sd = model.impute(rows, return_std=True)
    score = _log_normal_mass(table.spread_exact[at], host(mean), host(sd), table.width)
    return np.where(hidden, score, np.nan)


def _log_normal_mass(value: Floats, mean: Floats, sd: Floats, width: Floats) -> Floats:
    """Log density, or log mass of the width about a value where a column has one."""
    sd = np.maximum(sd, 1e-6)
    z = (value - mean) / sd
    density = -0.5 * z**2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    half = 0.5 * width / sd
    distance = np.abs(z)  # in the left tail, differences keep their digits
    mass = ndtr(half - distance) - ndtr(-half - distance)
    thin = density + np.log(np.maximum(width, 1e-300))  # where the tail is too far for a difference
    return np.where(width > 0, np.where(mass > 1e-12, np.log(np.maximum(mass, 1e-300)), thin), density)


def _mass(density: Callable[[Floats], Floats], value: Floats, width: float) -> Floats:
    """Log of a density, integrated over a width where there is one."""
    if width == 0:
        return density(value)
    terms = [density(value + 0.5 * width * node) + np.log(0.5 * weight) for node, weight in
             zip(NODES, NODE_WEIGHTS, strict=True)]  # fmt: skip
    return np.asarray(np.minimum(np.logaddexp.reduce(terms, axis=0) + np.log(width), 0.0))


def _made(name: str, **fixed: Any) -> Callable[..., Any]:
    """A maker of estimators with these settings."""

    def build(**given: Any) -> Any:
        return getattr(latens, name)(**fixed, **given)

    return build


def baselines(table: CellTable, n_train: int) -> list[Candidate]:
    """Columns that have nothing to do with each other, and one Gaussian."""
    found: list[Candidate] = [
        KindDensities("independent columns", "nothing", _made("LatentClassAnalysis", n_components=1, n_init=1))
    ]
    if table.only(*NUMBERS) and _takes_full(table, n_train) and table.exposure is None:
        one = _made("GaussianMixture", n_components=1, covariance_type="full", n_init=1)
        found.append(RowDensities("one Gaussian", "correlations, but no structure", one))
    return found


def candidates(table: CellTable, n_train: int) -> list[Candidate]:
    """Those that take the kinds of columns there are, the simplest first."""
    short = {"n_init": 1, "tol": 1e-4}
    classes = KindDensities("classes", "groups of rows",
                            _made("LatentClassAnalysis", **short))  # fmt: skip
    if table.only("binary"):
        return [
            Probabilities("clusters", "groups of rows", _made("BernoulliMixture", **short)),
            Probabilities("switches", "causes that are on or off", _made("NoisyOr", n_init=1)),
            Views("factors", "graded factors behind the columns", _made("MultiViewFactorAnalysis", n_init=1)),
        ]
    if not table.only(*NUMBERS) or table.exposure is not None:  # others take counts for numbers
        views = Views("factors", "graded factors behind the columns", _made("MultiViewFactorAnalysis", n_init=1))
        return [classes, views]
    switches = min(MOST_SWITCHES, table.n_columns)  # more only mimic heavy tails, and take minutes
    found: list[Candidate] = [
        Clusters("clusters", "groups of rows", _made("GaussianMixture", **short)),
        RowDensities("factors", "graded factors behind the columns",
                     _made("FactorAnalysis", prior="ard", n_init=1)),
        RowDensities("switches", "causes that are on or off",
                     _made("BinaryFactorAnalysis", n_components=switches, noise="diagonal", fit_intercept=True,
                           n_init=1)),
        NormalCells("sources", "independent heavy-tailed sources", _made("NoisyICA", n_init=1)),
    ]  # fmt: skip
    return [classes, *found] if "count" in table.kinds else found


def _takes_full(table: CellTable, n_train: int) -> bool:
    return table.n_columns <= WIDEST_FULL and n_train >= ROWS_PER_COLUMN * table.n_columns
