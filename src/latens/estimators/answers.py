"""What a fitted estimator answers about rows: codes, reconstructions, densities, draws, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.transfer import detached, host, is_sparse
from latens.core import Rows, State, blocks
from latens.estimators.association import associate
from latens.estimators.display.likelihood_note import likelihood_note
from latens.estimators.display.order_note import order_note
from latens.estimators.display.strongest import least_strength, standard_errors, strongest
from latens.estimators.frames.row_labels import labels_of
from latens.estimators.information_criteria import mean_score
from latens.estimators.intervals.intervals import Intervals
from latens.estimators.parameters import one_of, whole_number
from latens.estimators.rows.containers import contained
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.parts import into_parts
from latens.estimators.rows.units import Units, too_large
from latens.estimators.rows.validation import check_codes, check_rows, encoded_rows, is_foreign, unmasked
from latens.inference.local_fixed_point import local_fixed_point
from latens.system.seeds import generator
from latens.system.summary_table import Table
from latens.system.threads import one_blas_thread

__all__ = ["Answers", "drawn_rows"]


class Answers(Intervals, TransformerMixin):
    """Mixed into every estimator; reads `_model`, `_units`, `posterior_` and nothing else of the fit."""

    _component_noun: ClassVar[str] = "component"  # what one is called: "factor" gives the names factor0, factor1, ...
    _model: Any
    _units: Units
    posterior_: Any
    _state: State
    n_components_: int
    n_features_in_: int
    share_: Floats
    noise_variance_: Any
    components_: Any
    random_state: Any
    _publish: Callable[..., dict[str, Any]]

    @into_parts
    @lazily
    def transform(self, X: Any, return_std: bool = False, *, out: Any = None) -> Any:
        """Posterior means of the codes (latent values) of each row.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        return_std : bool
            Whether to return standard deviations, too.
        out : path, optional
            A folder to which the results are written as Parquet files, one for each block of X, with row names or
            numbers; existing files are not computed again. The path is returned. Needs pyarrow.

        Returns
        -------
        codes : array of shape (n, K)
            Posterior means of the codes: factor or source values, probabilities that causes are on, or membership
            probabilities.
        std : array of shape (n, K)
            Their posterior standard deviations, with `return_std`.
        """
        return self._transformed(X, X, return_std)

    def _transformed(self, rows: Any, X: Any, return_std: bool) -> Any:
        """What `transform` says of rows that X became."""
        mean, variance = self._ask(rows, lambda part, local: self._model.codes(part, local))
        if not return_std:
            return mean
        xp = array_namespace(variance)
        return mean, self._contained(xp.sqrt(variance), X)

    def _contained(self, std: Array, X: Any) -> Any:
        """Standard deviations in the container that `set_output` asks for; scikit-learn wraps only the first answer."""
        return _wrap_data_with_container("transform", std, X, self)

    @contained("features")
    def inverse_transform(self, X: Any) -> Array:
        """Expected rows given their codes.

        Parameters
        ----------
        X : array of shape (n, K)
            Codes, as `transform` returns them.

        Returns
        -------
        array of shape (n, D)
            Expected rows, in data units; probabilities for binary data.
        """
        check_is_fitted(self)
        codes = check_codes(X, self.n_components_)
        return self._leave(self._model.reconstruct(self.posterior_, codes))

    @contained("features")
    @lazily
    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Fill missing entries with their posterior mean; observed entries do not change.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        return_std : bool
            Whether to return standard deviations, too.

        Returns
        -------
        filled : like X, of shape (n, D)
            X with its missing entries filled, in data units; probabilities for binary data.
        std : like X
            Predictive standard deviation of each filled entry, 0 where X is observed; with `return_std`.
        """
        X = encoded_rows(self, X)
        mean, variance = self._ask(X, self._moments_of_entries(return_std))
        filled = self._filled(X, self._leave(mean))
        if not return_std:
            return filled
        xp = array_namespace(mean)
        return filled, self._filled(X, self._units.leave_direction(xp.sqrt(variance)), spread=True)

    def _moments_of_entries(self, spread: bool) -> Callable[[Rows, Any], tuple[Array, ...]]:
        """What gives mean and variance (n, D) of rows' entries; the latter is asked for only with `spread`."""
        q = self._predictive()
        return lambda rows, local: self._model.impute(q, rows, local)

    def _predictive(self) -> Any:
        """The posterior under which new rows are predicted, filled in and drawn."""
        check_is_fitted(self)
        return self.posterior_

    def _filled(self, X: Any, wide: Array, *, spread: bool = False) -> Any:
        """X with its missing entries taken from `wide` (n, D); of spreads, 0 where X is observed."""
        xp = array_namespace(wide)
        X = X.toarray() if is_sparse(X) else X
        given = detached(X) if is_foreign(X) else _numbers(X, wide.dtype)
        here = xp.zeros_like(wide) if spread else xp.astype(given, wide.dtype)
        return _as_given(xp.where(xp.isnan(given), wide, here), X)

    @contained("components", "log_density")
    @lazily
    def score_samples(self, X: Any) -> Array:
        """Log density of each row.

        The log predictive density if it has a closed form, otherwise a lower bound of it (see `score_is_bound_`).

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.

        Returns
        -------
        array of shape (n,)
            Log density of the observed entries of each row, in nats and in the units of X.
        """
        return self._densities(X)

    def _densities(self, X: Any) -> Array:
        """(n,), what `score_samples` says, as an array."""

        q = self._predictive()

        def density(rows: Rows, local: Any) -> tuple[Array]:
            density = self._model.log_predictive(q, rows, local)
            return (density - self._units.log_volume(rows),)

        return self._ask(X, density)[0]

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        y : ignored
            There for pipelines.
        sample_weight : array of shape (n,), optional
            How often each row counts, as in `fit`. Weights of `latens.read(..., weights=)` and
            `latens.scan(..., weights=)` are used by default.

        Returns
        -------
        float
            In nats per row; higher is better.
        """
        return mean_score(self.score_samples(X), X, sample_weight)

    def sample(self, n_samples: int = 1, globals: str = "each") -> tuple[Floats, Floats]:
        """Draw new rows, and the codes (latent values) that they were drawn from.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        globals : "each" or "shared"
            Whether each row has its own draw of the parameters, so that rows are draws from the predictive density,
            or all rows share one draw, so that they form a data set.

        Returns
        -------
        rows : array of shape (n_samples, D)
            In data units.
        codes : array of shape (n_samples, K)
            The codes of the rows.
        """
        rows, codes = self._draw(n_samples, globals)
        return self._leave(rows), codes

    def _draw(self, n_samples: int, how: str) -> tuple[Floats, Floats]:
        """Rows in model units, and their codes."""
        check_is_fitted(self)
        n, rng = whole_number("n_samples", n_samples), generator(self.random_state)
        return drawn_rows(self._model, self._predictive(), n, rng, one_of("globals", how, ["each", "shared"]))

    def set_component_names(self, names: Sequence[str] | Mapping[int, str]) -> Self:
        """Name the components; every output and picture uses the names from then on.

        Parameters
        ----------
        names : sequence of K str, or dict of int to str
            A name for each component, or for some of them by number, such as ``{2: "smoking"}``.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if isinstance(names, Mapping):
            chosen = {whole_number("names", k, 0, self.n_components_ - 1): name for k, name in names.items()}
            names = [chosen.get(k, name) for k, name in enumerate(self.get_feature_names_out())]
        names = [str(name) for name in names]
        if len(names) != self.n_components_ or len(set(names)) != len(names):
            raise ValueError(f"{names!r} must be {self.n_components_} different names, one for each component.")
        self.component_names_ = np.array(names, dtype=object)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Floats:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : ignored
            There for pipelines.

        Returns
        -------
        array of str, of shape (K,)
            Short names numbered from 0, such as factor0, or those given by `set_component_names`.
        """
        check_is_fitted(self)
        names = getattr(self, "component_names_", None)
        if names is not None and len(names) == self.n_components_:
            return np.asarray(names)
        return np.array([f"{self._component_noun}{k}" for k in range(self.n_components_)], dtype=object)

    def top_features(self, n: int = 5) -> dict[str, list[str]]:
        """For each component, the columns that describe it best, by the lower end of their strength.

        The strength is the loading, or for clusters and classes the difference from all rows, in standard deviations
        of the column. Columns are sorted by the absolute strength minus two standard errors, so that a column that is
        missing in most rows of a component comes late.

        Parameters
        ----------
        n : int
            Number of columns.

        Returns
        -------
        dict of list of str
            Names of columns by name of component, the strongest first; fewer if the others are missing in all its rows.
        """
        check_is_fitted(self)
        n, names = whole_number("n", n), self._described_columns()
        return {
            str(name): [str(names[d]) for d in strongest(least, n)]
            for name, least in zip(self.get_feature_names_out(), self._least_strengths(), strict=True)
        }

    def summary(self) -> Table:
        """A short table of what was found.

        Returns
        -------
        Table
            One row per component, in the order of all arrays: number, name, share, strongest features. Shares are those
            of the page: of the rows for clusters and classes, of the ones for causes of binary rows, otherwise of the
            variance, each column in units of its own standard deviation. `note` lists the likelihoods of columns or
            views and which of them were guessed, and explains the order of components if shares do not decrease.
        """
        top, shares = self.top_features(), self._component_shares()
        rows = zip(range(self.n_components_), top, shares.tolist(), top.values(), strict=True)
        note = "\n".join(filter(None, (likelihood_note(self), order_note(self, shares))))
        return Table(("component", "name", "share", "top features"), tuple(rows), note=note)

    def associate(self, metadata: Any, X: Any = None) -> Table:
        """Compare each component with each column of metadata.

        Numbers by Pearson's correlation, categories by the Kruskal-Wallis test; p adjusted by Benjamini and Hochberg.

        Parameters
        ----------
        metadata : data frame, Series or dict of columns
            Other columns about the rows of X, aligned by row name if both have names.
        X : array of shape (n, D)
            Rows like those of `fit`.

        Returns
        -------
        Table
            One row for each component and column: effect, p and adjusted p.
        """
        codes, row_names = self._codes_of(X)
        return associate(codes, list(self.get_feature_names_out()), metadata, row_names)

    def _codes_of(self, X: Any, **beside: Any) -> tuple[Floats, tuple[str, ...] | None]:
        """Posterior means of the codes of rows, and the names of those."""
        check_is_fitted(self)
        if X is None:
            raise ValueError(
                "a fit does not store the codes of its rows; give X together with the metadata: "
                "model.associate(metadata, X)."
            )
        return np.asarray(host(self.transform(X, **beside))), labels_of(X)

    def calculator(self) -> dict[str, Any] | None:
        """The formula of `transform` for one row, as plain numbers, texts, lists and dicts.

        The page of `latens.report` computes with it, offline. For factors, mixtures, latent classes, Gaussian views,
        and causes up to 10 whose states are listed; None for other models. See `latens.estimators.display.calculator`.

        Returns
        -------
        dict or None
            Kind of the formula, names of columns, and its numbers in data units; None where there is no short formula.
        """
        from latens.estimators.display.calculator import calculator_of  # it knows all models, which know this class

        return calculator_of(self)

    def _described_columns(self) -> Sequence[Any] | Floats:
        """(D,), names of the columns that components are described by."""
        return self._feature_names()

    def _least_strengths(self) -> Floats:
        """(K, D), how strong a component is in each of these columns at the least: see `display.strongest`."""
        return least_strength(self._column_strengths(), self._strength_errors())

    def _column_strengths(self) -> Floats:
        """(K, D), what each component adds to each column, in standard deviations of that."""
        return np.asarray(self._loadings / np.maximum(self._column_spread(), np.finfo(float).tiny))

    def _strength_errors(self) -> Floats:
        """(K, D), of `_column_strengths`, as if codes were known and columns were noise for the most."""
        errors = standard_errors(np.ones(1), self._rows_shown())
        return np.broadcast_to(errors, (self.n_components_, len(self._column_spread())))

    def _rows_shown(self) -> Floats:
        """(1 or K, 1 or D), how many rows with a code of variance 1 show each column; of all rows if unknown."""
        stats = self._state.stats
        return np.asarray(stats.entries)[None] if np.ndim(stats.entries) else np.full((1, 1), float(stats.n))

    @property
    def _loadings(self) -> Floats:
        """(K, D), what a unit of each component adds to each column."""
        return np.asarray(self.components_)

    def _variance_by_column(self) -> Floats:
        """(K, D), the variance that each component adds to each column, in data units squared."""
        return self._loadings**2  # codes of variance 1

    def _column_spread(self) -> Floats:
        """(D,), standard deviation of each column under the model, in data units."""
        if hasattr(self, "noise_variance_"):
            return np.asarray(np.sqrt(self._variance_by_column().sum(axis=0) + self.noise_variance_))
        blank = np.zeros((1, self.n_features_in_))
        unseen = Rows(blank, blank > 0)  # a row of which nothing was observed has every entry left to predict
        local = local_fixed_point(self._model, self.posterior_, unseen)
        variance = self._moments_of_entries(True)(unseen, local)[1]
        return np.asarray(self._units.leave_direction(np.sqrt(host(variance)))[0])

    def _component_shares(self) -> Floats:
        """(K,), the share of each component, of the variance and averaged over columns; NaN where no noise is known."""
        return np.asarray(np.mean(self._shares_by_column(), axis=1))

    def _shares_by_column(self) -> Floats:
        """(K, D), of the variance of each column."""
        if not hasattr(self, "noise_variance_"):
            return np.full((len(self._loadings), 1), np.nan)
        return np.asarray(self._variance_by_column() / np.maximum(self._column_spread() ** 2, np.finfo(float).tiny))

    def _shares_at(self, q: Any) -> Floats:
        """(K,), the same shares were q the posterior."""
        return self._shares_of(self._share_parts(q).sum(axis=1))

    def _shares_of(self, sums: Floats) -> Floats:
        """(K,), shares from sums over columns of `_share_parts`."""
        return sums

    def _share_parts(self, q: Any) -> Floats:
        """(S, D), numbers of one column each that shares are made of, were q the posterior."""
        there = object.__new__(type(self))  # `copy` asks scikit-learn for a state, which takes longer than the answer
        there.__dict__.update(vars(self), posterior_=q)
        published = self._publish(q, self._state.stats, self._units)
        there.__dict__.update({f"{name}_": value for name, value in published.items()})
        by_column = there._shares_by_column()
        return np.asarray(by_column / by_column.shape[1])

    def _leave(self, x: Array) -> Array:
        """Rows of the model in the units of the data."""
        return self._units.leave(x)

    def _feature_names(self) -> Floats:
        names = getattr(self, "feature_names_in_", None)
        return np.array([f"x{d}" for d in range(self.n_features_in_)]) if names is None else np.asarray(names)

    def _ask(self, X: Any, question: Callable[[Rows, Any], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Answers about the rows of X and their local posteriors."""
        return self._ask_rows(X, lambda rows: question(rows, local_fixed_point(self._model, self.posterior_, rows)))

    def _ask_rows(self, X: Any, question: Callable[[Rows], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Answers about the rows of X, which are asked for block by block, in model units, and put together again."""
        check_is_fitted(self)
        rows = check_rows(self, X)
        self._units.check_sizes(rows)
        answers = []
        with one_blas_thread():
            for block in blocks(rows, self._model.floats_per_row(self.n_components_)):
                answers.append(question(self._units.enter(block)))
        xp = array_namespace(answers[0][0])
        if any(bool(xp.any(xp.isnan(part))) for parts in answers for part in parts):
            raise too_large(float(xp.max(xp.abs(rows.x.data if is_sparse(rows.x) else rows.x))))
        return tuple(parts[0] if len(parts) == 1 else xp.concat(parts) for parts in zip(*answers, strict=True))

    @property
    def _is_exposed(self) -> bool:
        """Whether the model was fitted with exposures, and asks for those of other rows."""
        return False

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def drawn_rows(
    model: Any, q: Any, n: int, rng: np.random.Generator, how: str, exposure: Floats | None = None
) -> tuple[Floats, Floats]:
    """Rows in model units and their codes, under one draw of the globals ("shared"), or one for "each"."""
    beside = (
        [() if exposure is None else (exposure,)]
        if how == "shared"
        else [() if exposure is None else (exposure[i : i + 1],) for i in range(n)]
    )
    draws = [model.draw(q, n if how == "shared" else 1, rng, *each) for each in beside]
    return np.concatenate([rows for rows, _ in draws]), np.concatenate([codes for _, codes in draws])


def _numbers(X: Any, dtype: Any) -> Array:
    """A table as an array, with NaN where it has a missing value of its own kind."""
    return X.to_numpy(dtype=dtype, na_value=np.nan) if hasattr(X, "iloc") else np.asarray(unmasked(X), dtype=dtype)


def _as_given(values: Array, X: Any) -> Any:
    """Back in the container of X where that has names of rows or columns."""
    if hasattr(X, "iloc"):
        return type(X)(values, index=X.index, columns=X.columns)
    if hasattr(X, "schema") and hasattr(X, "columns") and not is_foreign(X):
        return type(X)(values, schema=list(X.columns))
    return values
