"""How sure published numbers are by linear response: all of them, those that were chosen, all of a large posterior."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from latens.array import Floats
from latens.core import Biased, Compressing, Sloped, Turnable, Walking
from latens.core.coordinates import Chart
from latens.estimators.intervals.answer import Answer
from latens.estimators.intervals.data_of_fit import DataOfFit
from latens.estimators.intervals.other_fits import Components, not_compared
from latens.estimators.intervals.students import IntervalTails, tails_of
from latens.estimators.intervals.table import Choice, PublishedNumber, Scales, value_finder, values_of
from latens.inference.sweep import Sweep
from latens.inference.uncertainty.arrow import Blocks
from latens.inference.uncertainty.column_slopes import column_slopes
from latens.inference.uncertainty.response import STEP, Response
from latens.inference.uncertainty.response_of_few import respond_few
from latens.inference.uncertainty.response_of_many import respond_many

__all__ = ["AT_END", "NOT_IDENTIFIED", "AxesByRule", "ByResponse"]

ONE_BY_ONE = 20  # chosen numbers of a large posterior, above which telling all at once takes less
CHOSEN_WORK = 5e6  # coordinates times numbers, up to which they are told one by one
MOST_OF_ALL = 500_000  # coordinates, up to which all numbers of a large posterior are told
REPEATED_WORK = 1e7  # rows, times scratch numbers of a row, the same where local steps are repeated: about a minute
MOST_NATS_TO_GAIN = 0.05  # nats still to be gained above which differences say little
MOST_DEVIATIONS = 0.5  # standard deviations that a number of a large posterior may be from its optimum
NOT_IDENTIFIED = "not identified: factors may be turned into each other"
AT_END = "at an end of its range"
OF_ONE_ROW = "of one row: how far its rows spread is known by the prior alone"
ONE_ROW = 1.5  # rows of a component that show a column, as memberships share rows out, below which they are one
AT_FLOOR = "noise of a column is at its floor (a Heywood case), where curvature does not tell means"
MOST_VAGUE = 5.0  # standard deviations of a logarithm or a logit, above which its interval reaches from end to end
STEP_OF_SHARES = 1e-5  # of a coordinate, in differences of squares of loadings next to 0
RELATIVE_STEP = 1e-5  # of sums that shares are made of, in differences
SPREADS = ("covariances", "standard_deviations")
SURE_INCLUSION = 0.05  # from 0 or 1, beyond which a loading is in or out


class AxesByRule(Protocol):
    """Axes of components that a rule tells: they turn as the posterior moves."""

    def turned(self, q: Any) -> Any: ...  # a posterior in these axes

    def turns(self, chart: Chart) -> Floats: ...  # (T, P), angles by coordinates

    def along_turns(self, quantity: Callable[[Any], Floats]) -> Floats: ...  # (m, T), derivatives by angles


class ByResponse(DataOfFit):
    """Mixed into `Intervals`."""

    if TYPE_CHECKING:
        posterior_: Any
        n_components_: int
        _publish: Callable[..., dict[str, Any]]
        _own_numbers: Callable[[Any, Any], dict[str, Any]]
        _numbers_by_column: Callable[[Any, Any], dict[str, Any]]
        _moving_numbers: Callable[[Any, Any], dict[str, Any]]
        _published: Callable[[Any, Any], dict[str, Any]]
        _extra_numbers: Callable[[Any], Mapping[str, Any]]
        _points_beside: Callable[[Any], Mapping[str, Any]]
        _spread_beyond_response: Callable[[Any], Mapping[str, Any]]
        _share_parts: Callable[[Any], Floats]
        _shares_of: Callable[[Floats], Floats]
        _axes_at: Callable[[Any], AxesByRule | None]
        _names_beside: Callable[[], Collection[str]]
        _described_columns: Callable[[], Sequence[Any] | Floats]
        _known_of_components: Callable[..., Components]
        _bound_terms: Callable[[Any, Any], dict[str, float]]

        @property
        def _axes_by_rule(self) -> bool: ...

    def _response_answer(
        self, numbers: list[PublishedNumber], response: Response
    ) -> tuple[list[PublishedNumber], Answer]:
        """Numbers that the model estimates, not those it fixes, and what is known of them."""
        estimate, jacobian = self._moving(numbers, response)
        moved = np.flatnonzero(np.any(jacobian != 0, axis=1))
        numbers, estimate, jacobian = [numbers[i] for i in moved], estimate[moved], jacobian[moved]
        shift = jacobian @ response.rest
        why = np.full(len(numbers), "", dtype=object)
        if response.decrement > MOST_NATS_TO_GAIN:
            why[:] = f"the fit is {response.decrement:.2g} nats from its optimum"
        why[_depends_on_held(response, jacobian)] = AT_END
        std, missing = response.std_and_missing(jacobian)
        std = self._with_remainder(numbers, response.chart.point, std, missing)
        return numbers, self._judged(numbers, estimate, shift, std, missing, why)

    def _with_remainder(self, numbers: list[PublishedNumber], q: Any, std: Floats, missing: Floats) -> Floats:
        """(m,), standard deviations with what q itself knows of numbers that are no sums of sufficient statistics.

        Response says how such sums vary together. Of another number g it has the best approximation by one of them:
        what is left of Var_q(g), less mean field's share G (-A)^-1 G' of it, does not meet the codes and is added.
        """
        spread = self._spread_beyond_response(q)
        of = [i for i, number in enumerate(numbers) if number.parameter in spread and np.isfinite(std[i])]
        if not of:
            return std
        whole, found = values_of(spread, [numbers[i] for i in of]), std.copy()
        found[of] = np.sqrt(std[of] ** 2 + np.maximum(whole**2 - (1 - missing[of]) * std[of] ** 2, 0.0))
        return found

    def _moving(self, numbers: list[PublishedNumber], response: Response) -> tuple[Floats, Floats]:
        """(m,) and (m, P), numbers at the optimum, and how they move with the coordinates."""
        point, stats = response.chart.point, response.stats
        axes = self._axes_at(point)
        of_all = np.array([number.parameter == "share" for number in numbers], dtype=bool)  # columns
        own, shares = ([numbers[i] for i in np.flatnonzero(part)] for part in (~of_all, of_all))
        find = value_finder(own)

        def numbers_at(q: Any) -> Floats:
            """Numbers of one column each, or of none; last those that shares are made of."""
            by_column = find({**self._moving_numbers(q, stats), **self._points_beside(q)})
            return np.append(by_column, self._share_parts(q)) if shares else by_column

        step = STEP_OF_SHARES if shares else STEP
        if axes is None:
            slopes = response.jacobian(numbers_at, step)
        else:
            still = response.jacobian(lambda q: numbers_at(axes.turned(q)), step)
            slopes = still + axes.along_turns(numbers_at) @ axes.turns(response.chart)
        estimate, jacobian = np.empty(len(numbers)), np.empty((len(numbers), response.chart.size))
        here = point if axes is None else axes.turned(point)
        estimate[~of_all], jacobian[~of_all] = numbers_at(here)[: len(own)], slopes[: len(own)]
        if shares:
            parts, which = self._share_parts(here), [number.place[0] for number in shares]
            of_parts, sums = slopes[len(own) :].reshape(*parts.shape, -1), parts.sum(axis=1)
            estimate[of_all] = self._shares_of(sums)[which]
            jacobian[of_all] = _slopes_of(self._shares_of, sums)[which] @ of_parts.sum(axis=1)
        return estimate, jacobian

    def _judged(
        self,
        numbers: list[PublishedNumber],
        estimate: Floats,
        shift: Floats,
        std: Floats,
        missing: Floats,
        why: Any,
    ) -> Answer:
        """Numbers (m,) moved by `shift` to the top, with what is known of them; `why` says what is wrong already."""
        scales = Scales(numbers)
        slopes, entered = scales.slope(estimate), scales.enter(estimate)
        with np.errstate(invalid="ignore"):
            entered = np.where(np.isfinite(std), entered + slopes * shift, entered)
        estimate = scales.leave(entered)
        unknown = ~np.isfinite(std)
        partners = {(n.parameter, n.component, n.view) for n, lost in zip(numbers, unknown, strict=True) if lost}
        at_floor = any(parameter == "noise_variance" for parameter, _, _ in partners)
        for i, number in enumerate(numbers):
            if (number.parameter, number.component, number.view) in partners:
                why[i] = _unidentified(number, bool(unknown[i]), at_floor)
        with np.errstate(invalid="ignore"):
            linked = np.array([number.link != "real" for number in numbers], dtype=bool)
            vague = linked & np.isfinite(std) & (std * np.abs(slopes) > MOST_VAGUE)
        why[~np.isfinite(entered) | vague] = AT_END
        self._doubt(numbers, why)
        with np.errstate(invalid="ignore"):
            std = np.where(np.isfinite(entered), std * np.abs(slopes), np.inf)
        return Answer(estimate, std, why.tolist(), missing, tails=self._tails_of(numbers, std))

    def _few_chosen(self, numbers: list[PublishedNumber], choice: Choice) -> list[PublishedNumber]:
        """Numbers that were asked for, where they are few and the model has slopes; none else."""
        beside = self._names_beside()
        few = [number for number in numbers if number.parameter not in beside and choice.holds(number)]
        few_enough = len(few) <= ONE_BY_ONE and len(few) * Chart(self.posterior_).size <= CHOSEN_WORK
        return few if few_enough and self._is_sloped() else []

    def _few_answer(
        self, numbers: list[PublishedNumber], batches: Sequence[Any], sweep: Sweep
    ) -> tuple[list[PublishedNumber], Answer, Components]:
        """Numbers one by one, and what their components are worth."""

        def quantity(q: Any) -> Floats:
            return values_of(self._own_numbers(q, self._state.stats), numbers)

        few = respond_few(self._model, batches, self.posterior_, quantity, sweep=sweep)
        slopes = Scales(numbers).slope(few.values)
        why = np.where(few.settled, "", "ten products with the curvature did not settle it").astype(object)
        why[~np.isfinite(few.std)] = "not identified by the rows"
        why[~np.isfinite(slopes)] = AT_END
        why[self._may_be_turned(numbers)] = NOT_IDENTIFIED
        self._doubt(numbers, why)
        std = self._with_remainder(numbers, self.posterior_, few.std, few.missing)
        std = np.where(np.isfinite(slopes), std * np.abs(slopes), np.inf)
        of = {number.component for number in numbers if number.component is not None}
        tails = self._tails_of(numbers, std)
        answer = Answer(few.values, std, why.tolist(), few.missing, tails=tails)
        known = self._known_of_components(numbers, answer, batches, sweep, which=of) if of else None
        return numbers, answer, known or not_compared(self.n_components_)

    def _many_answer(
        self, numbers: list[PublishedNumber], batches: Sequence[Any], sweep: Sweep
    ) -> tuple[list[PublishedNumber], Answer, Components, int] | None:
        """All numbers of a large posterior, what components are worth, and the directions that it took."""
        stats = self._state.stats
        own = [number for number in numbers if number.parameter != "share"]
        shares = [number for number in numbers if number.parameter == "share"]
        find = value_finder(own)

        def of_shares(chart: Chart, blocks: Blocks) -> tuple[Floats, Floats] | None:
            if not shares:
                return np.zeros(0), np.zeros((0, chart.size))
            slopes = column_slopes(lambda q: np.ravel(self._share_parts(q)), chart, blocks, STEP_OF_SHARES)
            here, which = self._share_parts(chart.point), [number.place[0] for number in shares]
            if slopes is None:
                return None
            of_sums = np.asarray(np.repeat(np.eye(len(here)), here.shape[1], axis=1) @ slopes.matrix)
            return self._shares_of(here.sum(axis=1))[which], _slopes_of(self._shares_of, here.sum(axis=1))[
                which
            ] @ of_sums

        found = respond_many(
            self._model,
            batches,
            self.posterior_,
            lambda q: find({**self._numbers_by_column(q, stats), **self._points_beside(q)}),
            of_shares,
            sweep=sweep,
        )
        if found is None:
            return None
        moved = np.flatnonzero(found.moves)
        everything = own + shares
        numbers = [everything[i] for i in moved]
        std, shift = found.std[moved], found.shift[moved]
        why = np.where(found.settled[moved], "", f"{found.n_directions} directions did not settle it").astype(object)
        with np.errstate(invalid="ignore"):
            of_columns = moved < len(own)  # shares add up many small steps
            why[of_columns & (np.abs(shift) > MOST_DEVIATIONS * std)] = "the fit is far from its optimum"
        why[found.held[moved]] = AT_END
        if self._axes_by_rule:  # which looks at all columns
            why[[number.component is not None for number in numbers]] = NOT_IDENTIFIED
        std = self._with_remainder(numbers, found.top.q, std, found.missing[moved])
        answer = self._judged(numbers, found.values[moved], shift, std, found.missing[moved], why)
        top = sum(self._bound_terms(found.top.q, found.stats).values())
        known = self._known_of_components(numbers, answer, batches, sweep, found.top.q, top)
        return numbers, answer, known, found.n_directions

    def _is_sloped(self) -> bool:
        """Whether slopes are in closed form."""
        model, stats = self._model, self._state.stats
        if not isinstance(model, Sloped) or isinstance(model, Walking):
            return False
        return isinstance(model, Compressing) or model.slopes(self._state.q, stats) is not None

    def _can_respond_to_all(self) -> bool:
        """Whether all numbers of a large posterior can be told at once in the time of a few fits."""
        model, q = self._model, self.posterior_
        if not self._is_sloped() or Chart(q).size > MOST_OF_ALL:
            return False
        if isinstance(model, Compressing) or model.exact_local(q):
            return True
        width = max(len(self._units.origin) * self.n_components_, model.floats_per_row(self.n_components_))
        return bool(self._state.stats.n * width <= REPEATED_WORK)

    def _tails_of(self, numbers: list[PublishedNumber], std: Floats) -> IntervalTails:
        return tails_of(
            numbers,
            std,
            n_rows=float(self._state.stats.n),
            n_columns=len(self._units.origin),
            n_components=self.n_components_,
            covariance_type=getattr(self, "covariance_type", ""),
        )

    def _rows_of_spreads(self) -> Floats | None:
        """(K, D), rows by which the spread of each column in each component is estimated; None where it is not."""
        return None

    def _may_be_turned(self, numbers: list[PublishedNumber]) -> list[bool]:
        """Which numbers change when factors are exchanged for mixtures of each other that fit as well."""
        free = isinstance(self.posterior_, Turnable) and self.n_components_ > 1 and not self._axes_by_rule
        return [free and number.parameter == "components" for number in numbers]

    def _doubt(self, numbers: list[PublishedNumber], why: Any) -> None:
        """Write down why numbers are not sound whatever their curvature."""
        if isinstance(self._model, Biased) and self._model.biased_local(self.posterior_):
            why[why == ""] = "biased: posteriors of rows are approximate"
        rows = self._rows_of_spreads()
        if rows is not None:
            place = {str(name): d for d, name in enumerate(self._described_columns())}
            for i, number in enumerate(numbers):
                needs_spread = number.parameter in SPREADS or (number.parameter == "means" and number.link == "real")
                if needs_spread and why[i] == "" and number.component is not None:
                    columns = [place[name] for name in number.columns] or slice(None)
                    why[i] = OF_ONE_ROW if rows[number.component][columns].min() < ONE_ROW else ""
        inclusion = self._publish(self.posterior_, self._state.stats, self._units).get("inclusion")
        for i, number in enumerate(numbers):
            if inclusion is not None and number.parameter == "components" and why[i] == "":
                share = inclusion[number.view][number.place]
                if SURE_INCLUSION < share < 1 - SURE_INCLUSION:
                    why[i] = f"in or out is not decided: inclusion {share:.2f}"


def _unidentified(number: PublishedNumber, unknown: bool, at_floor: bool) -> str:
    """Why nothing sound is said of a number that is unknown, or of which others of its kind are."""
    if at_floor and number.parameter == "mean":  # rows do tell it; a factor that is the column itself hides it
        return AT_FLOOR
    if unknown:
        return "not identified by the rows"
    others = "those of other columns" if number.component is None else "other entries of its component"
    return f"{others} are not identified"


def _slopes_of(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """(K, S), derivatives of a function of a few positive numbers to (K,)."""
    steps = RELATIVE_STEP * np.maximum(np.abs(at), np.finfo(float).tiny)
    ends = [
        [function(at + side * step * unit) for side in (1, -1)]
        for step, unit in zip(steps, np.eye(len(at)), strict=True)
    ]
    return np.stack([(up - down) / (2 * step) for (up, down), step in zip(ends, steps, strict=True)], axis=1)


def _depends_on_held(response: Response, jacobian: Floats) -> Any:
    """(m,), whether a number moves with a coordinate that stands at an end of its range."""
    held = response.steep
    if not held.any():
        return np.zeros(len(jacobian), dtype=bool)
    parts = np.abs(jacobian)
    return parts[:, held].max(axis=1) > 1e-3 * np.maximum(parts.max(axis=1), np.finfo(float).tiny)
