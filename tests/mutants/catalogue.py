"""Bugs to plant, one at a time, and the tests that must notice each of them.

A line of the library is exchanged for a wrong one that still runs. Where such a bug passes the named tests, a test is
missing. Add a row with every fault that was found by other means than a test.
"""

from __future__ import annotations

from tests.mutants.array_bugs import ARRAY
from tests.mutants.candidate_bugs import CANDIDATES_AND_LEVELS
from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]


FAMILIES = (
    Mutant(
        "Beta: the divergence loses its normaliser",
        "families/beta.py",
        "gap + other._betaln - self._betaln",
        "gap - other._betaln + self._betaln",
        "tests/families/test_beta_and_gamma.py",
    ),
    Mutant(
        "Gamma: a posterior precision forgets the half of its squares",
        "families/gamma.py",
        "self.shape + 0.5 * count, self.rate + 0.5 * squares",
        "self.shape + 0.5 * count, self.rate + squares",
        "tests/families/test_beta_and_gamma.py tests/families/test_regression.py",
    ),
    Mutant(
        "Gamma: draws of a vague precision are zero",
        "families/gamma.py",
        "np.maximum(rng.gamma(self.shape, 1 / self.rate), SMALLEST_DRAW)",
        "np.asarray(rng.gamma(self.shape, 1 / self.rate))",
        "tests/families/test_beta_and_gamma.py",
    ),
    Mutant(
        "Dirichlet: the normaliser forgets the sum",
        "families/dirichlet.py",
        "np.sum(gammaln(self.concentration)) - gammaln(self.concentration.sum())",
        "np.sum(gammaln(self.concentration))",
        "tests/contract/test_bound.py -k mixture-full-dirichlet",
    ),
    Mutant(
        "stick breaking: alpha is not pulled by the breaks",
        "families/sticks.py",
        "rate = self.alpha.rate - np.sum(breaks.mean_log[1])",
        "rate = self.alpha.rate - np.sum(breaks.mean_log[0])",
        "tests/contract/test_bound.py -k mixture-full-process",
    ),
    Mutant(
        "Normal-Gamma: the likelihood takes loadings for certain",
        "families/normal_gamma.py",
        "return float(0.5 * (noisy - self._copies(uncertain) * np.sum(uncertain)))",
        "return float(0.5 * noisy)",
        "tests/families/test_regression.py",
    ),
    Mutant(
        "Normal-Wishart: a posterior forgets that its mean has moved",
        "array/kernels/normal_wishart_numba.py",
        "about = known[i, j] - pull * mean[c, j]",
        "about = 0.0",
        "tests/contract/test_bound.py -k mixture-full-dirichlet",
    ),
    Mutant(
        "Normal-Wishart: a new row follows a Student t of one degree more",
        "families/normal_wishart.py",
        "dof = np.broadcast_to(self.dof + 1 - self.mean.shape[1], self.strength.shape)",
        "dof = np.broadcast_to(self.dof + 2 - self.mean.shape[1], self.strength.shape)",
        "tests/exact/test_mixture.py -k predictive",
    ),
    Mutant(
        "spike and slab: a coefficient that is off has no size",
        "families/spike_slab.py",
        "self.square.sum(axis=0) + (len(self.on) - self.used) * self.idle",
        "self.square.sum(axis=0)",
        "tests/families/test_spike_slab.py tests/contract/test_bound.py -k 'spike or views-gaussian'",
    ),
    Mutant(
        "least squares: the density has the noise the wrong way round",
        "families/point_normal_gamma.py",
        "like(np.log(tau) - LOG_2PI, x)",
        "like(-np.log(tau) - LOG_2PI, x)",
        "tests/contract/test_answers.py -k binary-ml",
    ),
)

MODELS = (
    Mutant(
        "binary factors: codes that are off are not counted",
        "models/binary_factors/model.py",
        "            usage=prior.usage.observe(stats.on, np.maximum(stats.n - stats.on, 0.0)),",
        "            usage=prior.usage.observe(stats.on, stats.n + 0.0 * stats.on),",
        "tests/contract/test_bound.py -k binary-ml-exact",
    ),
    Mutant(
        "binary factors: causes of wide rows cost as if the table had no more columns than rows",
        "families/relevance.py",
        "self.alpha.observe(moved.weights.n_columns, moved._sizes)",
        "self.alpha.observe(moved.mean.shape[1], moved._sizes)",
        "tests/models/binary_factors/test_row_space.py",
    ),
    Mutant(
        "binary factors: what a start of wide rows has beyond them is left out",
        "models/binary_factors/row_space.py",
        "mean[:, self.axes.shape[1] :][:, : len(beyond)] = beyond.T",
        "pass",
        "tests/models/binary_factors/test_row_space.py",
    ),
    Mutant(
        "binary factors: the entropy counts twice",
        "models/binary_factors/model.py",
        '"entropy": stats.entropy,',
        '"entropy": 2 * stats.entropy,',
        "tests/contract/test_bound.py -k binary-ard-exact",
    ),
    Mutant(
        "noisy-OR: a row's bound lacks the logarithm of its states' mass",
        "models/noisy_or/model.py",
        "(top + xp.log(total_weight))[:, 0]",
        "top[:, 0]",
        "tests/contract/test_statistics.py tests/contract/test_bound.py -k noisy-or-ml-exact",
    ),
    Mutant(
        "noisy-OR: weights of rows are forgotten where entries are missing",
        "models/noisy_or/model.py",
        "host(batch.weigh(local.mean).T @ batch.mask)",
        "host(local.mean.T @ batch.mask)",
        "tests/contract/test_statistics.py -k noisy-or-ard-exact",
    ),
    Mutant(
        "noisy ICA: the second moment is the covariance alone",
        "models/noisy_ica/posteriors.py",
        "return moment_pairs(full, self.spread.matrix, products)",
        "return moment_pairs(0 * full, self.spread.matrix, products)",
        "tests/contract/test_bound.py -k ica-heavy",
    ),
    Mutant(
        "noisy ICA: tails are priced without their normaliser",
        "models/noisy_ica/posteriors.py",
        "half * np.log(half) - host_gammaln(half) - 0.5 * LOG_2PI",
        "half * np.log(half) - 0.5 * LOG_2PI",
        "tests/contract/test_bound.py -k ica-heavy",
    ),
    Mutant(
        "factor analysis: the centre ignores what factors explain",
        "models/factor_analysis/model.py",
        "center = (stats.x - np.sum(q.loadings.mean * stats.z, axis=0)) / seen",
        "center = stats.x / seen",
        "tests/contract/test_bound.py -k factors-ml",
    ),
    Mutant(
        "factor analysis: an imputed entry is as sure as its loadings",
        "models/factor_analysis/model.py",
        "(square - shift**2) + like(noise, batch.x)",
        "square - shift**2 + 0 * like(noise, batch.x)",
        "tests/exact/test_factor_analysis.py",
    ),
    Mutant(
        "views: relevance of factors sees the wrong number of rows",
        "models/multi_view/model.py",
        "prior.activity.observe(sizes, stats.squares)",
        "prior.activity.observe(2 * sizes, stats.squares)",
        "tests/contract/test_bound.py -k views-groups",
    ),
    Mutant(
        "views: a group's entropy is not weighted",
        "models/multi_view/codes.py",
        "total(rows.weigh(self._each(self.volume)))",
        "total(self._each(self.volume))",
        "tests/contract/test_statistics.py -k views-groups",
    ),
    Mutant(
        "counts: the bound forgets y!",
        "models/likelihoods/counts.py",
        "rows.seen) - _log_factorials(rows)",
        "rows.seen)",
        "tests/contract/test_bound.py -k views-common-counts",
    ),
    Mutant(
        "counts: a dispersion goes on as if its parabolas stayed where they are",
        "models/likelihoods/counts.py",
        "off + 2 * gap * moved + narrower",
        "off",
        "tests/models/likelihoods/test_counts.py -k slope",
    ),
    Mutant(
        "counts: gamma noise is answered with the means of log-normal noise",
        "models/likelihoods/counts.py",
        "shift if self.shift is None else shift + self.shift",
        "shift",
        "tests/models/likelihoods/test_counts.py -k answers",
    ),
    Mutant(
        "binary views: the response of a one is that of a zero",
        "models/likelihoods/bernoulli.py",
        "masked(rows.x - 0.5, rows.seen)",
        "masked(0.5 - rows.x, rows.seen)",
        "tests/exact/test_multi_view.py",
    ),
    Mutant(
        "regression: weights are charged without their spread",
        "models/linear_regression.py",
        "sizes = float(q.mean @ q.mean + q.total_variance)",
        "sizes = float(q.mean @ q.mean)",
        "tests/exact/test_linear_regression.py",
    ),
    Mutant(
        "mixture: clusters are taken for equally common",
        "models/mixture/features.py",
        "density += like(log_weights, x)",
        "density += like(0 * log_weights, x)",
        "tests/contract/test_bound.py -k mixture-diag-dirichlet",
    ),
    Mutant(
        "noisy-OR: pairs of columns that a new cause explains begin another",
        "models/noisy_or/new_causes.py",
        "expected = expected + np.outer(size, size)",
        "expected = expected + 0.0",
        "tests/models/noisy_or/test_new_causes.py",
    ),
    Mutant(
        "noisy-OR: pairs that the causes explain speak for new ones",
        "models/noisy_or/new_causes.py",
        "expected = pairs.seen * _expected_pairs(q, pairs.columns)",
        "expected = np.outer(np.diagonal(pairs.ones), np.diagonal(pairs.ones)) / pairs.n",
        "tests/models/noisy_or/test_new_causes.py",
    ),
)

INFERENCE = (
    Mutant(
        "annealing: chains start from codes that are not counted",
        "models/binary_factors/model.py",
        "return len(batch) * q.n_components * float(np.log(2))",
        "return 0.0",
        "tests/inference/uncertainty/test_annealing.py -k binary",
    ),
    Mutant(
        "annealing: the density of weights forgets their scale",
        "families/relevance.py",
        "return float(noise.sum() + scales + np.sum(self.alpha.log_integral(d, sizes)))",
        "return float(noise.sum() + np.sum(self.alpha.log_integral(d, sizes)))",
        "tests/families/test_regression.py",
    ),
    Mutant(
        "annealing: firings are counted as if causes that are off could fire",
        "models/noisy_or/sampling.py",
        "np.log(2.0 ** (1 + on) - 1)",
        "np.log(2.0 ** (1 + k) - 1)",
        "tests/inference/uncertainty/test_annealing.py -k noisy",
    ),
    Mutant(
        "the bound may fall without a warning",
        "inference/ascent.py",
        "if gain < -slack * max(size, 1.0):",
        "if gain < -1e9 * max(size, 1.0):",
        "tests/inference/test_ascent.py",
    ),
    Mutant(
        "an interrupted fit does not say that it was interrupted",
        "inference/ascent.py",
        "        interrupted = True",
        "        interrupted = False",
        "tests/inference/test_ascent.py",
    ),
    Mutant(
        "a stream forgets its older rows",
        "inference/online.py",
        "return fresh if total is None else self.forget * total + fresh",
        "return fresh",
        "tests/inference/test_online.py tests/contract/test_statistics.py -k 'online or binary-ard-exact'",
    ),
    Mutant(
        "stochastic steps do not count a batch as all rows",
        "inference/online.py",
        "scaled = (self.n_rows / fresh.n) * fresh",
        "scaled = fresh",
        "tests/contract/test_statistics.py -k binary-ard-exact",
    ),
    Mutant(
        "moves compare bounds without what they are known to miss",
        "inference/search/moves.py",
        "return fit.elbo + looseness(fit.state.q)",
        "return fit.elbo",
        "tests/inference/search/test_restarts_and_moves.py",
    ),
    Mutant(
        "a bad leap of the local fixed point is never taken back",
        "inference/local_fixed_point.py",
        "mean = xp.where((size <= last)[:, None], mean, origin)",
        "mean = xp.where((size <= xp.inf)[:, None], mean, origin)",
        "tests/inference/test_local_fixed_point.py",
    ),
    Mutant(
        "of several starts the last wins",
        "inference/search/moves.py",
        "best = max(fits, key=lambda fit: fit.elbo)",
        "best = fits[-1]",
        "tests/inference/search/test_restarts_and_moves.py",
    ),
    Mutant(
        "the bound is reported in the model's units",
        "inference/ascent.py",
        "scale = -float(np.sum(log_scale * stats.entries))",
        "scale = 0.0 * float(np.sum(log_scale * stats.entries))",
        "tests/inference/test_ascent.py tests/estimators/conventions/test_invariance.py -k 'ascent or unit_of'",
    ),
)

ESTIMATORS = (
    Mutant(
        "shares of levels add up to more than 1 where one was negative",
        "estimators/associations/class_means.py",
        "shown = shown / shown.sum(axis=0)",
        "shown = np.minimum(shown, 1.0)",
        "tests/estimators/associations/test_class_means.py",
    ),
    Mutant(
        "associations: few rows of a cluster are sure of their own spread",
        "estimators/associations/class_means.py",
        "better = (n * tell * own + PRIOR_ROWS * pooled) / degrees",
        "better = own",
        "tests/estimators/associations/test_class_means.py -k one_of_twenty",
    ),
    Mutant(
        "associations: a cluster that was not measured is described by small weights on the others",
        "estimators/associations/assigned.py",
        "np.minimum(mass**2 / np.maximum(squares, np.finfo(float).tiny), expected)",
        "mass**2 / np.maximum(squares, np.finfo(float).tiny)",
        "tests/estimators/associations/test_class_means.py -k small_weights",
    ),
    Mutant(
        "associations: odds without end are certain",
        "estimators/associations/class_odds.py",
        "spread_with_drift(np.maximum(robust, by_curvature), robust, together)",
        "spread_with_drift(robust, robust, together)",
        "tests/estimators/associations/test_class_odds.py",
    ),
    Mutant(
        "permutations: tails go on as the reference has them",
        "estimators/associations/permutations.py",
        "np.exp(-rate * np.maximum(u - v, 0.0))",
        "np.exp(-np.maximum(u - v, 0.0))",
        "tests/estimators/associations/test_permutations.py",
    ),
    Mutant(
        "scores are densities in the model's units",
        "estimators/answers.py",
        "return (density - self._units.log_volume(rows),)",
        "return (density,)",
        "tests/estimators/conventions/test_invariance.py -k unit_of",
    ),
    Mutant(
        "imputation writes over observed entries",
        "estimators/answers.py",
        "return _as_given(xp.where(xp.isnan(given), wide, here), X)",
        "return _as_given(wide, X)",
        "tests/estimators/conventions/test_conventions.py -k imputation",
    ),
    Mutant(
        "components are published the least important first",
        "estimators/base.py",
        'order = np.argsort(-importance, kind="stable")',
        'order = np.argsort(importance, kind="stable")',
        "tests/estimators/conventions/test_conventions.py -k order_of_their_shares",
    ),
    Mutant(
        "a warm start begins anew",
        "estimators/base.py",
        "return len(self._units.origin) == data.n_columns and self._asked() == self._question",
        "return False",
        "tests/estimators/conventions/test_conventions.py -k warm_start",
    ),
    Mutant(
        "the sample does not see weights",
        "estimators/rows/sampling.py",
        'np.cumsum(self.entries["weight"][order])',
        "np.arange(1.0, len(order) + 1)",
        "tests/estimators/rows/test_units_and_sampling.py",
    ),
    Mutant(
        "rows of large hash are left out of the sketch before it is full",
        "estimators/rows/sampling.py",
        "return entries if len(self.entries) < SKETCH else entries[",
        "return entries[",
        "tests/estimators/rows/test_sampling.py",
    ),
    Mutant(
        "missing entries take part in the unit of the rows",
        "estimators/rows/units.py",
        "gaps = gaps if block.seen is None else gaps * block.mask",
        "gaps = gaps * 1",
        "tests/estimators/rows/test_units_and_sampling.py",
    ),
    Mutant(
        "a fit that fails leaves its half behind",
        "estimators/parameters.py",
        "vars(estimator).update(before)",
        "pass",
        "tests/estimators/bad_input/test_bad_input.py",
    ),
    Mutant(
        "axes of clusters cost nothing",
        "estimators/mixtures/cluster_prior.py",
        "price = 0.25 * d * (d - 1) * np.log(len(x)) + LEAST_NATS",
        "price = LEAST_NATS",
        "tests/estimators/mixtures/test_cluster_prior.py -k axes",
    ),
    Mutant(
        "axes of clusters are compared in other units than columns",
        "estimators/mixtures/cluster_prior.py",
        "evidence_of_other += len(x) * np.linalg.slogdet(axes)[1]",
        "evidence_of_other += np.linalg.slogdet(axes)[1]",
        "tests/estimators/mixtures/test_cluster_prior.py",
    ),
    Mutant(
        "rows that a cluster lost to holes and doubtful labels count in what is said of rows",
        "estimators/mixtures/gaussian.py",
        "return self._model.without_rows(q, lost) if of_these else q",
        "return q",
        "tests/estimators/mixtures/test_predictive.py",
    ),
    Mutant(
        "labels that are partly shared go by place without a word",
        "estimators/frames/row_labels.py",
        "if by_chance or (_follow(own) and _follow(rows)):",
        "if shared:",
        "tests/estimators/frames/test_partly_shared_labels.py tests/estimators/frames/test_row_labels.py",
    ),
)

IO_AND_SYSTEM = (
    Mutant(
        "a mark that may be of thousands is taken for that of decimals",
        "intake/numbers/column.py",
        "if not marks or _AMBIGUOUS.fullmatch(core):",
        "if not marks:",
        "tests/intake/test_numbers_in_text.py",
    ),
    Mutant(
        "cells of another unit are numbers of their column",
        "intake/numbers/column.py",
        "return value if cell.mark(self.letters) == self.mark or _is_nothing(cell, self.mark) else None",
        "return value",
        "tests/intake/test_numbers_in_text.py",
    ),
    Mutant(
        "a file's positive numbers may be zero",
        "io/checks/value_checks.py",
        '"positive": lambda x: bool((x > 0).all())',
        '"positive": lambda x: bool((x >= 0).all())',
        "tests/io/refusals/test_hostile_files.py",
    ),
    Mutant(
        "checksums are not compared",
        "io/archive/reading.py",
        'or digest.hexdigest() != entry["sha256"]',
        "",
        "tests/io/refusals/test_damaged_files.py tests/io/refusals/test_hostile_files.py",
    ),
    Mutant(
        "members that nobody declared are let in",
        "io/archive/reading.py",
        "    if strange:",
        "    if False:",
        "tests/io/refusals/test_hostile_files.py",
    ),
    Mutant(
        "the name moves before the bytes are on the disk",
        "system/atomic_write.py",
        "os.fsync(file.fileno())",
        "file.fileno()",
        "tests/io/test_writing.py",
    ),
    Mutant(
        "a probability of a file may exceed one",
        "io/checks/value_checks.py",
        '"unit": lambda x: bool(((x >= 0) & (x <= 1)).all())',
        '"unit": lambda x: bool((x >= 0).all())',
        "tests/io/test_view_files.py tests/io/refusals/test_hostile_files.py",
    ),
)

REPORT = (
    Mutant(
        "labels beside a chart stand upside down",
        "report/charts/svg.py",
        "y = top + (high - place) * y_scale",
        "y = top + (place - low) * y_scale",
        "tests/report/charts",
    ),
    Mutant(
        "bars have the lengths of their neighbours",
        "report/charts/svg.py",
        "length = room * max(float(value), 0.0) / reach",
        "length = room * max(float(values[i - 1]), 0.0) / reach",
        "tests/report/charts",
    ),
    Mutant(
        "names on a page are not escaped",
        "report/charts/svg.py",
        "return name if len(name) <= most else",
        "return Markup(name) if len(name) <= most else",
        "tests/report/charts",
    ),
    Mutant(
        "dark pixels stand for small values",
        "report/charts/images/pixels.py",
        "place = np.clip(np.where(missing, 0.0, values) / self.largest, -1.0, 1.0)",
        "place = 1 - np.clip(np.where(missing, 0.0, values) / self.largest, -1.0, 1.0)",
        "tests/report/charts",
    ),
)

NETS = (
    Mutant(
        "SWAG: half the covariance is lost",
        "nets/algebra/moments.py",
        "np.eye(k, rank) / np.sqrt(2 * (k - 1)), 0.5)",
        "np.eye(k, rank) / np.sqrt(2 * (k - 1)), 0.25)",
        "tests/nets/test_posteriors.py -m ''",
    ),
    Mutant(
        "snapshots: the variance is that about the old mean",
        "nets/algebra/moments.py",
        "return (1 - 1 / n) * (variance + delta * delta / n)",
        "return (1 - 1 / n) * variance + delta * delta / n",
        "tests/nets/langevin/test_langevin.py tests/nets/test_posteriors.py -m ''",
    ),
    Mutant(
        "merged posteriors forget that their means differ",
        "nets/algebra/low_rank_update.py",
        "math.sqrt(share * (1 - share)) * gap[None],",
        "0.0 * gap[None],",
        "tests/nets/test_posteriors.py -m ''",
    ),
    Mutant(
        "Langevin steps inject noise as if gradients had none",
        "nets/langevin/sampler.py",
        "left = 2 * step - step**2 * (1 + loud)",
        "left = 2 * step - step**2 * (1 + 0 * loud)",
        "tests/nets/langevin/test_langevin.py -m ''",
    ),
)

METRICS_AND_DATASETS = (
    Mutant(
        "matching: the opposite direction is found",
        "metrics/matching.py",
        "gain = np.abs(cosines) if signed else cosines",
        "gain = np.abs(cosines)",
        "tests/metrics/test_matching.py",
    ),
    Mutant(
        "coverage: one tail has all the mass",
        "metrics/calibration.py",
        "half = float(ndtri(0.5 + level / 2)) * np.sqrt(variance)",
        "half = float(ndtri(level)) * np.sqrt(variance)",
        "tests/metrics/test_calibration.py",
    ),
    Mutant(
        "divergence of Gaussians: from the second to the first",
        "metrics/gaussians.py",
        "level = b.log_det_covariance - a.log_det_covariance",
        "level = a.log_det_covariance - b.log_det_covariance",
        "tests/metrics/test_gaussians.py",
    ),
    Mutant(
        "made noisy-OR rows: nothing leaks",
        "datasets/noisy_or.py",
        "dark = (1 - truth.leak) * np.exp(",
        "dark = np.exp(",
        "tests/datasets/test_noisy_or.py",
    ),
    Mutant(
        "made clusters: covariances are those of other clusters",
        "datasets/clusters.py",
        "rows = means[labels] + (roots[labels] @",
        "rows = means[labels] + (roots[::-1][labels] @",
        "tests/datasets/test_clusters.py",
    ),
)

MUTANTS: tuple[Mutant, ...] = (
    *FAMILIES, *MODELS, *INFERENCE, *ESTIMATORS, *IO_AND_SYSTEM, *REPORT, *NETS, *METRICS_AND_DATASETS, *ARRAY,
    *CANDIDATES_AND_LEVELS,
)  # fmt: skip
