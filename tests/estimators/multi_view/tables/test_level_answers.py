"""Hidden categories beside measurements: their chances are those that the rest of a row leaves, neither more nor less.

Levels are taken in turn by a fit, the most common first. A level in the middle of others is then told by no loading,
and levels that measurements tell for certain had chances of .8.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

import latens
from latens.errors import FileRefused
from latens.models.multi_view.answers.levels import without_levels_of_answers
from tests.io.refusals.forging import Forgery

N, HIDDEN = 400, slice(0, 100)


def along_a_line(z: np.ndarray) -> np.ndarray:
    """(n, 3), logits: low, middle and high."""
    return np.column_stack([-4 * z[:, 0] - 3, np.zeros(len(z)), 4 * z[:, 0] - 3])


def in_corners(z: np.ndarray) -> np.ndarray:
    return z @ np.array([[12.0, 0.0], [-6.0, 10.0], [-6.0, -10.0]]).T


def made(logits: Any, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Views with the levels of the first rows hidden, these levels, and their log chances given the factors."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N, 2))
    measured = z @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(N, 8))
    chances = log_softmax(logits(z), axis=1)
    level = np.argmax(chances + rng.gumbel(size=chances.shape), axis=1).astype(float)
    shown = level.copy()
    shown[HIDDEN] = np.nan
    return {"measured": measured, "level": shown[:, None]}, level, chances


def fitted(views: dict[str, np.ndarray], **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(4, likelihoods={"level": "categorical"}, random_state=0, **options)
        return model.fit(views)


def loss(model: Any, views: dict[str, np.ndarray], level: np.ndarray) -> float:
    chances, levels = model.impute_proba(views)["level"]["level_0"], model.levels_["level"]["level_0"]
    at = np.array([levels.index(each) for each in level[HIDDEN]])
    return -float(np.mean(np.log(chances[np.arange(N)[HIDDEN], at])))


@pytest.mark.parametrize("logits", [along_a_line, in_corners])
@pytest.mark.parametrize("seed", [0, 1])
def test_hidden_levels_are_told_nearly_as_well_as_the_factors_allow(logits: Any, seed: int) -> None:
    views, level, chances = made(logits, seed)
    model = fitted(views)
    best = -float(np.mean(chances[np.arange(N)[HIDDEN], level[HIDDEN].astype(int)]))
    assert loss(model, views, level) < best + 0.1
    model._model = without_levels_of_answers(model._model)
    assert loss(model, views, level) > best + 0.15  # what loadings of the fit tell


def test_a_row_that_shows_nothing_has_the_shares_of_all_rows() -> None:
    views, _, _ = made(along_a_line)
    model = fitted(views)
    nothing = {name: np.full((1, own.shape[1]), np.nan) for name, own in views.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.impute_proba(nothing)["level"]["level_0"][0]
    shares = [np.mean(views["level"][HIDDEN.stop :] == each) for each in model.levels_["level"]["level_0"]]
    assert found == pytest.approx(shares, abs=0.05)


def test_filled_levels_and_completed_tables_have_these_chances() -> None:
    views, _, _ = made(along_a_line)
    model = fitted(views)
    chances, levels = model.impute_proba(views)["level"]["level_0"], np.array(model.levels_["level"]["level_0"])
    filled, draws = model.impute(views, n_draws=200)
    assert np.array_equal(filled["level"][HIDDEN, 0], levels[np.argmax(chances[HIDDEN], axis=1)])
    drawn = np.array([[each["level"][HIDDEN, 0] == value for value in levels] for each in draws]).mean(axis=0).T
    assert np.abs(drawn - chances[HIDDEN]).max() < 0.15
    assert drawn.mean(axis=0) == pytest.approx(chances[HIDDEN].mean(axis=0), abs=0.02)


def test_files_keep_the_chances(tmp_path: Path) -> None:
    views, _, _ = made(in_corners)
    model = fitted(views)
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    ours, theirs = (each.impute_proba(views)["level"]["level_0"] for each in (model, again))
    assert np.array_equal(ours, theirs)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return latens.save(fitted(made(in_corners)[0]), tmp_path_factory.mktemp("levels") / "honest.latens")


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("least", lambda x: np.concatenate([x, x]), r"cannot be \(3,\)"),
        ("least", lambda x: x[:, :1, :1], r"coefficients has shape \(3, 3\)"),
        ("coefficients", lambda x: x[:, :2], r"coefficients has shape \(3, 2\)"),
        ("coefficients", lambda x: x * np.nan, "NaN or infinity"),
    ],
)
def test_files_with_other_numbers_of_levels_or_factors_are_refused(
    field: str, change: Any, message: str, honest: Path, tmp_path: Path
) -> None:
    forged = Forgery(honest)
    path = f"model.views.1.likelihood.read_out.{field}"
    forged.put(path, np.asarray(change(forged.get(path))))
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


def test_factors_that_move_on_leave_the_chances_of_the_fit_behind() -> None:
    views, level, _ = made(in_corners)
    model = fitted(views)
    model._tell_batch(model._table(views, None).rows)
    assert all(getattr(view.likelihood, "read_out", None) is None for view in model._model.views)
    assert np.isfinite(loss(model, views, level))
