"""Document 003: sparse factors behind several views of the same rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

import latens
from latens.array import Floats
from latens.datasets import ViewTruth, make_multiview
from latens.experiments.against_print import multi_view as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.feature_pictures import unscrolled
from latens.experiments.mofapy2_peer import Factors, is_installed, mofapy2_factors
from latens.experiments.printed import sparse_factors as printed
from latens.metrics import source_correlation
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, bar_chart, heat_map, line_chart

__all__ = ["EXPERIMENT"]

MIXED = ("gaussian", "bernoulli", "poisson")
MOST_FEATURES = 60  # columns of the picture of loadings
COLUMNS = (
    *("data", "method", "factor correlation", "support AUROC", "the same, factors known"),
    *("factors", "CPU seconds", "falls of the bound"),
)


@dataclass(frozen=True)
class Settings:
    n_samples: int = 500
    n_features: tuple[int, ...] = (1000, 500)  # Gaussian views
    n_mixed: tuple[int, ...] = (500, 300, 300)  # a Gaussian, a binary and a count view
    n_factors: int = 5
    upper_bound: int = 10  # factors to start from
    missing: float = 0.2  # of the entries, and of whole views
    n_data_sets: int = 3


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    kinds = ("gaussian",) * len(settings.n_features)
    cases: dict[str, dict[str, Any]] = {
        "complete": {"n_features": settings.n_features, "likelihoods": kinds},
        "entries missing": {"n_features": settings.n_features, "likelihoods": kinds, "missing": settings.missing},
        "views missing": {"n_features": settings.n_features, "likelihoods": kinds, "missing_views": settings.missing},
        "dense loadings": {"n_features": settings.n_features, "likelihoods": kinds, "sparsity": 1.0},
        "mixed": {"n_features": settings.n_mixed, "likelihoods": MIXED},
    }
    methods = ("latens", "mofapy2") if is_installed() else ("latens",)
    rows: list[tuple[str | float, ...]] = []
    shown: dict[str, tuple[ViewTruth, Any]] = {}
    for case, options in cases.items():
        scores: dict[str, list[tuple[float, ...]]] = {method: [] for method in methods}
        for _ in range(settings.n_data_sets):
            seed = int(rng.integers(2**31))
            views, truth = make_multiview(
                settings.n_samples, n_factors=settings.n_factors, random_state=seed, **options
            )
            known = _support(_regressed(views, truth), truth)
            for method in methods:
                progress(f"{case}, {method}")
                found, model = _fit(method, views, truth, settings.upper_bound, seed)
                scores[method].append(_judge(found, truth, known))
                if model is not None:
                    shown.setdefault(case, (truth, model))
        rows += [(case, method, *np.mean(scores[method], axis=0)) for method in methods]
    contest = Numbers.of("recovery", COLUMNS, rows)
    explained = _explained(shown["mixed"][1])
    figures = (_loadings(*shown["complete"]), _variance(shown), _bounds(shown))
    progress("the print beside its correction")
    beside = against.log_odds(120, 40, settings.n_factors, 40, rng), against.plug_in(40, 6, rng)
    return Result((contest, explained), figures, _notes(contest, methods)).beside(
        *beside, claims=_claims(shown["complete"][1])
    )


def _claims(model: Any) -> tuple[Claim, ...]:
    """What can be said without a run of the print, `model` being fitted to complete Gaussian views."""
    return (
        Claim(
            "section 0.1.4, q(w_hat, s)",
            "(lambda)^s (1 − lambda)^(1 − s)",
            "lambda is a log odds and may be any number; the probability gamma belongs there",
            "error in the print",
        ),
        Claim(
            "section 0.1.4, q(z)",
            "q(z_nk) factorised over the factors, logit for the chance that a loading is there",
            "the updates of means and variances are right (a test). Here the factors of a row are jointly Gaussian "
            f"where no entry is missing: a bound that is {number(_joint_gain(model))} nats higher at the loadings "
            "found, at the same cost; q(s) is the logistic of its log odds as in the print",
            "agrees in part",
        ),
    )


def _joint_gain(model: Any) -> float:
    """Nats that the bound loses by factors that are independent given the row, at point loadings and noise.

    Of a Gaussian of precision P the best independent one has the variances 1 / P_kk.
    """
    precision = np.eye(model.n_components_)
    for view, loadings in model.components_.items():
        precision = precision + (loadings / model.noise_variance_[view]) @ loadings.T
    lost = np.log(np.diagonal(precision)).sum() - np.linalg.slogdet(precision)[1]
    return 0.5 * len(model.scores_) * float(lost)


def _fit(method: str, views: Mapping[str, Floats], truth: ViewTruth, k: int, seed: int) -> tuple[Factors, Any]:
    if method == "mofapy2":
        return mofapy2_factors(views, truth.likelihoods, k, seed), None
    clock = time.process_time()
    model = latens.MultiViewFactorAnalysis(k, likelihoods=truth.likelihoods, random_state=seed).fit(views)
    seconds = time.process_time() - clock
    return Factors(model.scores_, model.components_, model.elbo_history_, seconds), model


def _regressed(views: Mapping[str, Floats], truth: ViewTruth) -> Factors:
    """Least squares on the true factors: what loadings the noise leaves to be found."""
    design = np.column_stack([truth.codes, np.ones(len(truth.codes))])
    components = {}
    for name, view in views.items():
        columns = []
        for column in view.T:
            there = np.isfinite(column)
            columns.append(np.linalg.lstsq(design[there], column[there], rcond=None)[0][:-1])
        components[name] = np.stack(columns, axis=1)
    return Factors(truth.codes, components, np.zeros(0), 0.0)


def _judge(found: Factors, truth: ViewTruth, known: float) -> tuple[float, ...]:
    """Correlation of factors, area under the ROC of their supports, living factors, time, falls of the bound."""
    used = sum(np.sum(w**2, axis=1) for w in found.components.values()) * np.mean(found.scores**2, axis=0)
    falls = np.sum(np.diff(found.elbo) < -1e-9 * np.abs(found.elbo[1:]))
    return (
        source_correlation(found.scores, truth.codes),
        _support(found, truth),
        known,
        float(np.sum(used > 1e-3 * used.sum())),
        found.seconds,
        float(falls),
    )


def _support(found: Factors, truth: ViewTruth) -> float:
    """Mean chance that a loading which is there is larger than one which is not; 1 where none is 0."""
    match = latens.metrics.match_components(found.scores.T, truth.codes.T, signed=True)
    areas = []
    for view, loadings in truth.components.items():
        for k, true in enumerate(loadings):
            there = true != 0
            if not 0 < there.sum() < len(there) or match.index[k] < 0:
                continue
            ranks = rankdata(np.abs(found.components[view][match.index[k]]))
            n = int(there.sum())
            areas.append((ranks[there].sum() - n * (n + 1) / 2) / (n * (len(there) - n)))
    return float(np.mean(areas)) if areas else 1.0


def _loadings(truth: ViewTruth, model: Any) -> Section:
    """The same features, as they are and as they were found, factors in the order of the truth."""
    view = next(iter(truth.components))
    match = latens.metrics.match_components(model.scores_.T, truth.codes.T, signed=True)
    true = truth.components[view][:, :MOST_FEATURES]
    there = match.index >= 0
    found = np.where(there[:, None], match.sign[:, None] * model.components_[view][match.index, :MOST_FEATURES], 0.0)
    scale = Scale.of(true, found)
    rows = [f"factor {k}" for k in range(len(true))]
    figures = []
    texts = {"true": "True loadings", "found": "Loadings found, factors in that order"}
    for (name, text), values in zip(texts.items(), (true, found), strict=True):
        chart = heat_map(values, rows, None, scale)
        caption = f"{text}: the first {values.shape[1]} features of the first view."
        figures.append(Figure(chart, caption, wide=True, name=f"loadings-{name}", drawing=unscrolled(chart)))
    return Section("Sparsity", figures=tuple(figures))


def _variance(shown: Mapping[str, tuple[ViewTruth, Any]]) -> Section:
    figures = []
    for case in ("complete", "mixed"):
        model = shown[case][1]
        values = model.explained_["per_factor"][0]
        rows = [f"{view} ({truth})" for view, truth in model.likelihoods_.items()]
        for view, shares in zip(rows, values, strict=True):
            chart = bar_chart(
                [f"factor {k}" for k in range(len(shares))],
                shares,
                label=f"{view}: share of variance explained",
                reach=float(values.max()),
            )
            name = f"explained-{case}-{view.split()[0]}"
            figures.append(Figure(chart, f"{case.capitalize()} data, {view}: what each factor explains.", name=name))
    return Section("Variance explained", figures=tuple(figures))


def _bounds(shown: Mapping[str, tuple[ViewTruth, Any]]) -> Section:
    figures = []
    for case, (_, model) in shown.items():
        history = np.asarray(model.elbo_history_)
        chart = line_chart([Line(np.arange(1, len(history) + 1), history)], x_label="iteration", y_label="bound (nats)")
        caption = f"The bound, {case}. A jump is a move that raised it: a factor deleted, added or exchanged."
        figures.append(Figure(chart, caption, name=f"bound-{case.replace(' ', '-')}"))
    return Section("The bound", figures=tuple(figures))


def _explained(model: Any) -> Numbers:
    shares, totals = model.explained_["per_factor"][0], model.explained_["total"][0]
    columns = ("view", "likelihood", "total", *(f"factor {k}" for k in range(shares.shape[1])))
    kinds = model.likelihoods_
    rows = [(view, kinds[view], totals[m], *shares[m]) for m, view in enumerate(kinds)]
    return Numbers.of("explained", columns, rows)


def _notes(contest: Numbers, methods: tuple[str, ...]) -> tuple[str, ...]:
    ours = [row for row in contest.rows if row[1] == "latens"]
    worst = min(ours, key=lambda row: float(row[2]))
    first = (
        f"The factors correlate at least {float(worst[2]):.3f} with the truth ({worst[0]}), and the bound fell "
        f"{sum(float(row[-1]) for row in ours):g} times."
    )
    if len(methods) > 1:
        theirs = [row for row in contest.rows if row[1] == "mofapy2"]
        worst = min(theirs, key=lambda row: float(row[2]))
        first += f" Those of mofapy2 with its defaults correlate at least {float(worst[2]):.3f} ({worst[0]})."
    else:
        first += " mofapy2 is not installed, so nothing stands beside it."
    return (
        first,
        "What the document's printed updates and its likelihood give stands beside ours below.",
    )


EXPERIMENT = Experiment(
    name="multi-view",
    title="sparse factors shared by several views, Gaussian, binary and counts",
    document="003",
    place="the model and its updates",
    about=(
        "Views are drawn from known sparse factors: complete, with entries or whole views missing, with dense "
        "loadings, and with binary and count views. Lists how well factors and their supports are found, beside "
        "mofapy2 where it is installed, and draws true and found loadings, the variance explained by view and factor, "
        "and the bound."
    ),
    settings=Settings(),
    quick=Settings(n_samples=150, n_features=(80, 60), n_mixed=(60, 50, 50), n_factors=3, upper_bound=6, n_data_sets=1),
    run=run,
    printed=Print((printed.LISTING,), against.run_print),
    graph="multi-view",
)
