"""Independent sources behind noisy sensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.rounding import interval_variances, steps_of
from latens.array.transfer import host, like
from latens.core import Statistics
from latens.errors import LooksTransposed, SourcesTooLight, caller_level, warn
from latens.estimators.base import VariationalTransformer
from latens.estimators.factor_analysis.starts import column_variances
from latens.estimators.fitting.context import FitContext
from latens.estimators.noisy_ica.starts import factor_starts, likely_number, posterior_at, supported_number
from latens.estimators.parameters import given_array, one_of, whole_number, yes_or_no
from latens.estimators.priors import WEAK, no_prior, variance_prior
from latens.estimators.rows.containers import contained
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.parts import into_parts
from latens.estimators.rows.sampling import filled
from latens.estimators.rows.units import Units
from latens.estimators.rows.validation import check_codes
from latens.families.relevance import Relevance
from latens.models.noisy_ica.joint import JointNoisyIca
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_ica.priors import GAUSSIAN, lighter_than_gaussian

__all__ = ["NoisyICA"]

KINDS = ("auto", "heavy-tailed", "sub-gaussian")


class NoisyICA(VariationalTransformer):
    """Find independent sources that several sensors measure together, each sensor with its own noise.

    Parameters
    ----------
    n_components : int, optional
        Number of sources, at most that of columns; with ``prior="ard"`` an upper limit, and None chooses this limit.
    prior : {"ard", "ml"}
        Variational Bayes with relevance determination, which finds the number of sources; or point estimates.
    fit_intercept : bool
        Whether each sensor has its own mean instead of 0.
    sources : {"auto", "heavy-tailed", "sub-gaussian"}
        Distribution of the sources: Student-t, whose degrees of freedom are learnt; two levels, for sources with
        lighter tails than a Gaussian; "auto" chooses for each source by the bound.
    covariance : {"full", "diagonal", "scale-mixture"}
        Posterior of the sources of a row: joint, or independent (mean field), which has heavy tails only and converges
        slowly if noise is low. "scale-mixture" is independent, too, but with a joint posterior q(z_k, u_k) of each
        source and its scale: tails are then estimated correctly under strong noise, at ten times the cost, while
        "full" estimates the mixing better.
    noise_variance_prior : (float or array (D,), float), optional
        A noise variance in data units, or one for each sensor, and its weight n, in entries: 1 / variance
        ~ Gamma(n / 2, n variance / 2). None: the variance of the data, with almost no weight.
    loading_prior : (float, float), optional
        The variance of the loadings of a source over that of the noise, and its weight n, in loadings: w | tau, alpha
        ~ Normal(0, 1 / (alpha tau)), alpha ~ Gamma(n / 2, n variance / 2). None: 1, with almost no weight.
        Priors are for ``prior="ard"``: point estimates have none.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept. The first is factor analysis rotated by
        FastICA, with two contrasts if their results differ; other starts are rotated at random.
    init : {"auto", "random"} or array of shape (K, D)
        Starts as above, only random rotations, or a given transposed mixing matrix in data units.
    moves : bool
        Whether to try deleting sources and changing their distribution; accepted only if the bound rises.
    prune : bool
        Whether unneeded components are left out; False fits and publishes exactly `n_components`.
    random_state, warm_start, verbose, callbacks, n_jobs
        As in every estimator.
    learning_method : {"batch", "online"}
        Whether every iteration uses all rows, or parameters are updated after each batch of rows (Robbins-Monro). An
        online fit begins with a search on a sample; `max_iter` is then the largest number of passes, and two are often
        enough. The bounds of single passes are estimates; `elbo_` is the bound for all rows.
    batch_size, learning_decay, learning_offset : int, float, float
        Rows of a batch, and the weight of batch t, (learning_offset + t) ** -learning_decay.
    forget : float
        For streams (`partial_fit`) whose distribution changes: only the last 1/forget rows count, and the
        model is that of a `fit` to these rows. 0: all rows count. `fit` gives every row the same weight.
    row_posteriors : {"auto", "keep", "recompute"}
        For rows that are read in blocks: whether the posterior of each row is stored from pass to pass (in memory, and
        beyond 32 MB in a scratch file), or computed again, which needs no storage but more time. "auto" stores it,
        except on a cluster. For rows in memory it is always stored.

    Attributes
    ----------
    mixing_ : array (D, K)
        Contribution of a source of unit variance to each sensor, in data units; the strongest source first, the largest
        entry of each source positive.
    unmixing_ : array (K, D)
        Maps sensors minus `mean_` to sources: least squares weighted by the noise, so ``unmixing_ @ mixing_`` is 1.
    components_ : array (K, D)
        `unmixing_`, as in scikit-learn's FastICA; it was the transpose of `mixing_` in the previous release.
    tails_ : array (K,)
        Degrees of freedom of each source; infinite for Gaussian (20 and more) and sub-Gaussian ones.
    levels_ : array (K,)
        The two levels of a sub-Gaussian source are -level and level; 0 for heavy-tailed sources.
    noise_variance_ : array (D,)
        Of rounded columns larger by h^2/12, h being `rounding_`.
    rounding_ : array (D,)
        Detected rounding step h of each column, in data units; 0 if there is none, or if h^2/12 is below 1e-4 times
        the variance. Without such steps, a value that a fifth of the rows share counts as rounded from as far as
        half-way to the nearest other value; h is then the root mean square over the entries of the column.
    mean_ : array (D,)
    share_ : array (K,)
        Share of the variance of the model that comes from each source.
    relevance_ : array (K,)
        With ``prior="ard"``, the precision of each source's loadings in units of the noise precision.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_, score_is_bound_
        As in every estimator; the reference describes them.

    Examples
    --------
    >>> import latens
    >>> X, truth = latens.datasets.make_ica(random_state=0)
    >>> model = latens.NoisyICA(6, random_state=0).fit(X)
    >>> model.n_components_
    3
    >>> latens.metrics.amari_distance(model.unmixing_, truth.mixing) < 0.03
    True
    """

    mixing_: Floats
    unmixing_: Floats
    _component_noun: ClassVar[str] = "source"
    rough_tol_ratio: ClassVar[float] = 100.0

    def __init__(
        self,
        n_components: int | None = None,
        *,
        prior: str = "ard",
        fit_intercept: bool = True,
        sources: str = "auto",
        covariance: str = "full",
        noise_variance_prior: tuple[Any, float] | None = None,
        loading_prior: tuple[float, float] | None = None,
        max_iter: int = 2000,
        max_time: float | None = None,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "auto",
        moves: bool = True,
        prune: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
        learning_method: str = "batch",
        batch_size: int = 1024,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        forget: float = 0.0,
        row_posteriors: str = "auto",
    ) -> None:
        super().__init__(
            n_components,
            max_iter=max_iter,
            max_time=max_time,
            tol=tol,
            n_init=n_init,
            init=init,
            moves=moves,
            prune=prune,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callbacks=callbacks,
            n_jobs=n_jobs,
        )
        self.learning_method = learning_method
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.forget = forget
        self.row_posteriors = row_posteriors
        self.prior = prior
        self.noise_variance_prior = noise_variance_prior
        self.loading_prior = loading_prior
        self.fit_intercept = fit_intercept
        self.sources = sources
        self.covariance = covariance

    @into_parts
    @lazily
    def transform(self, X: Any, return_std: bool = False, *, out: Any = None) -> Any:
        """Posterior means of the sources of each row.

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
        sources : array of shape (n, K)
            In units of their standard deviations.
        std : array of shape (n, K)
            Their posterior standard deviations, with `return_std`.
        """
        mean, variance = self._ask(X, lambda rows, local: self._model.codes(rows, local))
        scale = self._scale(self.posterior_, self._units)
        mean = mean * like(1 / scale, mean)
        if not return_std:
            return mean
        return mean, self._contained(array_namespace(variance).sqrt(variance) * like(np.abs(1 / scale), variance), X)

    @contained("features")
    def inverse_transform(self, X: Any, exclude: Sequence[int] | None = None) -> Array:
        """Expected rows given their sources.

        Parameters
        ----------
        X : array of shape (n, K)
            Sources, as `transform` returns them.
        exclude : sequence of int, optional
            Numbers of sources to leave out, from 0.

        Returns
        -------
        array of shape (n, D)
            In data units.
        """
        check_is_fitted(self)
        codes = check_codes(X, self.n_components_)
        keep = np.ones(self.n_components_)
        for number in () if exclude is None else exclude:
            keep[whole_number("exclude", number, 0, self.n_components_ - 1, "sources are numbered from 0")] = 0.0
        codes = codes * like(keep * self._scale(self.posterior_, self._units), codes)
        return self._units.leave(self._model.reconstruct(self.posterior_, codes))

    def sample(self, n_samples: int = 1, globals: str = "each") -> tuple[Floats, Floats]:
        """Draw new rows, and the sources that made them.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        globals : "each" or "shared"
            Whether each row has its own draw of the global unknowns, or all share one.

        Returns
        -------
        rows : array of shape (n_samples, D)
            In data units.
        sources : array of shape (n_samples, K)
            In units of their standard deviations.
        """
        rows, codes = self._draw(n_samples, globals)
        return self._units.leave(rows), codes / self._scale(self.posterior_, self._units)

    @property
    def components_(self) -> Floats:
        """(K, D), `unmixing_`, as in scikit-learn's FastICA."""
        unmixing: Floats = self.unmixing_
        warnings.warn(
            "components_ of NoisyICA is the unmixing matrix, as in scikit-learn's FastICA, and no longer the transpose "
            "of mixing_; write unmixing_ for the former or mixing_.T for the latter.",
            FutureWarning,
            stacklevel=caller_level(),
        )
        return unmixing

    @property
    def _loadings(self) -> Floats:
        return np.asarray(self.mixing_.T)

    @property
    def tails_(self) -> Floats:
        """(K,), degrees of freedom of each source; infinite for Gaussian and sub-Gaussian ones."""
        check_is_fitted(self)
        shapes = self.posterior_.shapes
        return np.where((shapes.split > 0) | (shapes.tails >= GAUSSIAN), np.inf, shapes.tails)

    @property
    def rounding_(self) -> Floats:
        """(D,), detected rounding step of each column, in data units; 0 if there is none."""
        check_is_fitted(self)
        return np.asarray(self._units.leave_direction(steps_of(self._model.rounding, self.n_features_in_)))

    def _points_beside(self, q: Any) -> dict[str, Any]:
        return {"tails": q.shapes.tails}

    @property
    def _centred(self) -> bool:
        return bool(self.fit_intercept)

    def _build(self, context: FitContext) -> NoisyIca:
        sample = context.sample
        n, d = sample.x.shape
        if d > 2 * n:
            warn(LooksTransposed(f"{n} rows, {d} columns: rows must be time points;", "did you mean X.T?"))
        prior = one_of("prior", self.prior, ["ard", "ml"])
        kinds = one_of("sources", self.sources, KINDS)
        posterior = one_of("covariance", self.covariance, ["full", "diagonal", "scale-mixture"])
        diagonal = posterior != "full"
        if self.n_components is not None:
            whole_number("n_components", self.n_components, 1, d, f"X has {d} columns")
        elif prior == "ml" and isinstance(self.init, str):
            raise ValueError("n_components=None needs prior='ard', which can find the number; or give n_components.")
        if diagonal and kinds == "sub-gaussian":
            raise ValueError("sources='sub-gaussian' needs covariance='full'; choose that, or sources='heavy-tailed'.")
        if prior == "ml":
            no_prior("prior='ard'", noise_variance_prior=self.noise_variance_prior, loading_prior=self.loading_prior)
        variance, floor = column_variances(sample)
        square = context.units.scale**2
        shown = None if sample.seen is None else host(sample.seen) > 0
        return (JointNoisyIca if posterior == "scale-mixture" else NoisyIca)(
            n_features=d,
            noise=variance_prior("noise_variance_prior", self.noise_variance_prior, (WEAK, WEAK * variance), square, d),
            relevance=variance_prior("loading_prior", self.loading_prior, (WEAK, WEAK)),
            points=prior == "ml",
            intercept=yes_or_no("fit_intercept", self.fit_intercept),
            diagonal=diagonal,
            floor=floor,
            both=kinds == "auto",
            least=1 if prior == "ml" or not self.moves else self._supported(context),
            rounding=interval_variances(filled(sample), context.precision, shown),
        )

    def _most(self, context: FitContext) -> int:
        """Sources that may be looked for where their number is not given."""
        return min(self._identified(context), context.growth * 24)

    def _identified(self, context: FitContext) -> int:
        """Sources that so many rows and columns could tell of."""
        n, d = context.sample.x.shape
        return int(max(1, min(d, n // 4)))

    def _default_size(self, context: FitContext) -> int:
        most, columns = self._most(context), self._identified(context)
        likely = likely_number(context.sample, most, columns)
        return likely if likely == columns else min(most, likely * context.growth)

    def _supported(self, context: FitContext) -> int:
        size = self._starting_size(context)  # was found from the same number, which is kept
        return min(size, supported_number(context.sample, self._most(context) if self.n_components is None else size))

    def _start(self, model: NoisyIca, context: FitContext, restart: int) -> IcaPosterior:
        return self._starts_of_restart(model, context, restart)[0]

    def _starts_of_restart(self, model: NoisyIca, context: FitContext, restart: int) -> list[IcaPosterior]:
        """The first restart begins from each turn that FastICA finds, of which there are seldom two."""
        sample = context.sample
        x = filled(sample)
        center = x.mean(axis=0) if model.intercept else np.zeros(model.n_features)
        if not isinstance(self.init, str):
            mixing = self._given(model, context.units)
            left = x - center - (x - center) @ np.linalg.pinv(mixing) @ mixing
            noise = np.maximum(left.var(axis=0), 0.05 * column_variances(sample)[0])
            found = [(mixing, noise, (x - center) @ np.linalg.pinv(mixing))]
        else:
            turn = one_of("init", self.init, ["auto", "random"])
            turn = "independent" if turn == "auto" and restart == 0 else "random"
            k = self._starting_size(context)
            found = factor_starts(sample, k, context.rng, turn, exact=not self.prune)
        if self._is_plain_ascent:
            del found[1:]
        least = 0.0 if model.rounding is None else model.rounding
        return [
            posterior_at(model, mixing, center, np.maximum(noise, least), self._lights(model, sources), float(len(x)))
            for mixing, noise, sources in found
        ]

    def _given(self, model: NoisyIca, units: Units) -> Floats:
        given = given_array("init", self.init)
        k = len(given) if self.n_components is None and given.ndim == 2 else self.n_components
        if given.shape != (k, model.n_features) or not np.isfinite(given).all():
            raise ValueError(
                f"init has shape {given.shape}; expected finite values of shape ({k}, {model.n_features})."
            )
        return units.enter_direction(given)

    def _lights(self, model: NoisyIca, sources: Floats) -> NDArray[np.bool_]:
        """(K,), which sources start with two levels."""
        k = sources.shape[1]
        if self.sources == "sub-gaussian":
            return np.ones(k, dtype=bool)
        light = lighter_than_gaussian(sources)
        if model.both and not model.diagonal:
            return light
        if light.any():
            warn(
                SourcesTooLight(
                    f"{int(light.sum())} of {k} sources have lighter tails than a Gaussian, which a Student-t cannot "
                    "hold;",
                    "try sources='auto' with covariance='full'.",
                )
            )
        return np.zeros(k, dtype=bool)

    def _scale(self, q: IcaPosterior, units: Units) -> Floats:
        """(K,), size of a published unit of each source in the model's, with the sign that it is published with."""
        mean = units.leave_direction(q.loadings.mean[: q.n_components])
        largest = np.take_along_axis(mean, np.argmax(np.abs(mean), axis=1)[:, None], axis=1)[:, 0]
        return np.where(largest < 0, -q.size, q.size)

    def _publish(self, q: IcaPosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        k, w = q.n_components, q.loadings
        like_fit = k == self.posterior_.n_components  # its draws have its scale
        scale = self._scale(self.posterior_ if like_fit else q, units)
        loadings = w.mean[:k] * scale[:, None]
        weights = np.sqrt(w.tau / w.tau.max())
        inverse = np.linalg.pinv((loadings * weights).T / (largest := np.abs(loadings).max(initial=0.0) or 1.0))
        center = w.mean[k] if self.fit_intercept else np.zeros(w.mean.shape[1])
        public = {
            "mixing": units.leave_direction(loadings).T,
            "unmixing": units.enter_direction(inverse * weights / largest),
            "levels": q.shapes.split,
            "noise_variance": units.leave_variance(w.mean_noise),
            "mean": units.leave(center),
        }
        if isinstance(w, Relevance):
            public["relevance"] = w.alpha.mean[:k]
        return public
