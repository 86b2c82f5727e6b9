"""How much of each view the factors explain, sample by sample: sums of deviances, which add.

The deviance is the squared error of a Gaussian view, and twice the log-likelihood lost beside a perfect prediction of
the others. Without factors, a column is predicted by its level in the group, and by covariates where there are some.
Squared errors are in units of the column's variance under the model, so that a column of large numbers counts no more
than another one of its view; deviances have no unit.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.fields import record, sized
from latens.array.transfer import cross_sums, like
from latens.core import Rows, Statistics
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View

__all__ = ["Deviances", "column_variance", "deviances"]


@record
class Deviances(Statistics):
    n: float
    none: Floats = sized("n_groups n_views")  # of the level alone, and covariates
    all: Floats = sized("n_groups n_views")  # of all factors
    single: Floats = sized("n_groups n_views k")  # of one factor

    @property
    def entries(self) -> float:
        return self.n

    @property
    def explained(self) -> tuple[Floats, Floats]:
        """(G, M) and (G, M, K), shares of the deviance that all factors, and each one, take away; never negative.

        Nothing is explained where there is nothing to explain, such as in a group that lacks the view.
        """
        base = np.maximum(self.none, np.finfo(float).tiny)
        left = np.concatenate([self.all[..., None], self.single], axis=2) / base[..., None]
        shares = np.where(self.none[..., None] > 0, np.clip(1 - left, 0.0, 1.0), 0.0)
        return shares[..., 0], shares[..., 1:]


def deviances(model: MultiView, q: MultiViewPosterior, levels: list[Floats], batch: Rows, codes: Array) -> Deviances:
    """Of a batch whose codes (n, K) are these; `levels` has the linear predictor (G, D) of each view's usual values."""
    members, given = model.members(batch), model.given(batch)
    sums = [
        _of_view(view, q.views[view.name], level, batch, codes, members, given)
        for view, level in zip(model.views, levels, strict=True)
    ]
    none, everything, single = (np.stack(part, axis=1) for part in zip(*sums, strict=True))
    return Deviances(batch.n, none, everything, single)


def _of_view(
    view: View, p: ViewPosterior, level: Floats, batch: Rows, codes: Array, members: Array, given: Array
) -> tuple[Floats, Floats, Floats]:
    part, k = batch.columns(view.columns), codes.shape[1]
    y = np.ascontiguousarray(part.x) if isinstance(part.x, np.ndarray) else part.x  # looked at once for each factor
    mask, w = part.mask, p.weights.mean
    weighted, columns, offset = batch.weigh(members), view.about(p, batch), view.log_exposure(batch)

    squares = not view.likelihood.curved
    counted = mask / like(column_variance(p), y) if squares else mask

    def summed(eta: Array) -> Floats:
        """(G,), over the entries seen."""
        missed = view.likelihood.deviance(y, eta, columns) * counted
        return cross_sums(weighted, array_namespace(y).sum(missed, axis=1)[:, None])[:, 0]

    g = members.shape[1]
    base = given @ like(p.offsets.mean.T, y)
    usual = members @ like(level, y) + given[:, g:] @ like(p.offsets.mean[:, g:].T, y)
    if offset is not None:
        base, usual = base + offset, usual + offset
    none, everything = summed(usual), summed(base + codes @ like(w.T, y))
    if not squares:
        single = [summed(base + codes[:, j : j + 1] * like(w[None, :, j], y)) for j in range(k)]
        return none, everything, np.stack(single, axis=1) if single else np.zeros((len(none), 0))
    # squares need no prediction per factor: sum (r - w z)^2 = sum r^2 - 2 w sum r z + w^2 sum z^2
    left = (y - base) * counted
    moved = -2 * codes * (left @ like(w, y)) + codes**2 * (counted @ like(w**2, y))
    return none, everything, summed(base)[:, None] + cross_sums(weighted, moved)


def column_variance(p: ViewPosterior) -> Floats:
    """(D,), what factors of variance 1 and the noise add to each column, on the scale of its link."""
    return np.asarray(np.sum(p.weights.mean**2, axis=1) + 1 / p.noise.mean)
