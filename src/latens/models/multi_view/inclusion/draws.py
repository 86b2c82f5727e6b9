"""Whether a loading is there, by draws of codes and loadings one given the other, from where the fit ended.

The axes of factors, the values of the codes, the sizes of loadings and the share of them that are in are not known any
better than rows tell them, and loadings of a column depend on each other: a chain goes through all of these, and what
is returned is the average of the chances of being in that it draws from. A sweep draws

    size of a view   one precision alpha of slabs for all factors. Its prior is worth one loading of size 1 in units
                     of eta: where rows show nothing, slabs so narrow that all loadings may be in would be as probable
    share of k       theta_k ~ Beta, given how many of its loadings are in
    loadings         in or out with the slab integrated out, then their values; levels likewise
    codes            Normal, all factors of a sample at once
    axes             every few sweeps two factors are turned into each other, by one of many angles, with the
                     probability that all loadings of both, in or out, leave to the turned codes, which are as probable
                     before the rows; then these loadings are drawn. Dense factors have many axes that are as good

Entries are normal given eta: measurements are, yes/no entries given a Polya-Gamma draw each, and those of other kinds
are taken for the parabola of the fit, of which `matched` knows slope and curvature. Noise is held as answers have it.
Factors of a draw are those of the fit whose codes they go with. The chain does not go to other optima, and does without
factors that rows do not show (`share_unseen`).

Cost of a sweep O(N D K^2), and about a hundred operations for each yes/no entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from latens.array import Floats, Index
from latens.array.polya_gamma import draw_polya_gamma
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.coefficients import Regressors, ViewPosterior
from latens.models.multi_view.inclusion.odds import matched_entries, seen_factors, share_unseen
from latens.models.multi_view.inclusion.two_loadings import TwoLoadings
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.sampling import draw_coefficients
from latens.models.multi_view.view import View

__all__ = ["can_draw_inclusion", "inclusion_by_draws"]

SWEEPS = (300, 800)  # at least and at most: few samples, which tell little, need many
BURN_IN = 0.25  # of the sweeps, which are left out of the average
WORK = 5e8  # operations of all sweeps that draws are worth: about a second
MOST_WORK = 3e6  # operations of one sweep, above which each column is asked by itself
WORK_OF_POLYA_GAMMA = 100.0  # operations of one draw
SWEEPS_OF_TURN = 4  # from one turn of axes to the next
ANGLES = (90, 180)  # of a half circle, at equal steps; another number in each turn
LOADINGS_OF_PRIOR = 1.0  # of size 1, that the size of slabs is known by beforehand

Codes = JointCodes | SparseCodes


def can_draw_inclusion(model: MultiView, q: MultiViewPosterior, parts: Sequence[tuple[Rows, Codes]]) -> bool:
    """Whether the chain is made for such a model, and is a matter of seconds."""
    if q.usage or not q.n_components or any(rows.weight is not None for rows, _ in parts):
        return False
    if any(p.parameters is not None for p in q.views.values()):
        return False
    return _work(model, q, parts) <= MOST_WORK


def _work(model: MultiView, q: MultiViewPosterior, parts: Sequence[tuple[Rows, Codes]]) -> float:
    """Operations of a sweep."""
    yes_no = sum(view.stop - view.start for view in model.views if isinstance(view.likelihood, Bernoulli))
    columns = model.views[-1].stop
    return sum(len(rows) for rows, _ in parts) * (columns * q.n_components**2 + WORK_OF_POLYA_GAMMA * yes_no)


def inclusion_by_draws(
    model: MultiView, q: MultiViewPosterior, parts: Sequence[tuple[Rows, Codes]], rng: np.random.Generator
) -> dict[str, Floats]:
    """(D_m, K) by view, the probability that each loading is in; `parts` are samples and their codes, settled."""
    codes = [model.curved(q, rows, local) for rows, local in parts]
    fitted = np.concatenate([host(local.mean) for local in codes])
    seen = np.flatnonzero(seen_factors(fitted, np.ones(len(fitted))))
    fitted, given = fitted[:, seen], np.concatenate([host(model.given(rows)) for rows, _ in parts])
    precision = np.concatenate(
        [np.broadcast_to(host(model.code_precision(q, rows)), (len(rows), q.n_components)) for rows, _ in parts]
    )[:, seen]
    prior = model.prior(q.n_components).views
    views = [_Loadings.of(model, view, prior[view.name], q, parts, codes, seen) for view in model.views]
    z, n_sweeps = fitted, int(np.clip(WORK / _work(model, q, parts), *SWEEPS)) if len(seen) else 0
    for sweep in range(n_sweeps):
        for view in views:
            view.look(np.concatenate([z, given], axis=1), rng)
        if len(seen) > 1 and sweep % SWEEPS_OF_TURN == 0:
            _turn(views, precision, rng)
        chances = [view.draw(rng) for view in views]
        z = _draw_codes(views, given, precision, rng)
        if sweep >= BURN_IN * n_sweeps:
            order = _same_factors(z, fitted)
            for view, chance in zip(views, chances, strict=True):
                view.add(chance[:, order])
    return {view.name: each.inclusion(q.n_components) for view, each in zip(model.views, views, strict=True)}


class _Loadings:
    """The coefficients of a view along the chain, and its entries as parabolas of eta."""

    def __init__(self, prior: ViewPosterior, p: ViewPosterior, entries: _Entries, seen: Index) -> None:
        self.prior, self.entries, self.seen = prior, entries, seen
        self.weights: Floats = np.where(p.weights.on > 0.5, p.weights.slab, 0.0)[:, seen]  # (D, K)
        self.levels: Floats = p.offsets.mean.copy()  # (D, G)
        self.odds: Floats = np.full(len(seen), np.inf)  # (K,), log odds to be in
        self.alpha, self.sizes, self.total = 1.0, 0.0, np.zeros_like(self.weights)
        self.n_added = 0

    @classmethod
    def of(
        cls,
        model: MultiView,
        view: View,
        prior: ViewPosterior,
        q: MultiViewPosterior,
        parts: Sequence[tuple[Rows, Codes]],
        codes: Sequence[Codes],
        seen: Index,
    ) -> _Loadings:
        p, found = q.views[view.name], []
        for (rows, _), local in zip(parts, codes, strict=True):
            at = Regressors.of(local, model.given(rows))
            mean = host(p.predictor(at))
            variance = np.maximum(host(p.second(at)) - mean**2, 0.0)
            slope, bend = matched_entries(view, p, rows, slice(0, mean.shape[1]), mean, variance)
            bend = np.broadcast_to(bend, mean.shape)
            x = host(rows.columns(view.columns).x)
            found.append((bend, slope + bend * mean, np.where(bend > 0, x - 0.5, 0.0)))
        bend, pull, signs = (np.concatenate(kind) for kind in zip(*found, strict=True))
        yes_no = isinstance(view.likelihood, Bernoulli)
        return cls(prior, p, _Entries(bend, signs if yes_no else pull, yes_no), seen)

    def look(self, at: Floats, rng: np.random.Generator) -> None:
        """Sums over samples whose codes and regressors are these (n, K + G); then sizes and shares."""
        d, width = len(self.weights), at.shape[1]
        self.precision, self.pull = self.entries.parabolas(at @ self.coefficients.T, rng)
        self.sums = self.pull.T @ at
        pairs = (at[:, :, None] * at[:, None, :]).reshape(len(at), -1)
        self.gram = (self.precision.T @ pairs).reshape(d, width, width)
        used = np.count_nonzero(self.weights, axis=0)
        if self.prior.theta is not None:
            theta = rng.beta(self.prior.theta.on[self.seen] + used, self.prior.theta.off[self.seen] + d - used)
            self.odds = np.log(theta) - np.log1p(-theta)
        power = LOADINGS_OF_PRIOR + float(np.sum(self.weights**2))
        self.alpha = float(rng.gamma(0.5 * (LOADINGS_OF_PRIOR + float(used.sum()))) / (0.5 * power))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Loadings and levels; (D, K) chances of loadings to be in."""
        (d, k), start = self.weights.shape, self.coefficients
        wide = np.broadcast_to(self.prior.given_precision, (d, start.shape[1] - k))
        precision = np.concatenate([np.full((d, k), self.alpha), wide], axis=1)
        chance, found = draw_coefficients(self.sums, self.gram, np.ones(d), precision, self.odds, start, rng)
        self.weights, self.levels = found[:, :k], found[:, k:]
        return chance

    @property
    def coefficients(self) -> Floats:
        """(D, K + G)."""
        return np.concatenate([self.weights, self.levels], axis=1)

    def pair(self, two: Index) -> TwoLoadings:
        """What is known of the loadings of two factors, all else being given."""
        others = self.coefficients
        others[:, two] = 0.0
        pull = self.sums[:, two] - np.einsum("dij,dj->di", self.gram[:, two], others)
        (first, cross), (_, second) = np.moveaxis(self.gram[:, two[:, None], two], 0, 2)
        return TwoLoadings(pull[:, 0], pull[:, 1], first, second, cross, self.alpha, self.odds[two])

    def turn(self, two: Index, angle: float, rng: np.random.Generator) -> None:
        """Sums of codes of which two are turned, and loadings of these."""
        turned = np.eye(self.sums.shape[1])
        turned[two[:, None], two] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        self.sums, self.gram = self.sums @ turned.T, turned @ self.gram @ turned.T
        self.weights[:, two] = self.pair(two).draw(rng)

    def add(self, chance: Floats) -> None:
        self.total += chance
        self.sizes += self.alpha
        self.n_added += 1

    def inclusion(self, k: int) -> Floats:
        """(D, K), the averages, and of factors that rows do not show the share that they may have unseen."""
        (n, d), theta, times = self.entries.bend.shape, self.prior.theta, max(self.n_added, 1)
        found = np.ones((d, k))
        found[:, self.seen] = self.total / times
        if theta is not None:
            size = self.sizes / times if self.n_added else 1.0
            for j in np.setdiff1d(np.arange(k), self.seen):
                found[:, j] = share_unseen(n, float(self.entries.bend.mean()), size, d, theta.on[j], theta.off[j])
        return found


@dataclass(frozen=True, eq=False)
class _Entries:
    bend: Floats  # (n, D), curvature of the log likelihood; 0 at missing entries
    pull: Floats  # (n, D), what eta is multiplied by in it
    yes_no: bool

    def parabolas(self, eta: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Precision and pull (n, D) of normal entries; those that are yes or no are given a draw each."""
        if not self.yes_no:
            return self.bend, self.pull
        return np.where(self.bend > 0, draw_polya_gamma(eta, rng), 0.0), self.pull


def _turn(views: Sequence[_Loadings], precision: Floats, rng: np.random.Generator) -> None:
    """Two factors, drawn at random, by an angle that their codes leave open; nothing where their sizes differ."""
    two = rng.choice(precision.shape[1], 2, replace=False)
    if not np.array_equal(precision[:, two[0]], precision[:, two[1]]):
        return
    n_angles = int(rng.integers(*ANGLES))
    angles: Floats = np.linspace(0.0, np.pi, n_angles, endpoint=False)
    heights = np.sum([view.pair(two).turned(angles).log_evidence for view in views], axis=0)
    mass = np.exp(heights - heights.max())
    angle = float(angles[rng.choice(n_angles, p=mass / mass.sum())])
    for view in views:
        view.turn(two, angle, rng)


def _draw_codes(views: Sequence[_Loadings], given: Floats, precision: Floats, rng: np.random.Generator) -> Floats:
    """(n, K), given all loadings."""
    n, k = precision.shape
    gram, drive = np.zeros((n, k * k)), np.zeros((n, k))
    for view in views:
        w = view.weights
        gram += view.precision @ (w[:, :, None] * w[:, None, :]).reshape(len(w), -1)
        drive += (view.pull - view.precision * (given @ view.levels.T)) @ w
    root = np.linalg.cholesky(gram.reshape(n, k, k) + precision[:, :, None] * np.eye(k))
    half = np.linalg.solve(root, drive[:, :, None]) + rng.standard_normal((n, k, 1))
    return np.asarray(np.linalg.solve(np.swapaxes(root, 1, 2), half)[:, :, 0])


def _same_factors(drawn: Floats, fitted: Floats) -> Index:
    """(K,), which of the drawn factors is each of the fitted ones."""
    together = np.abs(fitted.T @ drawn)
    return np.asarray(linear_sum_assignment(-together)[1])
