"""What a model of latent classes answers about rows of mixed columns, with the exposures of their counts.

A count of a row with exposure s has the mean s times the rate of its class. A model that was fitted with exposures
answers about no row without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.answers import drawn_rows
from latens.estimators.former_names import keywords_after_y
from latens.estimators.frames.completions import DRAWS_FOR_QUANTILES, Asked, quantiles_of
from latens.estimators.frames.drawn_frames import drawn_frame
from latens.estimators.frames.raw_frames import as_frame, in_types_of, is_frame, level_numbers, refilled
from latens.estimators.frames.roles import rows_and_exposure
from latens.estimators.information_criteria import mean_score
from latens.estimators.mixtures.base import MixtureEstimator
from latens.estimators.mixtures.column_kinds import ColumnKinds
from latens.estimators.parameters import one_of, whole_number
from latens.estimators.rows.containers import contained
from latens.estimators.rows.exposures import column_aside, exposure_numbers, log_exposures
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.parts import into_parts
from latens.estimators.rows.validation import check_codes
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.categorical_columns import CategoricalColumns
from latens.system.seeds import generator
from latens.system.summary_table import Table

__all__ = ["ClassAnswers"]

MOST_DRAWN = 2**23  # numbers that are drawn at once for quantiles: draws of all rows would be hundreds of tables


class ClassAnswers(MixtureEstimator):
    """Mixed into the estimator; `_rows` makes rows of what the caller gave, with exposures beside them."""

    columns_: ColumnKinds

    if TYPE_CHECKING:
        _rows: Callable[..., Rows]

    @into_parts
    @lazily
    def transform(self, X: Any, return_std: bool = False, *, exposure: Any = None, out: Any = None) -> Any:
        """Memberships of each row: how probable each class is under the variational posterior.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        return_std : bool
            Whether to return standard deviations, too.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.
        out : path, optional
            A folder to which the results are written as Parquet files, one for each block of X, with row names or
            numbers; existing files are not computed again. The path is returned. Needs pyarrow.

        Returns
        -------
        memberships : array of shape (n, K)
            Rows add up to 1.
        std : array of shape (n, K)
            Their standard deviations, with `return_std`.
        """
        return self._transformed(self._rows(X, exposure=exposure), X, return_std)

    @contained("components", "cluster")
    @lazily
    def predict(self, X: Any, *, exposure: Any = None) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        array of int, of shape (n,)
            Classes, numbered as in `weights_`.
        """
        proba = self._shares(self._rows(X, exposure=exposure))
        return array_namespace(proba).argmax(proba, axis=1)

    @contained("components")
    @lazily
    def predict_proba(self, X: Any, *, exposure: Any = None) -> Array:
        """Probability of each class for each row, under the density of `score_samples`.

        Parameters are integrated out; `transform` has the memberships of the variational posterior.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        array of shape (n, K)
            Rows add up to 1.
        """
        return self._shares(self._rows(X, exposure=exposure))

    @contained("components", "log_density")
    @lazily
    def score_samples(self, X: Any, *, exposure: Any = None) -> Array:
        """Log density of each row under the posterior.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        array of shape (n,)
            Log density of the observed entries of each row, in nats and in the units of X.
        """
        return self._densities(self._rows(X, exposure=exposure))

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, exposure: Any = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts, as in `fit`. Weights of `latens.read(..., weights=)` and
            `latens.scan(..., weights=)` are used by default.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        float
            In nats per row; higher is better.
        """
        return mean_score(self.score_samples(X, exposure=exposure), X, sample_weight)

    @keywords_after_y("sample_weight")
    def fit_predict(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, known: Any = None, exposure: Any = None
    ) -> Array:
        """Fit, and return the most probable class of each row.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts; a weight of 2 is the row given twice.
        known : array of shape (n,), optional
            Labels known for some rows, as in `fit`.
        exposure : array of shape (n,) or str, optional
            As in `fit`.

        Returns
        -------
        array of int, of shape (n,)
        """
        beside = {} if exposure is None else {"exposure": exposure}
        return self.fit(X, sample_weight=sample_weight, known=known, **beside).predict(X, **beside)

    def bic(self, X: Any, *, sample_weight: Any = None, exposure: Any = None) -> float:
        """Bayesian information criterion of rows X: the lower the better; `elbo_` needs no such approximation.

        Minus twice the log density of X under the posterior, plus `n_parameters_` times the log of the number of rows.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        sample_weight : array of shape (n,), optional
            How often each row counts, as in `fit`: a weight of 2 is the row given twice. The number of rows is their
            sum. Those of `latens.read(..., weights=)` and `latens.scan(..., weights=)` are taken.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        float
            In units of twice a nat.
        """
        return self._criterion(X, sample_weight, lambda n: float(np.log(n)), exposure=exposure)

    def aic(self, X: Any, *, sample_weight: Any = None, exposure: Any = None) -> float:
        """Akaike's information criterion of rows X: the lower the better.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        sample_weight : array of shape (n,), optional
            As in `bic`.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        float
            In units of twice a nat.
        """
        return self._criterion(X, sample_weight, lambda n: 2.0, exposure=exposure)

    def associate(
        self, metadata: Any, X: Any = None, *, role: str = "outcomes", level: float = 0.95, exposure: Any = None
    ) -> Table:
        """Compare classes with each column of metadata, corrected for rows that are assigned to the wrong one.

        Columns as outcomes: the mean of numbers and the shares of labels in each class (Bolck, Croon and Hagenaars).
        Columns as covariates: how the odds of classes go with all of them together (maximum likelihood, Vermunt).
        The correction of outcomes assumes that they depend on X only through the class. Where a test at .01 finds
        that a column depends on X beyond it, the correction would go too far: rows are weighted by memberships, as
        is right if the column depends on the class only through X (`DirectEffects`). If it depends on both, these
        means are too much alike. Columns of X themselves are weighted by memberships too, which gives the means of
        the model. No mean lies beyond the observed values.
        Whether classes are alike in a number is tested by permutations of the rows, and few rows of a class borrow
        their spread from all rows. Dates are in UTC, odds by day. Classes without rows that have a value, and
        columns that are sums of others, are NaN (`NotMeasured`, `CollinearColumns`). Odds that have no end, as of a
        level that a class never shows, are those under Jeffreys' prior (`EndlessOdds`), which adds half the log
        determinant of the information of known classes to the log likelihood.

        Intervals count that the classes themselves are estimated, as long as the posterior has at most 500 coordinates
        and rows are in memory; the table's `note` says whether they do. A fit that was given weights or known labels
        takes its own rows for others, which changes intervals little.

        Parameters
        ----------
        metadata : data frame, Series or dict of columns
            Other columns about the rows of X, aligned by row name if both have names.
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        role : {"outcomes", "covariates"}
            Role of the columns.
        level : float
            Coverage of the intervals.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        Table
            Outcomes: column, of, cluster, estimate, low, high, uncorrected, p and adjusted p that classes are alike,
            n. Covariates: cluster, against, covariate, log odds, low, high, odds ratio, p, adjusted p, n.
        """
        return self._associated(metadata, X, role, level, {} if exposure is None else {"exposure": exposure})

    def sample(self, n_samples: int = 1, globals: str = "each", *, exposure: Any = None) -> tuple[Any, Floats]:
        """Draw new rows, and the classes that made them.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        globals : "each" or "shared"
            Whether each row has its own draw of the parameters, so that rows are draws from the predictive density,
            or all rows share one draw, so that they form a data set.
        exposure : float or array of shape (n_samples,), optional
            How much each row is looked at, where the model was fitted with exposures; 1, if not given.

        Returns
        -------
        rows : array of shape (n_samples, D), or data frame
            In data units; a frame with the columns, types and categories of the fit, where that was to one with columns
            that are no numbers. Numbers that it wrote as text, such as 12 %, are numbers.
        memberships : array of shape (n_samples, K)
            One 1 in each row, for the class that made it.
        """
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples)
        if exposure is None and not self._is_exposed:
            return self._as_given_to_fit(*self._draw(n, globals))
        numbers = np.broadcast_to(exposure_numbers(1.0 if exposure is None else exposure), n)
        logs = log_exposures(numbers, np.ones(n, dtype=bool), "give positive numbers")
        self._refuse_unasked()
        each = np.exp(logs) / self.columns_.exposure_unit
        rng, how = generator(self.random_state), one_of("globals", globals, ["each", "shared"])
        return self._as_given_to_fit(*drawn_rows(self._model, self.posterior_, n, rng, how, each))

    def _rows_of_spreads(self) -> Floats:
        return self._rows_shown()

    def _as_given_to_fit(self, rows: Floats, codes: Floats) -> tuple[Any, Floats]:
        """Rows in model units as the fit was given some, a frame or an array."""
        table = self.columns_.table
        if table is not None:
            values = np.asarray(host(self._units.leave(rows)))
            frame = drawn_frame(table, values, list(self.columns_.names_of_levels))
            if frame is not None:
                return frame, codes
        return self._leave(rows), codes

    @contained("features")
    @lazily
    def impute(
        self,
        X: Any,
        return_std: bool = False,
        quantiles: Any = None,
        n_draws: int | None = None,
        *,
        exposure: Any = None,
    ) -> Any:
        """X with its missing entries filled, observed ones untouched.

        Numbers and counts are filled with their expectation, columns of 0 and 1 with the probability of a 1, categories
        with the most probable level, steps of a scale with the step nearest to the expected one. A raw data frame
        comes back with the types that it has: whole numbers rounded, yes or no. With `return_std` also the predictive
        standard deviation of each filled entry, 0 where observed; of a category, that of whether the level is right.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        return_std : bool
            Whether to return standard deviations, too.
        quantiles : sequence of float, optional
            Such as (0.05, 0.95): also the quantiles of the missing entries, from 400 draws; of categories, which have
            no order, the level drawn most often.
        n_draws : int, optional
            Also so many completed tables, each with entries drawn under one draw of the classes' parameters.
        exposure : array of shape (n,) or str, optional
            As in `fit`, where the model was fitted with it; a column of exposures is not among what is given back.

        Returns
        -------
        filled : like X
            X with its missing entries filled. Alone, or first in a tuple of what was asked for:
        std : array or data frame of shape (n, D)
            Predictive standard deviations of the columns that are used, 0 where X is observed; with `return_std`.
        quantiles : dict of float to tables like X
        draws : list of tables like X
        """
        check_is_fitted(self)
        X, exposure = column_aside(*rows_and_exposure(self, X, exposure))
        asked, rows = Asked(quantiles, n_draws), self._rows(X, exposure=exposure)
        mean, variance = self._ask(rows, lambda part, local: self._model.impute(self.posterior_, part, local))
        filled, spread = self._completed(X, mean), list[Any]()
        if return_std:
            spread = [self._spread(X, self._units.leave_direction(array_namespace(variance).sqrt(variance)))]
        if not asked.levels and not asked.n_draws:
            return asked.answer(filled, spread, [], [])
        rng = generator(self.random_state)
        drawn = self._drawn(rows, asked.n_draws, rng) if asked.n_draws else ()
        draws = [self._completed(X, values) for values in drawn]
        return asked.answer(filled, spread, self._quantiles(X, rows, asked.levels, rng), draws)

    def _spread(self, X: Any, std: Array) -> Any:
        """Standard deviations (n, D) of missing entries, and 0 for the others."""
        table = self.columns_.table
        if table is None:
            return self._filled(X, std, spread=True)
        return as_frame(X, table, np.where(np.isnan(level_numbers(table, X)), host(std), 0.0))

    def _drawn(self, X: Rows, n_draws: int, rng: np.random.Generator) -> Floats:
        """(draws, n, D), entries drawn given what rows show, in the units of the model."""

        def draw(rows: Rows) -> tuple[Floats]:
            each = self._model.draw_entries(self.posterior_, rows, n_draws, rng)
            return (np.moveaxis(each, 0, 1),)  # (n, draws, D): blocks are put together along their first axis

        return np.moveaxis(host(self._ask_rows(X, draw)[0]), 0, 1)

    def _quantiles(self, X: Any, rows: Rows, levels: list[float], rng: np.random.Generator) -> list[Any]:
        if not levels:
            return []
        ordered = [kind != "categorical" for kind in self.columns_.kinds]

        size = max(1, MOST_DRAWN // (DRAWS_FOR_QUANTILES * len(ordered)))

        def draw(part: Rows) -> tuple[Floats, ...]:
            found = []
            for at in range(0, len(part), size):
                some = part[slice(at, min(at + size, len(part)))]
                draws = self._model.draw_entries(self.posterior_, some, DRAWS_FOR_QUANTILES, rng)
                found.append(quantiles_of(draws, levels, ordered))
            return tuple(np.concatenate(each) for each in zip(*found, strict=True))

        return [self._completed(X, host(values)) for values in self._ask_rows(rows, draw)]

    def _completed(self, X: Any, values: Any) -> Any:
        """X with missing entries from values (n, D) in the units of the model, in its own container and types."""
        table = self.columns_.table
        if table is None:
            filled = self._filled(X, self._leave(values))
            return in_types_of(X, filled) if is_frame(X) else filled
        return refilled(X, table, host(self._units.leave(values)), list(self.columns_.names_of_levels))

    @property
    def likelihoods_(self) -> dict[str, str]:
        """The kind of each column."""
        check_is_fitted(self)
        return dict(zip(self.columns_.names, self.columns_.kinds, strict=True))

    @property
    def levels_(self) -> dict[str, list[Any]]:
        """Of columns of levels, and of yes and no: their levels, in the order of `impute_proba`."""
        check_is_fitted(self)
        return self.columns_.named_levels

    def impute_proba(self, X: Any, *, exposure: Any = None) -> dict[str, Array]:
        """Probabilities of the levels of each column of levels, and of columns of yes and no.

        They are those of a new entry of the same row, given all that the row shows.

        Parameters
        ----------
        X : array or data frame of shape (n, D)
            Rows like those of `fit`.
        exposure : array of shape (n,) or str, optional
            As in `fit`, if the model was fitted with it.

        Returns
        -------
        dict of arrays of shape (n, C)
            By name of column, in the order of `levels_`; rows add up to 1.
        """
        share = self._shares(self._rows(X, exposure=exposure))
        found: dict[str, Array] = {}
        for kind, part in self.posterior_.clusters.parts.items():
            if isinstance(part, CategoricalColumns):
                chance = share @ like(part.chance, share)
                stops = np.cumsum(part.levels)
                for place, stop, size in zip(self.columns_.places[kind], stops, part.levels, strict=True):
                    found[self.columns_.names[place]] = chance[:, int(stop) - size : int(stop)]
            elif isinstance(part, BernoulliColumns):
                chance = share @ like(part.mean, share)
                for at, place in enumerate(self.columns_.places[kind]):
                    yes = chance[:, at : at + 1]
                    found[self.columns_.names[place]] = array_namespace(yes).concat([1 - yes, yes], axis=1)
        return found

    @contained("features")
    def inverse_transform(self, X: Any) -> Array:
        """Expected rows given their memberships.

        Parameters
        ----------
        X : array of shape (n, K)
            Memberships, as `transform` returns them.

        Returns
        -------
        array of shape (n, D)
            Expected rows, in data units; of categories the most probable level, of counts at exposure 1.
        """
        check_is_fitted(self)
        codes = check_codes(X, self.n_components_)
        unit = self.columns_.exposure_unit
        one = None if not unit else like(np.full(len(codes), 1 / unit), codes)
        return self._leave(self.posterior_.clusters.fill(codes, one)[0])

    @property
    def _is_exposed(self) -> bool:
        return self.columns_.exposure_unit > 0

    def _refuse_unasked(self) -> None:
        if not self._is_exposed:
            raise ValueError("exposure was given, but the model was fitted without; leave it out.")
