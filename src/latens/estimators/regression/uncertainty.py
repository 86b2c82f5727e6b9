"""How sure a regression is: intervals of its numbers, and draws of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows, State
from latens.errors import caller_level
from latens.estimators.frames.roles import from_table
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.intervals.table import INTERVAL_COLUMNS, IntervalTable
from latens.estimators.parameters import one_of, probability, some_of, whole_number
from latens.estimators.regression.blocks import SumBlock, rows_with_target
from latens.estimators.regression.column_sizes import SHARED_PRIOR, too_different
from latens.estimators.regression.units import RegressionUnits
from latens.estimators.rows.validation import check_weight, encoded_rows, is_foreign
from latens.models.linear_regression import LinearRegression
from latens.models.regression_integral import RegressionIntegral
from latens.models.regression_posterior import RegressionPosterior, expected
from latens.models.regression_sums import regression_sums
from latens.scale.scan import Scan
from latens.system.seeds import generator
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["CENTRAL_QUANTILES", "WIDTH", "RegressionUncertainty"]

CENTRAL_QUANTILES = (0.025, 0.975)  # where a Normal that stands for another distribution agrees with it
WIDTH = float(ndtri(CENTRAL_QUANTILES[1]) - ndtri(CENTRAL_QUANTILES[0]))  # between them, in standard deviations
LEAST_TOLD = 0.5  # of a number's precision by the rows: below it the prior, which draws weights to 0, says more
PRIOR_DECIDES = "the prior says more of it than the rows"
SAME_SUMS = 1e-6  # of the sums of squares: those of other rows differ by more


class RegressionUncertainty:
    """Mixed into the regression; reads its posterior, its sums, and the integral over its precisions."""

    if TYPE_CHECKING:
        posterior_: RegressionPosterior
        _integral: RegressionIntegral | None
        _model: LinearRegression
        _units: RegressionUnits
        _state: State
        _center: Floats
        _columns: Callable[[], Floats]
        _numbers: Callable[..., Any]
        coef_: Floats
        coef_std_: Floats
        intercept_: float
        noise_precision_: float
        fit_intercept: bool
        random_state: Any
        weight_variance_prior: tuple[float, float] | None

        @property
        def _precisions_given(self) -> bool: ...

    def sample_coef(self, n_samples: int = 1) -> Floats:
        """Draw weights from their posterior.

        Parameters
        ----------
        n_samples : int
            How many draws.

        Returns
        -------
        array of shape (n_samples, D)
            Precisions that were not given are integrated out.
        """
        check_is_fitted(self)
        n, rng = whole_number("n_samples", n_samples), generator(self.random_state)
        if self._integral is None:
            return np.asarray(self.posterior_.draws(rng, n) * self._step)
        return np.asarray(self._integral.draws(rng, n) * (self._units.target.scale / self._units.scale))

    @property
    def _step(self) -> Floats:
        """(D,), what one unit of each of the posterior's weights is in the data."""
        return np.asarray(self._units.target.scale / self._units.scale / self._model.column_units(self._state.stats))

    def sample_posterior(
        self, n_samples: int = 1, method: str = "mean-field", X: Any = None, sample_weight: Any = None
    ) -> dict[str, Floats]:
        """Draw weights, intercept and noise precision together.

        Parameters
        ----------
        n_samples : int
        method : "mean-field", "response" or "gibbs"
            "mean-field" takes `weight_precision_` and `noise_precision_` for known; the others integrate those out that
            were not given, so that draws are exact and independent: no chain is needed.
        X : array of shape (n, D), optional
            The rows of the fit; other rows are refused. None are needed.
        sample_weight : array of shape (n,), optional
            As given to `fit`, where X is given.

        Returns
        -------
        dict of arrays
            "coef" (n_samples, D), "intercept" (n_samples,) and "noise_precision" (n_samples,), in data units.
        """
        check_is_fitted(self)
        n, rng = whole_number("n_samples", n_samples), generator(self.random_state)
        narrow = one_of("method", method, ["mean-field", "response", "gibbs"]) == "mean-field"
        if X is not None:
            self._refuse_other_rows(X, sample_weight)
        target, sums = self._units.target, self._state.stats
        if narrow or self._integral is None:
            coef, noise = self.posterior_.draws(rng, n) * self._step, np.full(n, 1 / expected(self.posterior_.beta))
            level = sums.y / sums.n + rng.normal(size=n) * np.sqrt(noise / sums.n)
        else:
            weights, level, noise = self._integral.joint_draws(rng, n)
            coef = weights * (target.scale / self._units.scale)
        line = target.leave(level[:, None])[:, 0] - coef @ self._center
        return {
            "coef": np.asarray(coef),
            "intercept": line if self.fit_intercept else np.zeros(n),
            "noise_precision": 1 / (noise * target.scale * target.scale),
        }

    def intervals(
        self,
        X: Any = None,
        level: float = 0.95,
        method: str = "auto",
        quantities: Any = None,
        components: Any = None,
        features: Any = None,
        sample_weight: Any = None,
    ) -> IntervalTable:
        """Central intervals of weights, intercept and noise precision, in the units of the data.

        Parameters
        ----------
        X : array of shape (n, D), optional
            The rows of the fit; other rows are refused. They are not needed: the fit keeps their sums, which suffice.
        level : float
            Nominal coverage of the intervals.
        method : "auto", "response", "gibbs" or "mean-field"
            All but the last integrate out the precisions that were not given, which leaves mixtures of Student-t
            distributions; "mean-field" takes the posterior given `weight_precision_` and `noise_precision_`, which is
            too narrow.
        quantities : sequence of "coef", "intercept" and "noise_precision", optional
            Which of them to return; all, if not given.
        components : None
            A regression has no components.
        features : str or sequence of str, optional
            Names of columns whose weights to return, and nothing else; all, if not given.
        sample_weight : array of shape (n,), optional
            As given to `fit`, where X is given.

        Returns
        -------
        IntervalTable
            One row for each number: parameter, component, feature, view, estimate, std, lower, upper, sound, why.
        """
        check_is_fitted(self)
        level = probability("level", level)
        one_of("method", method, ["auto", "response", "gibbs", "mean-field"])
        if components is not None:
            raise ValueError(f"components={components!r}: a regression has no components; leave it out.")
        asked = some_of("quantities", _present_names(quantities), ["coef", "intercept", "noise_precision"])
        if X is not None:
            self._refuse_other_rows(X, sample_weight)
        ends = (0.5 * (1 - level), 0.5 * (1 + level))
        narrow = method == "mean-field" and not self._precisions_given
        parts = self._given_ends(ends) if narrow or self._integral is None else self._integrated_ends(ends)
        why = self._doubts(narrow)
        estimates = {
            "coef": self.coef_,
            "intercept": np.array([self.intercept_]),
            "noise_precision": np.array([self.noise_precision_]),
        }
        names = {"coef": [str(name) for name in self._columns()], "intercept": [""], "noise_precision": [""]}
        columns = None if features is None else some_of("features", features, names["coef"])
        rows = [
            (name, "", feature, "", float(estimate), float(std), float(low), float(high), not doubt, doubt)
            for name in asked
            for feature, estimate, std, low, high, doubt in zip(
                names[name], estimates[name], *parts[name], why[name], strict=True
            )
            if columns is None or feature in columns
        ]
        return IntervalTable(INTERVAL_COLUMNS, tuple(rows), "mean-field" if narrow else "integration")

    def summary(self) -> Table:
        """A short table of what was found.

        Returns
        -------
        Table
            One row per weight, those most certainly not 0 first: column, weight, sd, and the ends of its 95 %
            interval, in data units. `note` has the intercept and the noise, and says where intervals are not sound.
        """
        weights = self.intervals(quantities=["coef"])
        sure = np.abs(weights["estimate"]) / np.maximum(weights["std"], np.finfo(float).tiny)
        parts = list(zip(*(weights[name] for name in ("feature", "estimate", "std", "lower", "upper")), strict=True))
        doubtful = [(name, words) for name, words in zip(weights["feature"], weights["why"], strict=True) if words]
        which = "" if len(doubtful) == len(parts) else f" of {listed([name for name, _ in doubtful])}"
        why = f"; intervals{which} are not sound: {doubtful[0][1]}" if doubtful else ""
        note = f"intercept {self.intercept_:.4g}; noise sd {self.noise_precision_**-0.5:.4g}{why}"
        order = np.argsort(-sure, kind="stable")
        return Table(("column", "weight", "sd", "lower", "upper"), tuple(parts[d] for d in order), note=note)

    def _doubts(self, narrow: bool) -> dict[str, list[str]]:
        """Why the interval of each number may not hold what it claims; empty where it does."""
        of_all, prior = self._doubt(narrow), ["", PRIOR_DECIDES]
        coef, intercept = np.zeros(len(self.coef_), dtype=bool), False
        if not of_all and self._integral is not None and self._prior_was_found:
            weights, level = self._integral.told_by_rows(self._origin)
            coef, intercept = weights < LEAST_TOLD, self.fit_intercept and bool(level[0] < LEAST_TOLD)
        found = {"coef": coef.tolist(), "intercept": [intercept], "noise_precision": [False]}
        return {name: [of_all or prior[doubt] for doubt in doubts] for name, doubts in found.items()}

    @property
    def _origin(self) -> Floats:
        """(1, D), the row of zeros in the units of the fit: there the line is the intercept."""
        return np.asarray(self._units.enter(Rows(np.zeros((1, len(self.coef_))))).x)

    @property
    def _prior_was_found(self) -> bool:
        """Whether the prior of the weights comes from the rows, and not from the caller."""
        return isinstance(self._model.alpha, str) and self.weight_variance_prior is None

    def _doubt(self, narrow: bool) -> str:
        """Why no interval may hold what it claims; empty where they do."""
        if narrow:
            return "precisions taken as known"
        if not self._precisions_given and self._integral is None:
            return "one row does not tell the noise"
        return SHARED_PRIOR if too_different(self._model, self._state.stats) else ""

    def _integrated_ends(self, ends: tuple[float, float]) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Standard deviation, lower and upper end of each quantity, precisions integrated out."""
        integral, target = self._integral, self._units.target
        assert integral is not None
        step = target.scale / self._units.scale
        low, high = integral.weight_quantiles(ends) * step
        line = np.zeros((4, 1))  # without an intercept, it is 0 for certain
        if self.fit_intercept:
            line = (
                integral.line_quantiles(self._origin, (*ends, *CENTRAL_QUANTILES), noise=False) * target.scale
                + target.origin
            )
        noise = 1 / (integral.noise_quantiles((*ends, *CENTRAL_QUANTILES)) * target.scale * target.scale)
        return {
            "coef": (self.coef_std_, low, high),
            "intercept": ((line[3] - line[2]) / WIDTH, line[0], line[1]),
            "noise_precision": ((noise[2:3] - noise[3:]) / WIDTH, noise[1:2], noise[:1]),
        }

    def _given_ends(self, ends: tuple[float, float]) -> dict[str, tuple[Floats, Floats, Floats]]:
        """The same given `weight_precision_` and `noise_precision_`: Normals, and a noise that is known."""
        std = np.sqrt(self.posterior_.variances) * self._step
        line = np.zeros(1)
        if self.fit_intercept:
            noise_of_mean = 1 / (self.noise_precision_ * self._state.stats.n)
            line = np.sqrt(self.posterior_.variances_of((self._center * self._step)[None]) + noise_of_mean)
        z, noise = ndtri(ends[1]), np.array([self.noise_precision_])
        return {
            "coef": (std, self.coef_ - z * std, self.coef_ + z * std),
            "intercept": (line, self.intercept_ - z * line, self.intercept_ + z * line),
            "noise_precision": (np.zeros(1), noise, noise),
        }

    def _refuse_other_rows(self, X: Any, sample_weight: Any) -> None:
        """Refuse a table whose sums of squares and products are not those of the fit."""
        (sample_weight,) = from_table(X, sample_weight=sample_weight)
        sample_weight = in_row_order("sample_weight", sample_weight, X)
        known, x = self._state.stats, np.zeros((0, len(self.coef_)))
        if not isinstance(X, Scan):
            X = encoded_rows(self, X)
            x = np.asarray(self._numbers(host(X) if is_foreign(X) else X, reset=False), dtype=np.float64)
        weight = None if sample_weight is None else check_weight(sample_weight, x)
        given = regression_sums(self._units.enter(Rows(x)).x, np.zeros(len(x)), weight)
        if isinstance(X, Scan):
            given = rows_with_target(X).total(SumBlock(self._units))
        if not np.isclose(given.n, known.n, rtol=1e-9) or known.gap(given) > SAME_SUMS:
            raise ValueError(
                f"X is not the data of the fit: it has {given.n:g} rows, fit was given {known.n:g}; or its columns "
                "have other sums of squares and products. Give X and sample_weight as given to fit, or neither: the "
                "sums of the fit suffice."
            )


def _present_names(quantities: Any) -> Any:
    """Quantities of `intervals`, of which one had another name before."""
    names = [quantities] if isinstance(quantities, str) else quantities
    if not isinstance(names, list | tuple) or "beta" not in names:
        return quantities
    warnings.warn(
        "the quantity 'beta' is now 'noise_precision'; write 'noise_precision' instead.",
        FutureWarning,
        stacklevel=caller_level(),
    )
    return ["noise_precision" if name == "beta" else name for name in names]
