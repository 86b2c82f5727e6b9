"""Other sources that noisy ICA might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Index
from latens.core import Removal, Rows
from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.relevance import Relevance, learnt
from latens.models.binary_factors.moves import deletions
from latens.models.noisy_ica.posteriors import Shapes
from latens.models.noisy_ica.priors import GAUSSIAN, lighter_than_gaussian

if TYPE_CHECKING:
    from latens.models.noisy_ica.model import IcaPosterior, IcaStatistics, NoisyIca

__all__ = ["propose", "united"]

NEARLY_GAUSSIAN = 14.0  # degrees of freedom from which a source might as well have light tails


def propose(model: NoisyIca, q: IcaPosterior, stats: IcaStatistics, sample: Rows) -> Iterator[Any]:
    """Deletions, the weakest sources first and down to `least`; then sources of the other kind.

    Where one source is taken out, the others may take long to turn to where it was.

    Point estimates keep their number of sources: their bound grows with it and cannot judge.
    """
    strength = model.strength(q)
    order = np.argsort(strength, kind="stable")
    if not model.points and q.n_components > model.least:
        for fewer in deletions(model, q, stats, order, strength[order]):
            if fewer.n_components == q.n_components - 1:
                yield Removal(fewer.q, fewer.of, again=True)
            elif fewer.n_components >= model.least:
                yield fewer
    if not model.both or model.diagonal:
        return
    # two levels that nearly meet are a Gaussian, which the looser bound of a Student-t must not lose to
    light = lighter_than_gaussian(model.local_step(q, sample).mean)
    plain = np.flatnonzero((q.shapes.split == 0) & (q.shapes.tails > NEARLY_GAUSSIAN) & light)
    if len(plain) > 1:
        yield _of_two_levels(q, plain)
    for k in plain:
        yield _of_two_levels(q, np.array([k]))
    for k in np.flatnonzero(q.shapes.split):
        split = q.shapes.split.copy()
        split[k] = 0.0
        yield replace(q, shapes=replace(q.shapes, split=split))


def united(one: IcaPosterior, other: IcaPosterior) -> IcaPosterior:
    """The sources of both, about the means of the first; a column has the smaller of its two noises."""
    k, n_more = one.n_components, other.n_components
    w, more = learnt(one.loadings).weights, learnt(other.loadings).weights
    order = np.concatenate([np.arange(k), len(w.mean) + np.arange(n_more), np.arange(k, len(w.mean))])
    mean, n_columns = np.concatenate([w.mean, more.mean[:n_more]])[order], max(len(w.precision), len(more.precision))
    precision = np.zeros((n_columns, len(mean), len(mean)))
    precision[:, : len(w.mean), : len(w.mean)] = w.precision
    precision[:, len(w.mean) :, len(w.mean) :] = more.precision[:, :n_more, :n_more]
    quieter = more.rate / more.shape < w.rate / w.shape
    shape, rate = (np.where(quieter, theirs, own) for own, theirs in ((w.shape, more.shape), (w.rate, more.rate)))
    weights = NormalGamma(mean, precision[:, order][:, :, order], shape, rate)
    alpha, further = learnt(one.loadings).alpha, learnt(other.loadings).alpha
    shapes, rates = (
        np.concatenate([own, theirs[:n_more]])[order]
        for own, theirs in ((alpha.shape, further.shape), (alpha.rate, further.rate))
    )
    return replace(
        one,
        shapes=Shapes(
            np.concatenate([one.shapes.tails, other.shapes.tails]),
            np.concatenate([one.shapes.split, other.shapes.split]),
        ),
        loadings=Relevance(weights, Gamma(shapes, rates)),
        turn=np.eye(k + n_more),
        size=np.concatenate([one.size, other.size]),
    )


def _of_two_levels(q: IcaPosterior, which: Index) -> IcaPosterior:
    split, tails = q.shapes.split.copy(), q.shapes.tails.copy()
    split[which], tails[which] = 0.7, GAUSSIAN
    return replace(q, shapes=replace(q.shapes, split=split, tails=tails))
