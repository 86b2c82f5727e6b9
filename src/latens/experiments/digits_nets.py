"""Document 002's purpose on a classification: posteriors over the weights of nets that read digits.

Nets and posteriors are those of `uci_nets`; the images are the 1,797 digits of 8 x 8 that scikit-learn holds. Half of
them, drawn anew for each split, are learnt from. As every method has its own scale of the noise there, it has its own
temperature here: probabilities to the power of 1 / T, with the T that suits rows left out best. Without it, what merely
makes a net less sure would pass for knowledge of its weights. Of the last layer, how much of its covariance is taken is
chosen with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from latens.estimators.comparisons.peers import digits
from latens.experiments.collected_weights import (
    KINDS,
    LAST_LAYER,
    METHODS,
    SEVERAL,
    SINGLE,
    Collection,
    cost_table,
    last_layer_deviations,
)
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.experiments.small_nets import Data, Nets, outputs
from latens.metrics import best_temperature, expected_calibration_error, tempered
from latens.report import Figure, Section
from latens.report.charts.intervals import interval_chart
from latens.report.charts.numbers import number
from latens.system.optional_imports import require

__all__ = ["EXPERIMENT"]

PLAIN = {"SGD": "SGD, T = 1", "several SGD": "several SGD, T = 1"}  # as they come from the training
COMPARED = (*METHODS, *PLAIN.values())


@dataclass(frozen=True)
class Settings:
    n_hidden: int = 50
    n_epochs: int = 60  # at the full rate
    n_cool: int = 40  # epochs over which the rate falls to that of collecting
    n_collect: int = 60  # epochs with a snapshot after each; of SGD, the rate falls to 0 over these and those before
    rate: float = 0.1
    collect_rate: float = 0.05
    decay: float = 1e-4
    batch_size: int = 32
    rank: int = 20
    swag_rank: int = 20
    n_members: int = 3
    n_splits: int = 10
    n_folds: int = 2
    n_draws: int = 30
    scales: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the last layer's covariance; 1 elsewhere
    n_rows: int = 1797


class Answers(NamedTuple):
    """What one method says of the test images of every split."""

    heights: np.ndarray  # (splits,), log-likelihood of an image
    calibration: np.ndarray  # (splits,), expected calibration error
    errors: np.ndarray  # (splits,), share of images misread
    scales: np.ndarray  # (splits,), the scale of the covariance that counts
    temperatures: np.ndarray  # (splits,)


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    require("torch", "torch")
    images, labels = _digits(settings, rng)
    seen: dict[str, list[tuple[float, ...]]] = {method: [] for method in COMPARED}
    costs: list[tuple[str, str, float, float]] = []
    for split in range(settings.n_splits):
        progress(f"split {split + 1} of {settings.n_splits}")
        for method, answer in _split(settings, images, labels, rng, costs).items():
            seen[method].append(answer)
    answers = {method: Answers(*np.array(values).T) for method, values in seen.items()}
    notes = _notes(answers, settings)
    return Result(
        tables=(_summary(answers), _pairs(answers), cost_table(_averaged(costs)), _each(answers)),
        figures=(_figures(answers),),
        notes=notes,
        claims=(
            Claim(
                "title",
                "MultiSWAG is to be extended by factor analysis; no classification is in the text",
                notes[0],
                "no result in the document",
            ),
        ),
    )


def _digits(settings: Settings, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    images, labels = digits()
    chosen = rng.permutation(len(labels))[: settings.n_rows]
    return images[chosen], labels[chosen]


def _split(
    settings: Settings,
    images: np.ndarray,
    labels: np.ndarray,
    rng: np.random.Generator,
    costs: list[tuple[str, str, float, float]],
) -> dict[str, tuple[float, ...]]:
    """Numbers of every method on one half of the images, learnt from the other."""
    torch = require("torch", "torch")
    source = torch.Generator().manual_seed(int(rng.integers(2**31)))
    order = rng.permutation(len(labels))
    test, train = order[: len(order) // 2], order[len(order) // 2 :]
    fold = np.full(len(labels), -1)
    fold[train] = 1 + np.arange(len(train)) % settings.n_folds
    groups = settings.n_folds + 1
    learnt = np.repeat([(fold != f) & (fold >= 0) for f in range(groups)], settings.n_members, axis=0)
    x = np.repeat(images[None].astype(np.float32), len(learnt), axis=0)
    data = Data.of(x, np.repeat(np.eye(10, dtype=np.float32)[labels][None], len(learnt), axis=0), learnt)
    draws, collection = _trained(settings, data, source)
    costs += collection.costs("digits")
    places = [test, *(np.flatnonzero(fold == f) for f in range(1, groups))]
    answers: dict[str, tuple[float, ...]] = {}
    for kind in SINGLE:
        scales = settings.scales if kind == LAST_LAYER else (1.0,)
        answered = [
            [_predictions(draws[kind], scales, net, data, rows, settings.n_hidden) for net in members]
            for members, rows in zip(np.arange(len(learnt)).reshape(groups, -1), places, strict=True)
        ]  # log probabilities (scales, rows, classes), averaged over the draws of each net
        for method, n_mixed in ((kind, 1), (SEVERAL[kind], settings.n_members)):
            mixed = [logsumexp(group[:n_mixed], axis=0) - np.log(n_mixed) for group in answered]
            targets = [labels[rows] for rows in places]
            answers[method] = _chosen(mixed, targets, scales)
            if method in PLAIN:
                answers[PLAIN[method]] = _chosen(mixed, targets, scales, at_one=True)
    return answers


def _trained(settings: Settings, data: Data, source: Any) -> tuple[dict[str, Any], Collection]:
    """For each kind mean (M, 1, weights) and deviations (M, draws, weights)."""
    torch = require("torch", "torch")
    m, _, d = data.x.shape
    nets = Nets.random(m, d, settings.n_hidden, source, n_outputs=data.y.shape[2])
    per_epoch = max(1, int(data.counts[0]) // settings.batch_size)
    steps = {name: getattr(settings, name) * per_epoch for name in ("n_epochs", "n_cool", "n_collect")}
    options: Any = {"batch_size": settings.batch_size, "source": source, "decay": settings.decay}
    nets.train(data, np.full(steps["n_epochs"], settings.rate), **options)
    falling = settings.rate * np.linspace(1, 0, steps["n_cool"] + steps["n_collect"], endpoint=False)
    fallen = nets.copy().train(data, falling, **options)
    nets.train(data, np.linspace(settings.rate, settings.collect_rate, steps["n_cool"]), **options)
    collection = Collection(nets, settings.rank, settings.swag_rank)
    held = np.full(steps["n_collect"], settings.collect_rate)
    nets.train(data, held, per_epoch=per_epoch, after_epoch=collection.take, **options)
    points = fallen.vectors()[:, None]
    last = last_layer_deviations(fallen, data, settings.decay, settings.n_draws, source)
    own = {"SGD": (points, torch.zeros_like(points)), LAST_LAYER: (points, last)}
    return {**own, **collection.draws(settings.n_draws, source)}, collection


def _predictions(
    made: tuple[Any, Any], scales: tuple[float, ...], net: int, data: Data, rows: np.ndarray, hidden: int
) -> np.ndarray:
    """(scales, rows, classes): log probabilities, averaged over one net's draws."""
    torch = require("torch", "torch")
    mean, deviations = made[0][net], made[1][net]
    x, found = data.x[net][torch.as_tensor(rows)], []
    for scale in scales:
        logits = outputs(mean + scale**0.5 * deviations, x, hidden)
        each = logits - logsumexp(logits, axis=2, keepdims=True)
        found.append(logsumexp(each, axis=0) - np.log(len(each)))
    return np.stack(found)


def _chosen(
    log_p: list[np.ndarray], targets: list[np.ndarray], scales: tuple[float, ...], *, at_one: bool = False
) -> tuple[float, ...]:
    """Numbers of the first group's rows, with the scale and the temperature that suit the others best."""
    left_out, y = np.exp(np.concatenate(log_p[1:], axis=1)), np.concatenate(targets[1:])
    temperatures = [1.0 if at_one else best_temperature(p, y) for p in left_out]
    heights = [_height(tempered(p, t), y) for p, t in zip(left_out, temperatures, strict=True)]
    s = int(np.argmax(heights))
    p = tempered(np.exp(log_p[0][s]), temperatures[s])
    return (
        _height(p, targets[0]),
        float(expected_calibration_error(p, targets[0])),
        float(np.mean(np.argmax(p, axis=1) != targets[0])),
        float(scales[s]),
        temperatures[s],
    )


def _height(p: np.ndarray, labels: np.ndarray) -> float:
    """Mean log probability of the rows' classes."""
    return float(np.mean(np.log(p[np.arange(len(labels)), labels])))


# what it says


def _summary(answers: dict[str, Answers]) -> Numbers:
    columns = ("method", "log-likelihood of an image (nats)", "calibration error", "misread (%)", "scale", "T")
    rows = [
        (name, a.heights.mean(), a.calibration.mean(), 100 * a.errors.mean(), *map(_middle, (a.scales, a.temperatures)))
        for name, a in ((name, answers[name]) for name in COMPARED)
    ]
    return Numbers.of("summary", columns, rows)


def _middle(values: np.ndarray) -> float:
    return float(np.median(values))


def _gap(answers: dict[str, Answers], one: str, other: str) -> tuple[float, float]:
    """Mean difference of the log-likelihood, and its standard error over the splits."""
    gaps = answers[one].heights - answers[other].heights
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")


def _pairs(answers: dict[str, Answers]) -> Numbers:
    rows = []
    pairs = [(kind, "SGD") for kind in SINGLE[1:]] + [(SEVERAL[kind], "several SGD") for kind in SINGLE[1:]]
    for one, other in [*pairs, *PLAIN.items(), ("several SGD", "SGD")]:
        gap, error = _gap(answers, one, other)
        above = int((answers[one].heights > answers[other].heights).sum())
        shown = error if np.isfinite(error) else ""
        rows.append((one, other, gap, shown, f"{above} of {len(answers[one].heights)}"))
    return Numbers.of("pairs", ("method", "beside", "difference (nats)", "standard error", "splits above 0"), rows)


def _averaged(costs: list[tuple[str, str, float, float]]) -> list[tuple[str, str, float, float]]:
    """Over the splits."""
    kinds = {kind: [row for row in costs if row[1] == kind] for kind in KINDS}
    return [("digits", kind, float(np.mean([row[2] for row in rows])), rows[0][3]) for kind, rows in kinds.items()]


def _each(answers: dict[str, Answers]) -> Numbers:
    rows = [(name, split, *values) for name, a in answers.items() for split, values in enumerate(zip(*a, strict=True))]
    columns = (
        "method",
        "split",
        "log-likelihood of an image (nats)",
        "calibration error",
        "share misread",
        "scale",
        "T",
    )
    return Numbers.of("runs", columns, rows)


def _figures(answers: dict[str, Answers]) -> Section:
    figures = []
    for several in (False, True):
        names = [SEVERAL[kind] if several else kind for kind in SINGLE]
        base = names[0]
        gaps = [_gap(answers, name, base) for name in names[1:]]
        chart = interval_chart(
            names[1:],
            1e3 * np.array([gap for gap, _ in gaps]),
            1e3 * np.array([error for _, error in gaps]),
            label=f"log-likelihood of an image less that of {base} (nats / 1000)",
            tones=[int(name in ("SWAG", "MultiSWAG")) for name in names[1:]],
        )
        trainings = "several trainings" if several else "one training"
        caption = f"Of {trainings}: mean over the splits, with one and two standard errors. Right of 0 is better."
        figures.append(Figure(chart, caption, name="several" if several else "one"))
    for several in (False, True):
        names = [SEVERAL[kind] if several else kind for kind in SINGLE]
        values = [answers[name].calibration for name in names]
        errors = [v.std(ddof=1) / np.sqrt(len(v)) if len(v) > 1 else np.nan for v in values]
        chart = interval_chart(
            names,
            np.array([v.mean() for v in values]),
            np.array(errors),
            label="expected calibration error",
            tones=[int("SWAG" in name) for name in names],
        )
        caption = f"Calibration of {'several trainings' if several else 'one training'}: left is better."
        figures.append(Figure(chart, caption, name=f"calibration-{'several' if several else 'one'}"))
    return Section("Likelihood and calibration", figures=tuple(figures))


def _notes(answers: dict[str, Answers], settings: Settings) -> tuple[str, ...]:
    def over(one: str, other: str) -> str:
        gap, error = _gap(answers, one, other)
        return number(gap) + (f" ({number(error)})" if np.isfinite(error) else "")

    best = max(COMPARED, key=lambda name: answers[name].heights.mean())
    one = ", ".join(f"{kind} {over(kind, 'SGD')}" for kind in SINGLE[1:])
    several = ", ".join(f"{SEVERAL[kind]} {over(SEVERAL[kind], 'several SGD')}" for kind in SINGLE[1:])
    return (
        f"Log-likelihood of an image of one training less that of SGD, with its standard error: {one}. Of "
        f"{settings.n_members} trainings less as many by SGD: {several}.",
        f"The highest log-likelihood is that of {best}, {number(answers[best].heights.mean())} nats an image; several "
        f"plain trainings have {number(answers['several SGD'].heights.mean())}, one has "
        f"{number(answers['SGD'].heights.mean())}.",
        f"The temperature, chosen on rows left out, brings {over('SGD', PLAIN['SGD'])} to one plain training and "
        f"{over('several SGD', PLAIN['several SGD'])} to {settings.n_members}; more trainings than one bring "
        f"{over('several SGD', 'SGD')}.",
    )


EXPERIMENT = Experiment(
    name="digits-nets",
    title="nets that read digits: SGD, SWAG, MultiSWAG and ours, with calibration",
    document="002",
    place="title: MultiSWAG extended, on a classification, which its text does not try",
    about=(
        "Nets with one hidden layer learn half of scikit-learn's digits. Log-likelihood and calibration of the other "
        "half under SGD, SWAG, FactorPosterior, online factor analysis by both algorithms of the document and by "
        "transport, and the posterior of the last layer; of one training and of several, each with the temperature "
        "that suits rows left out best. Needs torch."
    ),
    settings=Settings(),
    quick=Settings(
        n_hidden=20, n_epochs=15, n_cool=10, n_collect=15, rank=5, swag_rank=5, n_members=2, n_splits=2, n_draws=10
    ),
    run=run,
)
