"""Cells of public mixed tables hidden and filled in, beside what others make of them.

One cell in ten is hidden, five times over. Levels are judged by the log loss of their probabilities, numbers by the
root of the mean squared error in units of each column's standard deviation, and intervals by how many hidden numbers
90 % of them hold. `python -m benchmarks mixed --only cars` runs one table; each finished table is kept in
results/mixed/NAME.json, and the summary reads those that are there.
"""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np

import latens
from benchmarks.mixed.peers import LEAST_CHANCE, PEERS, predicted
from benchmarks.mixed.tables import TABLES, MixedTable
from benchmarks.setting import Setting
from benchmarks.tables import Count, Row, Table, Value

__all__ = ["run"]

HIDDEN = 0.1
N_MASKS = {"full": 5, "quick": 1}
OURS = ("factors", "classes")
CLOSE_LOSS, CLOSE_ERROR = 0.03, 1.05


def run(setting: Setting) -> list[Table]:
    folder = setting.results / "mixed"
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        if setting.asks_for(table.name):
            found = measured(table, N_MASKS[setting.name])
            (folder / f"{table.name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    results = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return [_by_table(results), _verdicts(results)]


def measured(table: MixedTable, n_masks: int) -> dict[str, Any]:
    """Scores of every method on one table, means over the masks, and what `suggest` picks."""
    frame = table.frame()
    scores: dict[str, list[dict[str, float]]] = {}
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suggested = latens.suggest(frame, max_time=20)
    kinds = getattr(suggested.model, "likelihoods", None) if suggested.leader == "classes" else None
    for seed in range(n_masks):
        hidden = np.random.default_rng(seed).random(frame.shape) < HIDDEN
        hidden &= frame.notna().to_numpy()
        hidden[hidden.all(axis=1), 0] = False
        shown = frame.mask(hidden)
        for name in OURS:
            own = kinds if name == "classes" else None
            scores.setdefault(name, []).append(_ours(name, own or {}, table, frame, shown, hidden))
        for peer in PEERS:
            scores.setdefault(peer, []).append(_peer(peer, table, frame, shown, hidden))
    means = {
        name: {key: float(np.nanmean([each[key] for each in found])) for key in found[0]}
        for name, found in scores.items()
    }
    seconds = time.process_time() - began
    return {
        "rows": len(frame),
        "masks": n_masks,
        "picked": suggested.leader,
        "scores": means,
        "cpu_seconds": round(seconds, 1),
    }


def _ours(
    name: str, suggested: dict[str, str], table: MixedTable, frame: Any, shown: Any, hidden: np.ndarray
) -> dict[str, float]:
    """Scores of a model with its usual settings; kinds of columns that `suggest` chose for it are kept."""
    kinds = {column: "categorical" for column in table.levels if shown[column].nunique() > 2} | suggested
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "factors":
            model: Any = latens.MultiViewFactorAnalysis(random_state=0, likelihoods=kinds)
        else:
            model = latens.LatentClassAnalysis(random_state=0, likelihoods=kinds)
        model.fit(shown)
        filled, quantiles = model.impute(shown, quantiles=(0.05, 0.95))
        chances, levels = _chances(model, shown)
    losses, errors, inside = [], [], []
    for j, column in enumerate(frame.columns):
        at = np.flatnonzero(hidden[:, j])
        if not len(at) or column not in filled:
            continue
        truth = frame[column].to_numpy()[at]
        if column in table.levels:
            losses += _losses(truth, levels[column], chances[column][at])
        else:
            spread = float(np.nanstd(shown[column]))
            errors += (((filled[column].to_numpy()[at] - truth) / spread) ** 2).tolist()
            low, high = (quantiles[level][column].to_numpy()[at] for level in (0.05, 0.95))
            inside += ((low <= truth) & (truth <= high)).tolist()
    return {"log loss": float(np.mean(losses)), "nrmse": float(np.sqrt(np.mean(errors))),
            "coverage": float(np.mean(inside))}  # fmt: skip


def _chances(model: Any, shown: Any) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """Probabilities of levels by column, and which levels they are."""
    found = model.impute_proba(shown)
    if isinstance(model, latens.LatentClassAnalysis):
        columns = model.columns_
        named = {
            name: [columns.level_name(d, i) for i in range(found[name].shape[1])]
            for d, name in enumerate(columns.names)
            if name in found
        }
        return found, named
    two = {column.name: list(column.levels) for column in model.encodings_["x"].columns if column.kind == "binary"}
    flat = {column: chance for view in found.values() for column, chance in view.items()}
    return flat, two | {name: own for view in model.levels_.values() for name, own in view.items()}


def _losses(truth: Any, levels: list[str], chance: np.ndarray) -> list[float]:
    chance = np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return [-float(np.log(chance[i, levels.index(value)] if value in levels else LEAST_CHANCE))
            for i, value in enumerate(truth)]  # fmt: skip


def _peer(peer: str, table: MixedTable, frame: Any, shown: Any, hidden: np.ndarray) -> dict[str, float]:
    losses, errors = [], []
    for j, column in enumerate(frame.columns):
        at = np.flatnonzero(hidden[:, j])
        if not len(at):
            continue
        truth = frame[column].to_numpy()[at]
        if column in table.levels:
            levels = sorted(shown[column].dropna().unique())
            losses += _losses(truth, levels, predicted(peer, shown, column, levels)[at])
        else:
            guess = predicted(peer, shown, column, None)[at]
            errors += (((guess - truth) / float(np.nanstd(shown[column]))) ** 2).tolist()
    return {"log loss": float(np.mean(losses)), "nrmse": float(np.sqrt(np.mean(errors)))}


def _by_table(results: dict[str, Any]) -> Table:
    rows = []
    for name, found in results.items():
        for method, score in found["scores"].items():
            cells: dict[str, Value] = {"table": name, "method": method, "log loss": score["log loss"],
                                       "nrmse": score["nrmse"], "coverage": score.get("coverage")}  # fmt: skip
            rows.append(Row(cells))
    notes = [
        f"{name}: suggest picks {found['picked']}, {found['rows']} rows, {found['masks']} masks"
        for name, found in results.items()
    ]
    return Table("Hidden cells of mixed tables", rows, notes)


def _verdicts(results: dict[str, Any]) -> Table:
    near_loss = near_error = covered = 0
    for found in results.values():
        scores = found["scores"]
        peers = [scores[peer] for peer in PEERS]
        picked = scores["factors" if found["picked"] in ("factors", None) else "classes"]
        ours = min(scores[name]["log loss"] for name in OURS)
        near_loss += ours <= min(peer["log loss"] for peer in peers) + CLOSE_LOSS
        near_error += picked["nrmse"] <= CLOSE_ERROR * min(peer["nrmse"] for peer in peers)
        covered += 0.85 <= picked["coverage"] <= 0.95
    n = len(results)
    return Table("How many tables meet the goals (6 of 8)", [
        Row({"goal": "log loss best or within .03, the better of ours", "tables": Count(near_loss, n)}),
        Row({"goal": "nrmse of the picked model within 5 % of the best peer", "tables": Count(near_error, n)}),
        Row({"goal": "90 % intervals of the picked model hold .85 to .95", "tables": Count(covered, n)}),
    ])  # fmt: skip
