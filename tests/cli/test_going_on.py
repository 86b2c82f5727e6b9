"""A fit that is interrupted, and one that goes on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import latens
from tests.cli.commands import call, done


def test_an_interrupt_keeps_the_best_state_and_says_how_to_go_on(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from latens.cli.terminal.console import FitProgress

    count = 0

    def interrupt(self: FitProgress, event: Any) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "iteration", interrupt)
        result = call("fit", numbers, "--report", "none")
    assert result.exit_code == 130
    assert "interrupted: the best state so far is kept" in result.stdout
    line = next(line for line in result.stdout.splitlines() if line.startswith("to go on: latens "))
    before = latens.load("n.latens").elbo_
    done(*shlex.split(line.removeprefix("to go on: latens ")))
    assert latens.load("n.latens").elbo_ >= before


def test_an_interrupt_before_the_first_iteration_writes_nothing(
    numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(latens.GaussianMixture, "fit", interrupt)
    result = call("fit", numbers)
    assert result.exit_code == 130
    assert "Error: interrupted before the first iteration, so that there is nothing to keep" in result.stderr
    assert result.stderr.rstrip().endswith(f"To begin again: latens fit {numbers.name}")
    assert [path.name for path in tmp_path.iterdir()] == ["n.csv"]


def test_an_interrupt_of_the_page_keeps_the_model_and_says_how_to_write_it(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(latens, "report", interrupt)
        result = call("fit", numbers, "--model", "gaussian-mixture", "-k", "2")
    assert result.exit_code == 130
    assert "interrupted while the page was written; the model is in n.latens." in result.stderr
    line = result.stderr.partition("n.latens. latens ")[2].partition(" writes the page.")[0]
    done(*shlex.split(line))
    assert Path("n.html").is_file()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("fit", "interrupted while structures were tried; nothing was written. --model gaussian-mixture fits that one"),
        ("suggest", "interrupted; there is no answer, and nothing was written."),
    ],
)
def test_an_interrupted_search_says_what_is_left_of_it(
    typed: str, words: str, numbers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(latens, "suggest", interrupt)
    result = call(typed, numbers)
    assert result.exit_code == 130
    assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["n.csv"]


def test_a_fit_goes_on_with_its_own_model_for_as_long_as_is_asked(numbers: Path) -> None:
    done("fit", numbers, "--model", "noisy-ica", "--max-iter", "3", "--report", "none")
    result = done(
        "fit", numbers, "--continue", "n.latens", "--max-time", "0.001", "--report", "none", "--out", "o.latens"
    )
    assert "model: noisy-ica (that of n.latens)" in result.stdout
    assert "not converged when time was over: --max-time 0.002" in result.stdout
    assert latens.load("o.latens").max_time == 0.001
    assert "there is no file gone.latens" in call("fit", numbers, "--continue", "gone.latens").stderr


def test_the_time_of_a_fit_is_for_trying_structures_and_all_sizes_together(
    numbers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    suggest, fit = latens.suggest, latens.GaussianMixture.fit

    def noted(table: Any, max_time: float, **options: Any) -> Any:
        given.append(max_time)
        return suggest(table, max_time=max_time, **options)

    def fitted(self: Any, *arguments: Any, **options: Any) -> Any:
        given.append(self.max_time)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(latens, "suggest", noted)
    monkeypatch.setattr(latens.GaussianMixture, "fit", fitted)
    done("fit", numbers, "--max-time", "600", "--report", "none")
    assert 290 < given[0] <= 300
    assert 500 < given[-1] <= 600  # what was left of all
    given.clear()
    done("fit", numbers, "--model", "gaussian-mixture", "-k", "1:3", "--max-time", "600", "--report", "none")
    assert given[0] <= 200 < given[1] <= 300 < given[2] <= 600
    assert latens.load("n.latens").max_time == 600
