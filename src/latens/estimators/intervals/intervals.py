"""How sure the published numbers are: intervals of all of them, and draws with the same covariance."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latens.array import Floats
from latens.core import Compressing, Loose, Mirrored, Reducible, Rows, State, Turnable, Walking, fewest_of
from latens.core.coordinates import Chart
from latens.estimators.intervals.answer import Answer, chance_ends, covariance_ends, reach_of
from latens.estimators.intervals.by_response import AT_END, NOT_IDENTIFIED, AxesByRule
from latens.estimators.intervals.by_sampling import BySampling
from latens.estimators.intervals.draws import filled, own_stream, stacked
from latens.estimators.intervals.other_fits import FEWEST_NATS, Components, not_compared, with_other_fits
from latens.estimators.intervals.table import (
    INTERVAL_COLUMNS,
    Choice,
    IntervalTable,
    PublishedNumber,
    Scales,
    published_numbers,
    value_finder,
    values_of,
)
from latens.estimators.parameters import one_of, probability, some_of, whole_number
from latens.estimators.rows.units import Units
from latens.inference.search.component_worth import FitWithout, fits_without
from latens.inference.sweep import Sweep, serial_sweep
from latens.inference.uncertainty.bootstrap import refits
from latens.inference.uncertainty.response import Response, respond
from latens.models.known_codes import KNOWN
from latens.system.seeds import generator
from latens.system.summary_table import Table
from latens.system.threads import one_blas_thread

__all__ = ["Intervals"]

METHODS = ("auto", "response", "mean-field", "bootstrap", "gibbs")
MOST_COORDINATES = 500  # up to which all second derivatives are taken
N_DRAWS = 400  # of the posterior, for mean field
N_REFITS = 40  # of the bootstrap
REFIT_WORK = 3e6  # rows, times columns, times scratch numbers of a row, up to which "auto" refits: about 20 seconds
CHANCES = ("level_probabilities",)  # whose posterior is a Beta where classes are certain
FEWEST_NATS_UNSAMPLED = 3.0  # that components are worth, below which "auto" samples
STILL_NOISE = 1e-4  # spread of the log of a noise variance over refits, below which it stands at its floor
HEYWOOD_NOTE = "noise of a column is at its floor (a Heywood case): factors follow the column"


class Intervals(BySampling):
    """Mixed into every estimator; reads the fitted model, its posterior and its publication."""

    if TYPE_CHECKING:
        _model: Any
        _units: Units
        posterior_: Any
        _state: State
        n_components_: int
        elbo_: float
        elbo_history_: Floats
        converged_: bool
        stream_: Any
        tol: float
        random_state: Any
        binary: ClassVar[bool]
        _publish: Callable[..., dict[str, Any]]
        _shares_at: Callable[[Any], Floats]
        _feature_names: Callable[[], Floats]
        get_feature_names_out: Callable[[], Floats]

    def intervals(
        self,
        X: Any = None,
        level: float = 0.95,
        method: str = "auto",
        quantities: Any = None,
        components: Any = None,
        features: Any = None,
        **fit_params: Any,
    ) -> IntervalTable:
        """Central intervals of all published numbers, in the units of the data.

        Parameters
        ----------
        X : as given to `fit`
            The same rows. Models that store sums of the rows need none.
        level : float
            Nominal coverage of the intervals.
        method : "auto", "response", "mean-field", "bootstrap" or "gibbs"
            "response" differentiates the bound through the codes (latent values of the rows), and so includes their
            uncertainty. "mean-field" is the spread of `posterior_`, too narrow wherever codes are uncertain.
            "bootstrap" makes 40 refits to rows resampled from X, each started from this fit; it needs X, and differs
            from call to call unless `random_state` is a number. "gibbs" draws from the exact posterior: for mixtures,
            factor analysis and ICA with `prior="ard"`, binary factors and noisy-OR with exact steps, views of
            measurements and yes/no entries; point estimates, such as the tails of ICA, stay fixed.

            "auto" is response for posteriors of at most 500 coordinates. For larger ones it is response in the few
            directions in which codes leave uncertainty (one number after another, if `quantities`, `components` and
            `features` select at most 20), if derivatives have a closed form; otherwise bootstrap, if X is given and it
            takes only seconds; otherwise mean field. If some component is worth fewer than 3 nats, "auto" is gibbs, if
            a trial of a few sweeps predicts at most 30 seconds of CPU, or three times the CPU of the fit, and if
            components do not rotate from draw to draw, as factors of `FactorAnalysis` do; if chains disagree, it is
            response again. The `note` of the table says what was done and why.
        quantities : str or sequence of str, optional
            Names of published numbers, without the underscore; all, if not given.
        components : sequence of int or str, optional
            Numbers or names of components; all, if not given. Numbers that belong to no component are left out then.
        features : str or sequence of str, optional
            Names of columns; all, if not given. Numbers that belong to no column are left out then.
        **fit_params
            Other arguments of `fit`, such as `sample_weight`.

        Returns
        -------
        IntervalTable
            One row for each number: parameter, component, feature, view, estimate, std, lower, upper, sound, why;
            for latent classes also `level_probabilities` and `standard_deviations`, those of `profiles_`. `method`
            is the method that was used, `note` the reason and the convergence of chains, `components` has the nats that
            each component is worth. Estimates are at the exact optimum; attributes differ from it by what `tol` allows.
            `share` is the share of variance of the model, as in `summary()`; for views `summary()` and pages report
            what the samples show, which is some hundredths more. `share_`, which orders components, has other units.
        """
        check_is_fitted(self)
        level = probability("level", level)
        method = one_of("method", method, METHODS)
        self._refuse_unknown("intervals", fit_params)
        numbers = self._numbers()
        names = list(dict.fromkeys(number.parameter for number in numbers))
        chosen_columns = self._chosen_columns(features)
        choice = Choice(some_of("quantities", quantities, names), self._chosen_components(components), chosen_columns)
        n_coordinates = Chart(self.posterior_).size
        large = n_coordinates > MOST_COORDINATES
        asked = large and not (quantities is None and components is None and features is None)
        one_by_one = self._few_chosen(numbers, choice) if asked else []
        known, automatic = not_compared(self.n_components_), method == "auto"
        has_rows = X is not None or isinstance(self._model, Compressing)
        at_once, note = None, ""
        if large and (method == "response" or (automatic and has_rows)) and not one_by_one:
            if self._can_respond_to_all():
                with one_blas_thread():
                    at_once = self._many_answer(numbers, *self._data_of_fit(X, fit_params))
            if method == "response" and at_once is None:
                raise ValueError(
                    f"the posterior has {n_coordinates:,} coordinates; response takes up to {MOST_COORDINATES}, and "
                    "more where slopes are in closed form and columns meet in the codes alone. Choose "
                    "method='bootstrap', or 'mean-field', whose intervals are too narrow."
                )
        if at_once is not None:
            numbers, answer, known, n_directions = at_once
            method = f"response in {n_directions} directions"
        elif one_by_one and method in ("auto", "response") and has_rows:
            method = "response"
            with one_blas_thread():
                numbers, answer, known = self._few_answer(one_by_one, *self._data_of_fit(X, fit_params))
        elif method == "gibbs":
            numbers, answer, note, _ = self._gibbs_answer(numbers, X, fit_params)
            known = self._known_beside(numbers, answer, self._rows_in_blocks(X, fit_params))
        elif method == "bootstrap" or (automatic and n_coordinates > MOST_COORDINATES and self._can_refit(X)):
            method = "bootstrap"
            with one_blas_thread():
                batches = self._rows_in_blocks(X, fit_params)
                numbers, answer = self._bootstrap_answer(numbers, batches)
            known = self._known_beside(numbers, answer, batches)
        elif method == "mean-field" or n_coordinates > MOST_COORDINATES:
            method, answer = "mean-field", self._mean_field_answer(numbers)
            if has_rows and not isinstance(self._model, Walking):
                data = self._data_of_fit(X, fit_params)  # refused where it is another's
                known = known if large else self._known_by_response(*data)
        else:
            method = "response"
            with one_blas_thread():
                batches, sweep = self._data_of_fit(X, fit_params)
                response = respond(self._model, batches, self.posterior_, sweep=sweep)
                numbers, answer = self._response_answer(numbers, response)
                known = self._known_of_response(numbers, answer, batches, sweep, response)
            if automatic and known.nats.min(initial=np.inf) < FEWEST_NATS_UNSAMPLED:
                weakest = str(self.get_feature_names_out()[int(np.argmin(known.nats))])
                note = f"{weakest} is worth {known.nats.min():.1f} nats, fewer than {FEWEST_NATS_UNSAMPLED:g}"
                reason = self._not_to_be_sampled(numbers, X, fit_params)
                drawn = None if reason else self._gibbs_answer(self._numbers(), X, fit_params)
                if drawn is None:
                    note = f"{note}, but not sampled: {reason}."
                elif drawn.agree:
                    method, numbers, answer = "gibbs", drawn.numbers, drawn.answer
                    note = f"{note}: sampled. {drawn.note}"
                else:  # draws say nothing sound of any component, the optimum of those that no other fit questions
                    note = f"{note}: sampled, but not told by draws. {drawn.note} They have not met."
        return self._table_of(numbers, answer, known, level, method, choice, note)

    def sample_posterior(
        self, n_samples: int = 1, method: str = "mean-field", X: Any = None, **fit_params: Any
    ) -> dict[str, Any]:
        """Draw the parameters `n_samples` times; each value has this number of entries along its first axis.

        Parameters
        ----------
        n_samples : int
        method : "mean-field", "response" or "gibbs"
            "mean-field" draws from `posterior_`. "response" draws the numbers of `intervals` with the covariance that
            includes the uncertainty of the codes, each on its own scale; numbers that the rows do not identify stay at
            their estimates. "gibbs" draws from the exact posterior, by four chains from different starts, with
            components named as in the fit; the result then has `r_hat` and `effective_size`.
        X : as given to `fit`
            For "gibbs", and for "response" if the model does not store sums of the rows.
        **fit_params
            Other arguments of `fit`.

        Returns
        -------
        dict of arrays of shape (n_samples, ...)
            By name of published number, without the underscore, in data units; by view, too, where there are several.
        """
        check_is_fitted(self)
        n, rng = whole_number("n_samples", n_samples), generator(self.random_state)
        method = one_of("method", method, ["mean-field", "response", "gibbs"])
        self._refuse_unknown("sample_posterior", fit_params)
        if X is None and (method == "gibbs" or not (method == "mean-field" or isinstance(self._model, Compressing))):
            raise ValueError(
                f"{type(self).__name__}.sample_posterior needs the rows of the fit for method={method!r}: give X as "
                "given to fit, or choose method='mean-field'."
            )
        if method == "gibbs":
            return self._gibbs_draws(n, rng, X, fit_params)
        if method == "mean-field":
            draws = [self._published(self.posterior_.sample(rng), self._state.stats) for _ in range(n)]
            return {name: stacked([draw[name] for draw in draws]) for name in draws[0]}
        with one_blas_thread():
            batches, sweep = self._data_of_fit(X, fit_params)
            response = respond(self._model, batches, self.posterior_, sweep=sweep)
        numbers, published = self._numbers(), self._published(response.chart.point, response.stats)
        estimate, jacobian = self._moving(numbers, response)
        scales = Scales(numbers)
        slopes = self._stretched(numbers, response, estimate, jacobian) * scales.slope(estimate)
        values, vectors = np.linalg.eigh(response.covariance)
        steps = rng.normal(size=(n, len(values))) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        drawn = scales.leave(scales.enter(estimate) + steps @ (slopes[:, None] * jacobian).T)
        return filled(published, numbers, drawn)

    def _stretched(
        self, numbers: list[PublishedNumber], response: Response, estimate: Floats, jacobian: Floats
    ) -> Floats:
        """(m,), how many times as far as its response a number is drawn, to have the scale of its interval."""
        std, missing = response.std_and_missing(jacobian)
        known = np.isfinite(std) & (std > 0)
        whole = self._with_remainder(numbers, response.chart.point, std, missing)
        with np.errstate(invalid="ignore"):
            widening = self._tails_of(numbers, whole * np.abs(Scales(numbers).slope(estimate))).widening
        return np.where(known, widening * whole / np.where(known, std, 1.0), 1.0)

    def _can_refit(self, X: Any) -> bool:
        """Whether refits of these rows take seconds; rows that are read from files are not drawn anew."""
        if X is None or self._is_in_blocks(X) or isinstance(self._model, Walking):
            return False
        scratch = self._model.floats_per_row(self.n_components_)
        return bool(self._state.stats.n * len(self._units.origin) * scratch <= REFIT_WORK)

    def _bound_terms(self, q: Any, stats: Any) -> dict[str, float]:
        return {**self._model.data_terms(q, stats), **self._model.global_terms(q)}

    def _known_of_components(
        self,
        numbers: list[PublishedNumber],
        answer: Answer,
        batches: Sequence[Any],
        sweep: Sweep = serial_sweep,
        q: Any = None,
        top: float | None = None,
        which: Collection[int] | None = None,
        response: Response | None = None,
    ) -> Components:
        """What components are worth, of the fit or of its optimum q where that and its bound are known.

        One that rows are known to be of cannot be taken out, nor the only cluster, which all rows are in.
        """
        model, names = self._model, [str(name) for name in self.get_feature_names_out()]
        if self._is_indispensable(len(names)) or any(
            KNOWN in batch.aux for batch in batches if isinstance(batch, Rows)
        ):
            return not_compared(self.n_components_, math.inf)
        q = self.posterior_ if q is None else q
        fits = fits_without(model, batches, q, top=top, which=which, sweep=sweep)
        if response is not None:
            fits = [self._tightened(fit, response, batches, sweep) for fit in fits]
        beside = self._names_beside()
        own = [i for i, n in enumerate(numbers) if n.component is not None and n.parameter not in beside]
        of_components = [numbers[i] for i in own]
        return with_other_fits(
            fits,
            names,
            of_components,
            Scales(of_components).enter(answer.estimate[own]),
            answer.std[own],
            self._own_numbers,
            signed=isinstance(q, Turnable | Mirrored),
        )

    def _tightened(self, fit: FitWithout, response: Response, batches: Sequence[Any], sweep: Sweep) -> FitWithout:
        """With what the bound loses by holding globals and codes for independent, and not without the component.

        Independent columns lose nothing. Several factors turn, along which no bound is a parabola: theirs is as it is.
        """
        model, other = self._model, fit.end.q
        if not model.exact_local(response.chart.point):
            return fit
        if isinstance(self._model, Loose) and not model.points and not other.n_components:
            return fit.with_more(response.slack)
        if isinstance(self._model, Reducible) and fit.nats < FEWEST_NATS:  # clusters: the bound alone says it of others
            return fit.with_more(response.slack - respond(model, batches, other, sweep=sweep, ascent=False).slack)
        return fit

    def _known_of_response(
        self, numbers: list[PublishedNumber], answer: Answer, batches: Sequence[Any], sweep: Sweep, response: Response
    ) -> Components:
        """What components are worth at the optimum, and what is missing of the information about each."""
        top = sum(self._bound_terms(response.chart.point, response.stats).values())
        known = self._known_of_components(numbers, answer, batches, sweep, response.chart.point, top, response=response)
        missing = np.full(self.n_components_, np.nan)
        for number, lost in zip(numbers, answer.missing.tolist(), strict=True):
            if number.component is not None:
                missing[number.component] = np.fmax(missing[number.component], lost)
        return replace(known, missing=missing)

    def _known_by_response(self, batches: Sequence[Any], sweep: Sweep = serial_sweep) -> Components:
        """The same for a table that is made in another way."""
        with one_blas_thread():
            response = respond(self._model, batches, self.posterior_, sweep=sweep)
            return self._known_of_response(*self._response_answer(self._numbers(), response), batches, sweep, response)

    def _known_beside(self, numbers: list[PublishedNumber], answer: Answer, batches: Sequence[Any]) -> Components:
        """What is known of components beside draws or refits; of a large posterior by their spread."""
        batches = self._sums(batches)
        if Chart(self.posterior_).size <= MOST_COORDINATES:
            return self._known_by_response(batches)
        if answer.draws is not None:
            with np.errstate(invalid="ignore"):
                std = np.std(Scales(numbers).enter(answer.draws), axis=0)
            answer = replace(answer, std=np.nan_to_num(std, nan=np.inf))
        with one_blas_thread():
            return self._known_of_components(numbers, answer, batches)

    def _is_indispensable(self, n: int) -> bool:
        """Whether the n components are one without which there is no fit, such as the only cluster."""
        fewest = fewest_of(self._model, self._state)
        return fewest is not None and n <= fewest.n_components

    def _names_beside(self) -> set[str]:
        """Of numbers beside those that the posterior alone publishes; shares move with statistics, too."""
        return {"share", *self._points_beside(self.posterior_)}

    def _extra_numbers(self, q: Any) -> dict[str, Any]:
        """(K,) each, numbers of components that are published elsewhere than in `_publish`."""
        shares = self._shares_at(q)
        known = shares.size and not np.all(np.isnan(shares))
        return {**({"share": shares} if known else {}), **self._points_beside(q)}

    def _points_beside(self, q: Any) -> dict[str, Any]:
        """Those of them that coordinates of the posterior say by themselves."""
        return {}

    def _published(self, q: Any, stats: Any) -> dict[str, Any]:
        return {**self._own_numbers(q, stats), **self._extra_numbers(q)}

    def _own_numbers(self, q: Any, stats: Any) -> dict[str, Any]:
        """Numbers that a posterior tells, in data units: those that are published, and others with an interval."""
        return self._publish(q, stats, self._units)

    def _moving_numbers(self, q: Any, stats: Any) -> dict[str, Any]:
        """Those that have intervals, which are asked for at dozens of posteriors: no more needs to be made.

        In the axes that q is in, where a rule tells the axes of what is published.
        """
        return self._own_numbers(q, stats)

    def _numbers_by_column(self, q: Any, stats: Any) -> dict[str, Any]:
        """The same where each column has its own, as all numbers of a large posterior are told."""
        return self._own_numbers(q, stats)

    def _spread_beyond_response(self, q: Any) -> dict[str, Any]:
        """Whole standard deviations under q, in data units, of numbers that are no sums of sufficient statistics."""
        return {}

    @property
    def _axes_by_rule(self) -> bool:
        """Whether the axes of the components are those of a rule, by which every posterior is turned."""
        return False

    def _axes_at(self, q: Any) -> AxesByRule | None:
        """Where the rule puts the axes of q, and how they turn with it; None where there is no rule."""
        return None

    def _named_levels(self) -> Sequence[tuple[str, str]]:
        """Column and name of each level whose probability is among these numbers."""
        return ()

    def _measured(self) -> Sequence[str]:
        """Columns whose standard deviation in each component is among these numbers."""
        return ()

    def _named_sides(self) -> Mapping[str, Sequence[str]]:
        """What the rows of numbers of groups or covariates are called, by published name."""
        return {}

    def _numbers(self) -> list[PublishedNumber]:
        """All that has an interval; shares are of the living components, and so are those that are published."""
        shapes = self._published(self.posterior_, self._state.stats)
        shapes |= {name: np.zeros(self.n_components_) for name in self._names_beside() & shapes.keys()}
        kind = getattr(self, "covariance_type", "")
        return published_numbers(
            shapes,
            self._features_by_view(),
            self._scales_of_means(),
            covariance_type=kind,
            levels=self._named_levels(),
            measured=self._measured(),
            sides=self._named_sides(),
        )

    def _scales_of_means(self) -> Sequence[str]:
        """Of each column, or one for all: the scale on which the interval of a component's mean is symmetric."""
        return ["logit" if self.binary else "real"]

    def _features_by_view(self) -> Mapping[str, Sequence[str]]:
        return {"": [str(name) for name in self._feature_names()]}

    def _features_as_read(self) -> Mapping[str, Sequence[str]]:
        """Names of the columns that rows come with, by view."""
        return self._features_by_view()

    def _bootstrap_answer(
        self, numbers: list[PublishedNumber], batches: Sequence[Any]
    ) -> tuple[list[PublishedNumber], Answer]:
        ends = refits(self._model, batches, self.posterior_, N_REFITS, own_stream(generator(self.random_state)))
        drawn = np.array([values_of(self._published(end.q, end.stats), numbers) for end in ends])
        moving = np.flatnonzero(np.ptp(drawn, axis=0) > 0)
        numbers, drawn = [numbers[i] for i in moving], drawn[:, moving]
        stats = self._statistics(self.posterior_, self._sums(batches))
        estimate = values_of(self._published(self.posterior_, stats), numbers)
        with np.errstate(invalid="ignore"):
            std = np.nan_to_num(np.std(Scales(numbers).enter(drawn), axis=0, ddof=1), nan=np.inf, posinf=np.inf)
        # what no row shows, no refit does: a probability near its end is as uncertain as the posterior at least
        chances = [i for i, n in enumerate(numbers) if n.link == "logit" and n.parameter in (*CHANCES, "means")]
        if chances:
            own = [numbers[i] for i in chances]
            std[chances] = np.fmax(std[chances], self._spread_of_chances(own, estimate[chances]))
        why = np.where(np.isfinite(std), "", "at an end of its range in some refits").astype(object)
        self._doubt_floors(numbers, std, why)
        why[self._may_be_turned(numbers)] = NOT_IDENTIFIED
        self._doubt(numbers, why)
        return numbers, Answer(estimate, std, why.tolist(), np.full(len(numbers), np.nan), n_std=N_REFITS)

    def _doubt_floors(self, numbers: list[PublishedNumber], std: Floats, why: Any) -> None:
        """Noise that no refit moves is at its floor; factors that follow its column do not move, either."""
        still = np.array([n.parameter == "noise_variance" for n in numbers], dtype=bool) & (std < STILL_NOISE)
        if still.any():
            why[still] = AT_END
            why[[i for i, n in enumerate(numbers) if n.component is not None]] = HEYWOOD_NOTE

    def _mean_field_answer(self, numbers: list[PublishedNumber]) -> Answer:
        rng = np.random.default_rng(0)
        draw, find = partial(self._published, stats=self._state.stats), value_finder(numbers)
        estimate = find(draw(self.posterior_))
        drawn = np.array([find(draw(self.posterior_.sample(rng))) for _ in range(N_DRAWS)])
        with np.errstate(invalid="ignore"):
            std = np.nan_to_num(np.std(Scales(numbers).enter(drawn), axis=0), nan=np.inf)
        std[np.ptp(drawn, axis=0) == 0] = 0.0  # points, of whose mean rounding leaves some spread
        chances = [i for i, n in enumerate(numbers) if n.parameter in CHANCES]
        if chances:
            std[chances] = self._spread_of_chances([numbers[i] for i in chances], estimate[chances])
        why = np.where(std > 0, "mean field is too narrow", "a point estimate: mean field knows no spread")
        return Answer(estimate, std, why.tolist(), np.full(len(numbers), np.nan))

    def _spread_of_chances(self, numbers: list[PublishedNumber], estimate: Floats) -> Floats:
        """(m,), standard deviations of probabilities in the posterior, on the scale of their logit at the estimate."""
        rng = np.random.default_rng(0)
        find = value_finder(numbers)
        draws = (self.posterior_.sample(rng) for _ in range(N_DRAWS))
        std = np.std([find(self._own_numbers(draw, self._state.stats)) for draw in draws], axis=0)
        return np.asarray(std * np.abs(Scales(numbers).slope(estimate)))

    def _end_covariances(
        self, numbers: list[PublishedNumber], answer: Answer, reach: Floats, lower: Floats, upper: Floats
    ) -> None:
        """Write the ends of covariances of two columns into `lower` and `upper`."""
        of = [i for i, n in enumerate(numbers) if n.parameter == "covariances" and n.link == "real"]
        if not of or answer.draws is not None:
            return
        diagonals = np.diagonal(self._own_numbers(self.posterior_, self._state.stats)["covariances"], 0, -2, -1)
        places = [numbers[i].place for i in of]
        sizes = np.sqrt([diagonals[(*k, d)] * diagonals[(*k, e)] for *k, d, e in places])
        lower[of], upper[of] = covariance_ends(answer.estimate[of], answer.std[of], sizes, reach[of])

    def _chosen_components(self, components: Any) -> set[int] | None:
        if components is None:
            return None
        names = [str(name) for name in self.get_feature_names_out()]
        given = [components] if isinstance(components, str | int | np.integer) else list(components)
        chosen = set()
        for each in given:
            at = names.index(each) if isinstance(each, str) and each in names else each
            if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < len(names):
                raise ValueError(
                    f"components={components!r}: there is no component {each!r}; there are "
                    f"{len(names)}, numbered from 0: {', '.join(names)}."
                )
            chosen.add(int(at))
        return chosen

    def _chosen_columns(self, features: Any) -> set[str] | None:
        names = [str(name) for view in self._features_by_view().values() for name in view]
        return None if features is None else set(some_of("features", features, dict.fromkeys(names)))

    def _table_of(
        self,
        numbers: list[PublishedNumber],
        answer: Answer,
        known: Components,
        level: float,
        method: str,
        choice: Choice,
        note: str = "",
    ) -> IntervalTable:
        """A row for each number of `choice`, and what is known of each component; all numbers count for the latter."""
        names, reach = [str(name) for name in self.get_feature_names_out()], reach_of(answer, 0.5 * (1 + level))
        scales = Scales(numbers)
        with np.errstate(divide="ignore", invalid="ignore"):  # at an end of its range, or not identified
            centre, half = scales.enter(answer.estimate), reach * answer.std
            lower, upper = scales.leave(centre - half), scales.leave(centre + half)
            spread = np.abs(np.where(answer.std > 0, answer.std / scales.slope(answer.estimate), 0.0))
        points = answer.std == 0
        lower[points] = upper[points] = answer.estimate[points]  # of which there and back leaves all but the last digit
        of_levels = [i for i, n in enumerate(numbers) if n.parameter in CHANCES and 0 < spread[i] < np.inf]
        lower[of_levels], upper[of_levels] = chance_ends(
            answer.estimate[of_levels], spread[of_levels], lower[of_levels], upper[of_levels], level
        )
        self._end_covariances(numbers, answer, reach, lower, upper)
        if answer.draws is not None:
            lower, upper = np.quantile(answer.draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
            spread = answer.std
        missing = np.full(len(names), np.nan) if known.missing is None else known.missing.copy()
        columns = (part.tolist() for part in (answer.estimate, spread, lower, upper, answer.missing))
        rows = []
        for number, why, value, std, low, high, lost in zip(numbers, answer.why, *columns, strict=True):
            k = number.component
            if k is not None:
                missing[k] = np.fmax(missing[k], lost)
                why = why or known.why[k]
            if choice.holds(number):
                label = (number.parameter, "" if k is None else names[k], number.feature, number.view)
                rows.append((*label, value, std, low, high, not why, why))
        each = zip(names, known.nats.tolist(), missing.tolist(), strict=True)
        of_components = Table(("component", "nats", "missing information"), tuple(each))
        return IntervalTable(INTERVAL_COLUMNS, tuple(rows), method=method, components=of_components, note=note)
