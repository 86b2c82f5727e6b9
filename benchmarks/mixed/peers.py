"""What others make of hidden cells: each column predicted from the others, which are filled by means and modes.

A peer answers a column of numbers with numbers, and one of levels with probabilities, clipped at 1e-3 as ours are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PEERS", "predicted"]

LEAST_CHANCE = 1e-3
NEIGHBOURS = 10


def predicted(peer: str, shown: Any, column: str, levels: list[str] | None) -> np.ndarray:
    """(n,) numbers, or (n, C) probabilities of the levels, for all rows of a frame with holes."""
    seen = shown[column].notna().to_numpy()
    if peer == "mean or frequency":
        return _usual(shown[column][seen], len(shown), levels)
    x = _filled_numbers(shown.drop(columns=column), keep_holes=peer == "boosting")
    regressor, classifier = PEERS[peer]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if levels is None:
            return np.asarray(regressor().fit(x[seen], shown[column][seen].to_numpy(float)).predict(x))
        made = classifier().fit(x[seen], shown[column][seen].astype(str).to_numpy())
        chance = made.predict_proba(x)
    if peer in ("neighbours", "forest"):  # votes, with one more for all levels together
        votes = NEIGHBOURS if peer == "neighbours" else 100
        chance = (votes * chance + 1 / chance.shape[1]) / (votes + 1)
    out = np.full((len(shown), len(levels)), LEAST_CHANCE)
    for j, level in enumerate(made.classes_):
        out[:, levels.index(level)] = chance[:, j]
    return np.clip(out, LEAST_CHANCE, 1 - LEAST_CHANCE)


def _usual(values: Any, n: int, levels: list[str] | None) -> np.ndarray:
    if levels is None:
        return np.full(n, float(values.mean()))
    share = np.array([(values.astype(str) == level).mean() for level in levels])
    return np.tile(np.clip(share, LEAST_CHANCE, 1 - LEAST_CHANCE), (n, 1))


def _filled_numbers(frame: Any, keep_holes: bool) -> np.ndarray:
    """(n, P), standardised numbers and a 0/1 column for each level."""
    parts = []
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind != "f":
            texts = values.astype(object).where(values.notna(), values.mode()[0])
            parts += [(texts == level).to_numpy(float) for level in sorted(set(texts))]
        else:
            mean, spread = values.mean(), values.std() or 1.0
            standard = ((values - mean) / spread).to_numpy(float)
            parts.append(standard if keep_holes else np.nan_to_num(standard))
    return np.column_stack(parts)


def _knn() -> tuple[Callable[[], Any], Callable[[], Any]]:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return lambda: KNeighborsRegressor(NEIGHBOURS), lambda: KNeighborsClassifier(NEIGHBOURS)


def _forest() -> tuple[Callable[[], Any], Callable[[], Any]]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    options: dict[str, Any] = {"n_estimators": 100, "min_samples_leaf": 3, "random_state": 0}
    return lambda: RandomForestRegressor(**options), lambda: RandomForestClassifier(**options)


def _linear() -> tuple[Callable[[], Any], Callable[[], Any]]:
    from sklearn.linear_model import BayesianRidge, LogisticRegression

    return BayesianRidge, lambda: LogisticRegression(max_iter=500)


def _boosting() -> tuple[Callable[[], Any], Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options: dict[str, Any] = {"max_iter": 60, "random_state": 0}
    return lambda: HistGradientBoostingRegressor(**options), lambda: HistGradientBoostingClassifier(**options)


PEERS: dict[str, Any] = {
    "mean or frequency": None, "neighbours": _knn(), "forest": _forest(), "linear": _linear(), "boosting": _boosting(),
}  # fmt: skip
