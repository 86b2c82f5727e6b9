"""The page about a posterior of a network's weights: what moved, along how many directions, how its answers fare."""

from __future__ import annotations

import os
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from latens.array.transfer import host
from latens.metrics.calibration import brier, coverage, expected_calibration_error, reliability
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, bar_chart, line_chart
from latens.report.content import Figure, Section, Table
from latens.report.page import write_page

__all__ = ["is_weight_posterior", "write_weights"]

MOST_TENSORS = 200  # rows of the table
MOST_DRAWN = 24
VERDICT = Markup('<li class="{}">{}</li>')
CODE = Markup('<pre class="copied python">{}</pre>')


def is_weight_posterior(model: Any) -> bool:
    """Whether a model is a posterior of `latens.nets`, told without importing torch."""
    return any(cls.__module__.startswith("latens.nets.") for cls in type(model).__mro__)


def write_weights(
    posterior: Any, prediction: Any, path: str | os.PathLike[str], title: str | None = None, y: Any = None
) -> Path:
    """Write the page.

    Parameters
    ----------
    posterior : SWAG, FactorPosterior or MultiPosterior
    prediction : Prediction, optional
        What its `predict` answered about rows.
    path : path-like
    title : str, optional
    y : array of shape (N,), optional
        Classes or targets of those rows.
    """
    if prediction is not None and not hasattr(prediction, "n_samples"):
        raise TypeError(
            f"the page of a posterior takes what its predict answered, not a {type(prediction).__name__}: "
            "latens.report(posterior, posterior.predict(loader), path, y=targets)."
        )
    members = getattr(posterior, "members", [posterior])
    factors, noise = (host(part) for part in posterior.covariance_factors())
    variance = np.sum(factors**2, axis=0) + noise  # (D,)
    heading = title or f"Weights of {type(posterior.module).__name__}"
    n = sum(member.n for member in members)
    shared = float(np.sum(factors**2) / max(float(variance.sum()), np.finfo(float).tiny))
    k = int(np.sum(np.any(factors != 0, axis=1)))
    text = (
        f"{number(len(variance))} weights in {number(len(members[0].selection.names))} tensors · "
        f"{type(posterior).__name__}, {number(n)} snapshots{f' of {len(members)} trainings' * (len(members) > 1)} · "
        f"{date.today().isoformat()}, latens {version('latens')}"
    )
    directions = "direction holds" if k == 1 else "directions hold"
    lead = f"{number(k)} common {directions} {100 * shared:.0f} % of the variance of the weights."
    answers = _answers(prediction, y)
    parts = [_tensors(posterior, members[0], variance), _directions(factors, variance), answers, _again(posterior)]
    chapter = Section(
        heading,
        text,
        lead=lead if k else "No common direction is proven: each weight moves by itself.",
        body=_verdicts(n, k, sum(member.rank for member in members), prediction, y),
        parts=tuple(part for part in parts if part is not None),
    )
    return write_page([chapter], path, heading)


def _verdicts(n: int, k: int, rank: int, prediction: Any, y: Any) -> Markup:
    """A list of what n snapshots, k directions of at most `rank`, and predictions of targets y say of the posterior."""
    enough = n >= 3 * max(k, 1)
    items = [
        VERDICT.format(
            "good" if enough else "doubtful",
            f"{number(n)} snapshots for {number(k)} directions."
            if enough
            else f"Only {number(n)} snapshots: take more.",
        ),
        VERDICT.format(
            "good" if k < rank else "",
            f"{number(k)} of at most {number(rank)} directions are kept."
            if k < rank
            else f"All {number(rank)} directions are kept: raise rank to see whether more are shared.",
        ),
    ]
    if prediction is None or y is None:
        items.append(VERDICT.format("", "Calibration: not looked at; report(posterior, prediction, path, y=targets)."))
    elif hasattr(prediction, "probabilities"):
        error = expected_calibration_error(prediction.probabilities, y)
        items.append(VERDICT.format("good" if error < 0.05 else "doubtful", f"Calibration error {error:.3f}."))
    else:
        inside = coverage(y, prediction.mean, prediction.variance)
        good = "good" if 0.9 <= inside <= 0.99 else "doubtful"
        items.append(VERDICT.format(good, f"{100 * inside:.0f} % of the targets lie in their 95 % interval."))
    return Markup('<ul class="verdicts">{}</ul>').format(Markup().join(items))


def _tensors(posterior: Any, member: Any, variance: np.ndarray) -> Section:
    """A row for each tensor: its size, how large its weights are, and how far they are uncertain."""
    selection, mean = member.selection, host(posterior.mean)
    stops = np.cumsum(selection.sizes)
    rows, spreads = [], []
    for name, shape, stop, size in zip(selection.names, selection.shapes, stops, selection.sizes, strict=True):
        at = slice(int(stop) - size, int(stop))
        scale, spread = np.sqrt(np.mean(mean[at] ** 2)), np.sqrt(np.mean(variance[at]))
        share = float(np.mean(np.abs(mean[at]) > 2 * np.sqrt(variance[at])))
        spreads.append(spread)
        rows.append(
            (name, " × ".join(map(str, shape)), number(float(scale)), number(float(spread)), f"{100 * share:.0f} %")
        )
    widest = np.sort(np.argsort(-np.array(spreads), kind="stable")[:MOST_DRAWN])
    bars = bar_chart([rows[i][0] for i in widest], np.array(spreads)[widest], label="posterior sd of a weight")
    heads = ("tensor", "shape", "size of a weight", "posterior sd", "two sd from 0")
    text = "Root mean squares over the weights of each tensor, and the share of them that lies two posterior sd from 0."
    table = Table(heads, tuple(rows[:MOST_TENSORS]), sortable=True)
    return Section("Tensors", text, figures=(Figure(bars),), table=table, anchor="tensors")


def _directions(factors: np.ndarray, variance: np.ndarray) -> Section | None:
    """Shares of the common directions."""
    size = np.sum(factors**2, axis=1)
    alive = np.sort(size[size > 0])[::-1]
    if not len(alive):
        return None
    shares = alive / max(float(variance.sum()), np.finfo(float).tiny)
    names = [f"direction {i}" for i in range(min(len(alive), MOST_DRAWN))]
    bars = bar_chart(names, shares[: len(names)], label="share of the variance of all weights")
    note = "Directions in which weights moved together; the rest is noise of each weight alone."
    return Section("Common directions", figures=(Figure(bars, note),), anchor="directions")


def _answers(prediction: Any, y: Any) -> Section | None:
    """How sure the answers are, and how that fares against the targets."""
    if prediction is None:
        return None
    figures: list[Figure] = []
    if hasattr(prediction, "probabilities"):
        facts = [
            ("mean entropy (nats)", number(float(np.mean(prediction.entropy)))),
            ("of which weights (nats)", number(float(np.mean(prediction.mutual_information)))),
        ]
        if y is not None:
            labels = np.asarray(y).astype(int)
            right = prediction.probabilities[np.arange(len(labels)), labels]
            facts += [
                ("accuracy", f"{100 * float(np.mean(prediction.classes == labels)):.1f} %"),
                ("log-likelihood (nats a row)", number(float(np.mean(np.log(np.maximum(right, 1e-300)))))),
                ("calibration error", number(expected_calibration_error(prediction.probabilities, y))),
                ("Brier score", number(brier(prediction.probabilities, y))),
            ]
            _, sure, held = reliability(prediction.probabilities, y, 10)
            ends = np.array([min(float(sure.min()), 1 / np.shape(prediction.probabilities)[1]), 1.0])
            lines = [
                Line(sure, held, name="answers"),
                Line(ends, ends, dashed=True, name="as sure as right"),
            ]
            chart = line_chart(lines, x_label="probability of the answer", y_label="share that is right")
            figures.append(Figure(chart, "On the dashed line, answers are right as often as they say."))
    else:
        facts = [
            ("mean sd", number(float(np.mean(np.sqrt(prediction.variance))))),
            ("of which weights", number(float(np.mean(np.sqrt(prediction.epistemic_variance))))),
        ]
        if y is not None:
            levels = np.linspace(0.1, 0.95, 18)
            held = np.array([coverage(y, prediction.mean, prediction.variance, float(level)) for level in levels])
            facts.append(("targets within their 95 % interval", f"{100 * float(held[-1]):.1f} %"))
            lines = [Line(levels, held, name="intervals"), Line(levels, levels, dashed=True, name="as promised")]
            chart = line_chart(lines, x_label="level of the interval", y_label="share of targets inside")
            figures.append(Figure(chart, "On the dashed line, intervals hold what they promise."))
    text = f"Averages over {number(prediction.n_samples)} draws of the weights."
    return Section("Answers", text, facts=tuple(facts), figures=tuple(figures), anchor="answers")


def _again(posterior: Any) -> Section:
    given = "posteriors" if hasattr(posterior, "members") else f"net, rank={posterior.rank}"
    lines = [
        f"posterior = latens.nets.{type(posterior).__name__}({given})",
        "posterior.update()  # after each epoch, from the time on at which the training has settled",
        "answer = posterior.predict(loader)",
        'latens.report(posterior, answer, "page.html", y=targets)',
    ]
    return Section("Reproduce", body=CODE.format("\n".join(lines)), anchor="reproduce")
