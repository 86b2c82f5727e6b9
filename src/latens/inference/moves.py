"""Moves: posteriors with components deleted, split, merged or swapped, kept only if the bound says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from latens.core import Fit, Iteration, State
from latens.inference.ascent import OnIteration
from latens.inference.restarts import labelled

__all__ = ["improve"]

Climb = Callable[[State, int, OnIteration | None], Fit]  # (start, max_iter, on_iteration) -> Fit


def improve(
    fit: Fit,
    candidates: Callable[[State], Iterator[Any]],
    climb: Climb,
    *,
    screen: Climb | None = None,
    n_steps: int = 10,
    max_iter: int = 200,
    tol: float = 1e-6,
    on_iteration: OnIteration | None = None,
    looseness: Callable[[Any], float] | None = None,
) -> Fit:
    """Try candidates until none raises the bound by more than `tol` per row.

    A candidate climbs `n_steps` iterations before it is judged, on all rows. With `screen`, an ascent over a
    weighted subsample, only candidates that are promising there are tried in full: most are not, and they
    are what costs. With `looseness`, nats that the bound of a posterior is known to miss, the bound must still rise
    when they are added to both sides: a component is not given up because a bound is loose about it.
    """
    while not (fit.interrupted or fit.stopped):
        try:
            better = _first_better(fit, candidates, climb, screen, n_steps, tol, looseness)
        except KeyboardInterrupt:
            return replace(fit, interrupted=True)
        if better is None:
            return fit
        # a trial starts below the bound it ends above: only its end belongs in a trace that never falls
        jump = replace(better.trace[-1], step=fit.state.step, restart=fit.trace[-1].restart)
        state = replace(better.state, step=jump.step + 1)
        stopped = bool(on_iteration and on_iteration(replace(jump, posterior=state.q)))
        fit = replace(better, state=state, trace=(*fit.trace, jump), stopped=stopped)
        if better.interrupted or better.converged or stopped:
            continue
        try:
            rest = climb(state, max_iter, labelled(on_iteration, jump.restart))
        except KeyboardInterrupt:
            return replace(fit, interrupted=True)
        fit = replace(rest, trace=(*fit.trace, *_relabelled(rest, jump.restart)))
    return fit


def _first_better(
    fit: Fit,
    candidates: Callable[[State], Iterator[Any]],
    climb: Climb,
    screen: Climb | None,
    n_steps: int,
    tol: float,
    looseness: Callable[[Any], float] | None,
) -> Fit | None:
    margin = tol * fit.state.stats.n
    target = fit.elbo + margin
    target_screened = None if screen is None else screen(State(fit.state.q), n_steps, None).elbo + margin
    for candidate in candidates(fit.state):
        if screen is not None and target_screened is not None:
            glance = screen(State(candidate), n_steps, _Hopeless(target_screened, n_steps))
            if glance.interrupted:
                raise KeyboardInterrupt
            if glance.elbo <= target_screened:
                continue
        trial = climb(State(candidate), n_steps, _Hopeless(target, n_steps))
        if trial.elbo > target and (
            looseness is None or _tighter(trial, looseness) > _tighter(fit, looseness) + margin
        ):
            return replace(trial, stopped=False)
        if trial.interrupted:
            raise KeyboardInterrupt
    return None


def _tighter(fit: Fit, looseness: Callable[[Any], float]) -> float:
    return fit.elbo + looseness(fit.state.q)


class _Hopeless:
    """Ends a trial that would not reach the target even if every remaining step gained as much as the last."""

    def __init__(self, target: float, n_steps: int, patience: int = 2) -> None:
        self.target, self.left, self.patience = target, n_steps, n_steps - patience
        self.last = -math.inf

    def __call__(self, event: Iteration) -> bool:
        gain, self.last, self.left = event.elbo - self.last, event.elbo, self.left - 1
        return self.left <= self.patience and event.elbo + gain * self.left < self.target


def _relabelled(fit: Fit, restart: int) -> tuple[Any, ...]:
    return tuple(replace(event, restart=restart) for event in fit.trace)
