"""Where noisy ICA begins: factors found by maximum likelihood, turned until they look independent."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import FastICA

from latens.array import Floats
from latens.core import Rows
from latens.estimators.rows.sampling import column_places, filled
from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance
from latens.models.factor_analysis.newton import N_RISES, best_rank, most_likely
from latens.models.factor_analysis.newton_wide import Root
from latens.models.factor_analysis.sums import Scatter, summed
from latens.models.factor_analysis.sums_wide import FewRows, rows_or_sums
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_ica.posteriors import Shapes
from latens.models.noisy_ica.priors import GAUSSIAN, most_of_covariance, negentropy

__all__ = ["factor_starts", "likely_number", "posterior_at", "supported_number"]

SIZE_OF_UNSEEN = 0.03  # of a column's standard deviation: loadings of a source that is asked for and not seen
AT_FLOOR = 10.0  # times the smallest noise variance of factors: below it they say that a sensor has none
UNKNOWN = 0.1  # of a sensor's variance: its noise where factors leave none
ITERATIONS_BESIDE = 60  # of FastICA's second contrast at most: it converges in 10 to 30, or has little to tell
RATIO_OF_ANOTHER = 1.05  # of negentropies, from which the second rotation is a start, too


def factor_starts(
    sample: Rows, k: int, rng: np.random.Generator, turn: str, *, exact: bool = False
) -> list[tuple[Floats, Floats, Floats]]:
    """Mixing (K, D), noise (D,) and sources (n, K) of the sample: factors, then turns by FastICA or one at random.

    Factor analysis and not principal components, since noise differs by sensor: it tells shared variance from noise.
    Factors that the data do not support are left out or, with `exact`, faint ones of any direction. Where factors leave
    a sensor no noise at all (Heywood), which sources seldom do, its noise begins at a tenth of its variance: from 0 an
    ascent takes a hundred iterations to come back, from above a few.
    """
    places = column_places(sample)
    order = np.argsort(places)
    seen = None if sample.seen is None else sample.seen[:, order]
    sample = replace(sample, x=np.take(sample.x, order, axis=1), seen=seen)
    (total, covariance), x = _sums(sample), filled(sample)
    loadings, noise = most_likely(covariance, k, total.floor)
    loadings = loadings[:, np.any(loadings != 0, axis=0)]
    if not loadings.shape[1]:
        loadings = np.sqrt(0.1 * np.maximum(total.variance, total.floor))[:, None]
    if exact and loadings.shape[1] < k:
        faint = SIZE_OF_UNSEEN * np.sqrt(np.maximum(total.variance, total.floor))[:, None]
        loadings = np.concatenate([loadings, faint * rng.normal(size=(len(noise), k - loadings.shape[1]))], axis=1)
    weighted = loadings / noise[:, None]
    factors = (x - total.mean) @ weighted @ np.linalg.inv(np.eye(loadings.shape[1]) + loadings.T @ weighted)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(factors.T, ddof=0)))
    white = factors @ (vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1] + 1e-300))) @ vectors.T
    turns = _independent(white, rng) if turn == "independent" else [_random_rotation(loadings.shape[1], rng)]
    noise = np.where(noise <= AT_FLOOR * total.floor, np.maximum(UNKNOWN * total.variance, noise), noise)
    return [((loadings @ rotation.T).T[:, places], noise[places], white @ rotation.T) for rotation in turns]


def supported_number(sample: Rows, most: int) -> int:
    """Sources that the covariance of the sensors shows, whatever their distribution, by Hannan & Quinn's criterion.

    Of complete rows: pairwise sums vary by more than their number of rows tells.
    """
    found: dict[int, int] = sample.cached("supported numbers, by how many were allowed", dict)
    for allowed, number in found.items():
        if allowed == most or number + N_RISES <= allowed <= most:  # the criterion has risen before that limit was met
            return number
    found[most] = _supported_number(sample, most)
    return found[most]


def likely_number(sample: Rows, most: int, columns: int = 0) -> int:
    """One more than that, from which a search may begin; `most`, or all columns, where the covariance cannot tell.

    So many factors as Ledermann's bound fit any covariance of d sensors: beyond it only the shapes of sources
    distinguish them, and there may be as many as sensors.
    """
    d = sample.x.shape[1]
    shown, identified = supported_number(sample, most), most_of_covariance(d)
    if len(_complete(sample)) <= d:
        return most
    return max(most, columns) if shown >= identified else min(most, shown + 1)


def _supported_number(sample: Rows, most: int) -> int:
    whole = _complete(sample)
    if sample.seen is not None and len(whole) <= sample.x.shape[1]:
        return 1
    total, covariance = _sums(whole)
    return max(1, best_rank(covariance, total.n_rows, total.floor, most, "hannan-quinn"))


def _sums(sample: Rows) -> tuple[Scatter | FewRows, Floats | Root]:
    """Sums and their covariance; of fewer rows than columns its root, as D x D numbers would be more than the rows."""
    if len(sample) >= sample.x.shape[1]:
        total = summed(sample)
        return total, total.covariance
    few = rows_or_sums(sample)
    return (few, few.root) if isinstance(few, FewRows) else (few, few.covariance)


def _complete(sample: Rows) -> Rows:
    return sample if sample.seen is None else Rows(np.asarray(sample.x)[np.all(sample.seen, axis=1)])


def _independent(white: Floats, rng: np.random.Generator) -> list[Floats]:
    """(K, K) each, rotations after which white factors are as non-Gaussian as FastICA finds.

    One contrast may end in a rotation that is best near it only, hundreds of nats below another. A bounded contrast
    looks at the centre of sources and sees heavy tails, beside which the usual one may see nothing. Its rotation is
    the second where sources would be clearly likelier under it, if there were no noise; where they depend on each
    other, as beats of one heart do, that does not tell which of the two ends higher.
    """
    if white.shape[1] == 1:
        return [np.eye(1)]
    seed = int(rng.integers(2**31))
    usual = _most_independent(white, "logcosh", 300, seed)
    bounded = _most_independent(white, "exp", ITERATIONS_BESIDE, seed)
    clearly = negentropy(white @ bounded.T).sum() > RATIO_OF_ANOTHER * negentropy(white @ usual.T).sum()
    return [usual, bounded] if clearly else [usual]


def _most_independent(white: Floats, contrast: str, max_iter: int, seed: int) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ica = FastICA(white.shape[1], whiten=False, fun=contrast, max_iter=max_iter, tol=1e-4, random_state=seed)
        ica.fit(white)
    u, _, v = np.linalg.svd(np.nan_to_num(ica.components_))
    return np.asarray(u @ v)


def _random_rotation(k: int, rng: np.random.Generator) -> Floats:
    q, r = np.linalg.qr(rng.normal(size=(k, k)))
    return np.asarray(q * np.sign(np.diagonal(r)))


def posterior_at(
    model: NoisyIca, mixing: Floats, center: Floats, noise: Floats, light: NDArray[np.bool_], n: float
) -> IcaPosterior:
    """A posterior about given directions (K, D), as sure as `n` rows make it; `light` says which have two levels."""
    k = len(mixing)
    q = model.prior(k)
    rows = np.concatenate([mixing, center[None]]) if model.intercept else mixing
    shapes = Shapes(np.where(light, GAUSSIAN, 5.0), np.where(light, 0.7, 0.0))
    if model.points:
        return replace(q, shapes=shapes, loadings=PointNormalGamma(rows, np.maximum(noise, model.floor), model.floor))
    shape = np.full(len(noise), 0.5 * n + 1.0)
    weights = NormalGamma(rows, n * np.eye(len(rows))[None], shape, shape * noise)
    sizes = np.sum(rows**2 / noise, axis=1)
    alpha = Gamma(np.full(len(rows), 0.5 * len(noise)), 0.5 * sizes + 1e-3)
    return replace(q, shapes=shapes, loadings=Relevance(weights, alpha))
