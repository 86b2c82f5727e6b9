"""How sure published numbers are by draws from the posterior itself, and whether drawing them is worth its time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latens.estimators.intervals.answer import Answer
from latens.estimators.intervals.by_response import NOT_IDENTIFIED, ByResponse
from latens.estimators.intervals.draws import (
    PosteriorDraws,
    chosen,
    mean_squares,
    named_as_in_fit,
    of_view,
    own_stream,
    stacked,
)
from latens.estimators.intervals.table import AXES, PublishedNumber
from latens.estimators.parameters import SECONDS_OF_FITS
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.uncertainty.gibbs import BURN_IN, THINNING, Sampled, effective_size, gibbs, r_hat
from latens.models.known_codes import KNOWN
from latens.system.threads import one_blas_thread

__all__ = ["BySampling"]

N_CHAINS, N_GIBBS = 4, 1000  # chains, and draws of all of them
FEWEST_OF_CHAIN = 100  # draws of a chain, of which those that are asked for are taken: fewer say nothing of mixing
MOST_GIBBS_SECONDS = 30.0  # of CPU that sampling may take by the look of a few sweeps, or
MOST_GIBBS_FITS = 3.0  # times the CPU of the fit, whichever is more
LOOKED_AT = 20  # sweeps, for that
LONGER = 4  # times as long are chains that have not met
DISAGREEMENT = 1.1  # R-hat above which chains have not met


class Drawn(NamedTuple):
    numbers: list[PublishedNumber]
    answer: Answer
    note: str  # on the chains
    agree: bool  # whether chains do


class BySampling(ByResponse):
    """Mixed into `Intervals`."""

    if TYPE_CHECKING:
        trace_: Any

    def _rows_one_by_one(self, X: Any, fit_params: Mapping[str, Any]) -> Sequence[Any]:
        """The rows of the fit; those that count several times are as many rows, each with codes of its own."""
        return [batch.repeated() for batch in self._rows_in_blocks(X, fit_params)]

    def _cannot_sample(self, batches: Sequence[Any]) -> str:
        model, name = self._model, type(self).__name__
        if not isinstance(model, Sampled):
            return f"{name} cannot be sampled yet"
        if any(KNOWN in batch.aux for batch in batches):
            return "rows whose codes are known are not sampled"
        if any(batch.weight is not None for batch in batches):
            return "rows with weights that are no whole numbers are not sampled"
        return model.cannot_sample(self.posterior_)

    def _not_to_be_sampled(self, numbers: list[PublishedNumber], X: Any, fit_params: Mapping[str, Any]) -> str:
        """Why "auto" does not sample, or ""."""
        if any(self._may_be_turned(numbers)):
            return "factors turn from draw to draw"
        if X is None or self._is_in_blocks(self._fetched(X)):
            return "it needs the rows in memory"
        batches = self._rows_one_by_one(X, fit_params)
        reason = self._cannot_sample(batches)
        if reason:
            return reason
        n_sweeps = N_CHAINS * BURN_IN + N_GIBBS * THINNING
        with one_blas_thread():
            gibbs(self._model, batches, self.posterior_, 1, np.random.default_rng(0), burn_in=0, thinning=1)  # compiled
            began = time.process_time()
            gibbs(self._model, batches, self.posterior_, LOOKED_AT, np.random.default_rng(0), burn_in=0, thinning=1)
        seconds = n_sweeps * (time.process_time() - began) / LOOKED_AT
        if seconds <= self._most_gibbs_seconds():
            return ""
        fit = self._seconds_of_fit()
        return (
            f"it would take about {seconds:.0f} s, {seconds / fit:.0f} times the fit"
            if fit
            else (f"it would take about {seconds:.0f} s")
        )

    def _seconds_of_fit(self) -> float:
        """CPU of the fit; of a copy or a file, which do not say, the iterations of the start that was kept."""
        known = SECONDS_OF_FITS.get(self)
        return float(math.fsum(event.seconds for event in self.trace_) if known is None else known)

    def _most_gibbs_seconds(self) -> float:
        return max(MOST_GIBBS_SECONDS, MOST_GIBBS_FITS * self._seconds_of_fit())

    def _gibbs_draws(
        self, n: int, rng: np.random.Generator, X: Any, fit_params: Mapping[str, Any], longer: int = 1
    ) -> PosteriorDraws:
        model, q, batches = self._model, self.posterior_, self._rows_one_by_one(X, fit_params)
        reason = self._cannot_sample(batches)
        if reason:
            raise ValueError(f"method='gibbs': {reason}; choose method='response'.")
        each = max(FEWEST_OF_CHAIN, -(-n // N_CHAINS))
        with one_blas_thread():
            sweeps = {"burn_in": longer * BURN_IN, "thinning": longer * THINNING}
            chains = [gibbs(model, batches, q, each, rng, **sweeps) for _ in range(N_CHAINS)]
            reference = np.concatenate([np.asarray(local_fixed_point(model, q, batch).mean) for batch in batches])
        published = [
            self._published(named_as_in_fit(point, codes, reference), self._state.stats)
            for chain in chains
            for point, codes in zip(chain.points, chain.codes, strict=True)
        ]
        every = {name: stacked([draw[name] for draw in published]) for name in published[0]}
        numbers = [name for name, value in every.items() if name in AXES and _moves(value)]
        summaries = {name: mean_squares(every[name]).reshape(N_CHAINS, each) for name in numbers}
        spaced = np.linspace(0, N_CHAINS * each - 1, n).astype(int)
        draws = PosteriorDraws({name: chosen(value, spaced) for name, value in every.items()})
        draws.r_hat = {name: r_hat(value) for name, value in summaries.items()}
        draws.effective_size = {name: effective_size(value) for name, value in summaries.items()}
        return draws

    def _gibbs_answer(self, numbers: list[PublishedNumber], X: Any, fit_params: Mapping[str, Any]) -> Drawn:
        """What draws tell of numbers, and chains of themselves; those that have not met go on longer."""
        began = time.process_time()
        draws = self._gibbs_draws(N_GIBBS, own_stream(np.random.default_rng(0)), X, fit_params)
        seconds = time.process_time() - began
        if max(draws.r_hat.values()) > DISAGREEMENT and LONGER * seconds <= self._most_gibbs_seconds():
            draws = self._gibbs_draws(N_GIBBS, own_stream(np.random.default_rng(0)), X, fit_params, LONGER)
        numbers = [number for number in numbers if number.parameter in draws]
        points = {number.parameter for number in numbers} & set(self._extra_numbers(self.posterior_))
        values = np.stack([of_view(draws[n.parameter], n.view)[(slice(None), *n.place)] for n in numbers], axis=1)
        moving = np.flatnonzero(np.ptp(values, axis=0) > 0)
        numbers, values = [numbers[i] for i in moving], values[:, moving]
        points -= {number.parameter for number in numbers}
        disagree = max(draws.r_hat.values()) > DISAGREEMENT
        disagreement = f"chains disagree: R-hat {max(draws.r_hat.values()):.2f}" if disagree else ""
        why = np.full(len(numbers), disagreement, dtype=object)
        why[self._may_be_turned(numbers)] = NOT_IDENTIFIED
        self._doubt(numbers, why)
        answer = Answer(
            np.median(values, axis=0), values.std(axis=0), why.tolist(), np.full(len(numbers), np.nan), values
        )
        least = min(draws.effective_size.values())
        note = f"{N_CHAINS} chains, R-hat at most {max(draws.r_hat.values()):.2f}, effective size at least {least:.0f}."
        note = f"{note} Points of the fit, not drawn: {', '.join(sorted(points))}." if points else note
        return Drawn(numbers, answer, note, not disagree)


def _moves(drawn: Any) -> bool:
    """Whether draws of a number, by view where there are several, differ: points of the fit do not."""
    parts = drawn.values() if isinstance(drawn, Mapping) else [drawn]
    return any(np.ptp(part, axis=0).any() for part in parts if np.size(part))
