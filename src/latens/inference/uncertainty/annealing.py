"""Annealed importance sampling of the evidence, on the steps of a Gibbs sampler.

    f_t = p_t(globals) p(rows, codes | globals)^t        t from 0 to 1,   f_0 can be summed,   sum of f_1 = evidence

A chain starts with a draw of f_0 and takes Gibbs steps at rising t; before each, its weight is multiplied by
f_now / f_before at its state. The mean of the weights is the evidence; that of the reciprocal weights of chains which
go backwards, from codes that made the rows, is one over the evidence. The two bracket it.

Two kinds of models differ in what a chain has to remember:

- `Tempered`: given the codes the globals have a closed posterior. They are integrated out, f_t is the bound at
  their posterior for sums of codes times t, and weights never see a draw of a prior.
- `Layered`: priors have hyper-priors, some so vague that draws from them are useless. Globals are part of the chain,
  and p_t goes from priors centred at the fit to the true ones. Where p(codes) has no unknown parameters it is the same
  at every t, and only p(rows | codes) goes to the power t; or, of a `Guided` model, p(codes) is that of the fit at
  t = 0, since a chain seldom comes upon codes that everything else would have to be ready for.

References: Neal (2001); Grosse, Ghahramani & Adams (2015) for the two directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from latens.array import Floats
from latens.inference.uncertainty.gibbs import Sampled

__all__ = [
    "CodePath",
    "Guided",
    "Layered",
    "Path",
    "Tempered",
    "anneal",
    "coldest",
    "collapsed",
    "log_mean_with_error",
    "path_of",
    "temperatures",
]

FIRST_TEMPERATURE = 1e-6  # the first temperature above 0, where that is cold enough
COLD_NATS = 0.1  # that a first step may change
N_FELT = 5  # draws of f_0 by which that is told
SWEEPS_OF_GLOBALS = 100  # sweeps of the globals at given codes, before a chain goes backwards from them


@runtime_checkable
class Tempered(Sampled, Protocol):
    """A model whose codes can be drawn where their joint density with the rows goes to a power."""

    def cannot_anneal(self, q: Any) -> str: ...  # why not, or ""

    def anneals_with_holes(self, q: Any) -> bool: ...  # whether rows may lack entries

    def log_states(self, batch: Any, q: Any) -> float: ...  # log of the sum of f_0 over all codes

    def at_codes(self, q: Any, codes: Any, rng: np.random.Generator) -> Any: ...  # as `draw_codes` gives them

    def draw_at(
        self, t: float, point: Any, batch: Any, last: Any, rng: np.random.Generator
    ) -> tuple[Any, Any]: ...  # codes given globals at t from those before, and sums over them


@runtime_checkable
class Layered(Tempered, Protocol):
    """A model with hyper-priors; a point holds all globals but the parameters of priors, which are integrated out."""

    def proper(self, q: Any) -> Any: ...  # the same model, with priors about where q is

    def draw_prior(self, q: Any, rng: np.random.Generator) -> Any: ...  # a point; what q has as points stays

    def log_prior(self, point: Any) -> float: ...

    def redraw(self, point: Any, stats: Any, rng: np.random.Generator) -> Any: ...  # given sums; points of q stay

    def log_tempered(self, point: Any, stats: Any) -> float: ...  # what goes to the power t, linear in sums


@runtime_checkable
class Guided(Layered, Protocol):
    """A model whose `draw_at` takes a guide, too: the density of codes is then p (q / p)^g, g from 1 to 0."""

    def guide(
        self, q: Any, batch: Any
    ) -> Any: ...  # with `excess(codes)`, log q - log p of what is drawn, and `share(t)`, g


class Path(Protocol):
    """The way of a model from f_0 to f_1."""

    def first(self, rng: np.random.Generator) -> Any: ...  # a draw of f_0

    def at(self, codes: Any, rng: np.random.Generator) -> Any: ...  # a draw of f_1, given codes

    def level(self, t: float, state: Any) -> float: ...  # log f_t

    def step(self, t: float, state: Any, rng: np.random.Generator) -> Any: ...  # leaves f_t as it is


def path_of(model: Any, batch: Any, q: Any) -> Path:
    return _Points(model, model.proper(q), batch, q) if isinstance(model, Layered) else CodePath(model, batch, q)


def coldest(path: Path) -> float:
    """The first temperature above 0: draws of vague priors may be any number of widths away from the rows."""
    rng = np.random.default_rng(0)  # not the chains' own: their temperatures may not depend on them
    terms = [
        path.level(FIRST_TEMPERATURE, state) - path.level(0.0, state)
        for state in (path.first(rng) for _ in range(N_FELT))
    ]
    return FIRST_TEMPERATURE * min(1.0, COLD_NATS / max(float(np.max(np.abs(terms))), COLD_NATS))


def temperatures(n_steps: int, first: float = FIRST_TEMPERATURE) -> Floats:
    """From 0 to 1: half of the steps by ratios, which the vague beginning needs, half even."""
    ratios = np.geomspace(first, 1.0, n_steps // 2)
    return np.unique(np.concatenate([[0.0], ratios, np.linspace(0.0, 1.0, n_steps - n_steps // 2)]))


def anneal(path: Path, at: Floats, rng: np.random.Generator, codes: Any = None) -> float:
    """Log weight of one chain through the temperatures; backwards from `codes` where they are given."""
    backwards = codes is not None
    state = path.at(codes, rng) if backwards else path.first(rng)
    log_weight = 0.0
    for before, now in pairwise((at[::-1] if backwards else at).tolist()):
        log_weight += path.level(now, state) - path.level(before, state)
        state = path.step(now, state, rng)
    return -log_weight if backwards else log_weight


def collapsed(model: Any, stats: Any, k: int) -> tuple[float, Any]:
    """log f_t for sums over codes times t, exact since the globals' posterior given codes is; and that posterior."""
    after = model.global_step(model.prior(k), stats)
    return float(sum((model.data_terms(after, stats) | model.global_terms(after)).values())), after


@dataclass(frozen=True)
class CodePath:
    """Codes and their sums; globals are integrated out."""

    model: Any
    batch: Any
    q: Any
    last_found: list[tuple[float, Any, tuple[float, Any]]] = field(default_factory=list, repr=False)

    def first(self, rng: np.random.Generator) -> tuple[Any, Any]:
        return self.model.draw_at(0.0, self.q.sample(rng), self.batch, None, rng)  # type: ignore[no-any-return]

    def at(self, codes: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        local, point = self.model.at_codes(self.q, codes, rng), self.q.sample(rng)
        for _ in range(SWEEPS_OF_GLOBALS):
            stats = self.model.draw_statistics(point, self.batch, local, rng)
            point = collapsed(self.model, stats, self.q.n_components)[1].sample(rng)
        return local, stats

    def level(self, t: float, state: tuple[Any, Any]) -> float:
        return 0.0 if t == 0 else self.collapsed(t, state[1])[0]

    def step(self, t: float, state: tuple[Any, Any], rng: np.random.Generator) -> tuple[Any, Any]:
        point = self.collapsed(t, state[1])[1].sample(rng)
        return self.model.draw_at(t, point, self.batch, state[0], rng)  # type: ignore[no-any-return]

    def collapsed(self, t: float, stats: Any) -> tuple[float, Any]:
        """What a weight asks at a new temperature first, the step from there asks again."""
        for at, own, found in self.last_found:
            if at == t and own is stats:
                return found
        found = collapsed(self.model, t * stats, self.q.n_components)
        if not self.last_found or self.last_found[0][1] is not stats:
            self.last_found[:] = [(t, stats, found)]
        return found


@dataclass(frozen=True)
class _Points:
    """A point, codes, and their sums."""

    model: Any
    proper: Any
    batch: Any
    q: Any

    @cached_property
    def guide(self) -> Any:
        return self.model.guide(self.q, self.batch) if isinstance(self.model, Guided) else None

    def first(self, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        point = self.proper.draw_prior(self.q, rng)
        return point, *self._drawn(self.proper, 0.0, point, None, rng)

    def at(self, codes: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        local, point = self.model.at_codes(self.q, codes, rng), self.proper.draw_prior(self.q, rng)
        stats = self.model.draw_statistics(point, self.batch, local, rng)
        for _ in range(SWEEPS_OF_GLOBALS):
            point = self.model.redraw(point, stats, rng)
        return point, local, stats

    def level(self, t: float, state: tuple[Any, Any, Any]) -> float:
        point, local, stats = state
        level = float(self._at(t).log_prior(point) + t * self.model.log_tempered(point, stats))
        return level if self.guide is None else level + self.guide.share(t) * float(self.guide.excess(local))

    def step(self, t: float, state: tuple[Any, Any, Any], rng: np.random.Generator) -> tuple[Any, Any, Any]:
        point, local, stats = state
        point = self._at(t).redraw(point, t * stats, rng)
        return point, *self._drawn(self.model, t, point, local, rng)

    def _drawn(self, model: Any, t: float, point: Any, last: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        beside = () if self.guide is None else (self.guide,)
        return model.draw_at(t, point, self.batch, last, rng, *beside)  # type: ignore[no-any-return]

    def _at(self, t: float) -> Any:
        return _between(self.proper, self.model, t)


def _between(start: Any, end: Any, t: float) -> Any:
    """Records whose numbers are (1 - t) times those of `start` plus t times those of `end`."""
    if start is end:
        return end
    if is_dataclass(end) and not isinstance(end, type):
        pairs = {each.name: (getattr(start, each.name), getattr(end, each.name)) for each in fields(end)}
        return replace(end, **{name: _between(*pair, t) for name, pair in pairs.items() if pair[0] is not pair[1]})
    if isinstance(end, tuple):
        return tuple(_between(one, other, t) for one, other in zip(start, end, strict=True))
    return (1 - t) * start + t * end


def log_mean_with_error(log_weights: Floats) -> tuple[float, float]:
    """Log of the mean of weights, and its standard error.

    That of relative weights is at most 1, where one chain outweighs all others however far they are apart: then it is
    the error of the mean of the logarithms, of which the same is true where they are close together.
    """
    n = len(log_weights)
    value = float(logsumexp(log_weights) - np.log(n))
    relative = np.exp(log_weights - value)
    spread = max(np.std(relative, ddof=1), np.std(log_weights, ddof=1)) if n > 1 else np.nan
    return value, float(spread / np.sqrt(n))
