"""Bugs of crossings, leaps, trials among few clusters, splits and ordered levels: a part of the catalogue."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["CANDIDATES_AND_LEVELS"]

CANDIDATES_AND_LEVELS = (
    Mutant(
        "crossings: the lower of two fits is gone on from",
        "inference/search/crossing.py",
        "best, other = (fit, before) if leads else (before, fit)",
        "best, other = (before, fit)",
        "tests/inference/search/test_crossing.py",
    ),
    Mutant(
        "leaps: chances that round next to 1 lead them",
        "inference/extrapolated_ascent.py",
        "moving = longest > TIMES_ROUNDING * chart.rounding",
        "moving = longest > 0",
        "tests/inference/test_extrapolated_ascent.py",
    ),
    Mutant(
        "leaps: rounding of steps that go the same way leads them",
        "inference/extrapolated_ascent.py",
        "products += RIDGE * np.trace(products) * np.eye(len(products))",
        "products += 1e-14 * np.trace(products) * np.eye(len(products))",
        "tests/estimators/conventions/test_invariance.py",
    ),
    Mutant(
        "trials among few clusters: the number of clusters changes nothing",
        "models/mixture/nearby.py",
        "return float(gammaln(k * each) - gammaln(k * each + self.stats.n) - k * gammaln(each))",
        "return 0.0 * each",
        "tests/models/mixture/test_moves.py",
    ),
    Mutant(
        "trials among few clusters: memberships have no entropy",
        "array/kernels/normal_clusters_numba.py",
        "        bound = entropy\n",
        "        bound = 0.0 * entropy\n",
        "tests/models/mixture/test_moves.py",
    ),
    Mutant(
        "trials among few clusters: moves that concern the same cluster are made at once",
        "models/mixture/nearby.py",
        "if move.gain > 0 and busy.isdisjoint(move.concerned) and k + move.more <= max(limit, k):",
        "if move.gain > 0 and k + move.more <= max(limit, k):",
        "tests/models/mixture/test_moves.py",
    ),
    Mutant(
        "splits of causes: two kinds of rows cost nothing",
        "models/noisy_or/splits.py",
        "gain -= LEAST_GAIN * len(own) / 2 * np.log(weight.sum())",
        "gain -= 0.0 * weight.sum()",
        "tests/models/noisy_or/test_splits.py",
    ),
    Mutant(
        "splits of causes: a cause is responsible for all ones of its rows",
        "models/noisy_or/splits.py",
        "ones = dense.theta[k] * dense.x[rows] / dense.level[rows]",
        "ones = dense.x[rows]",
        "tests/models/noisy_or/test_splits.py",
    ),
    Mutant(
        "ordered levels: cuts are pulled the wrong way",
        "models/likelihoods/ordered_logit.py",
        "0.5 * (of_two[:, :-1] - of_two[:, 1:])",
        "0.5 * (of_two[:, 1:] - of_two[:, :-1])",
        "tests/models/likelihoods/test_ordered_logit.py",
    ),
    Mutant(
        "ordered levels: levels between two cuts have no width",
        "models/likelihoods/ordered_logit.py",
        "return np.concatenate([end, np.where(self.shares[:, 1:] > 0, inner, 0.0), end], axis=1)",
        "return np.concatenate([end, 0.0 * inner, end], axis=1)",
        "tests/models/likelihoods/test_ordered_logit.py",
    ),
    Mutant(
        "counts above a number: weights of rows are forgotten",
        "core/rows.py",
        "weight = None if self.weight is None else np.repeat(host(self.weight).astype(float), d)",
        "weight = None",
        "tests/core/test_rows.py tests/contract/test_statistics.py -k 'counts_above or views-counts'",
    ),
    Mutant(
        "the spread of a column leaves out what is not known of its row",
        "estimators/answers.py",
        "unseen = Rows(blank, blank > 0)",
        "unseen = Rows(blank)",
        "tests/docs/test_add_a_model.py -k fits_streams",
    ),
)
