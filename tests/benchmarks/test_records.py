"""Answers of long runs: on file as they come, and never asked for again."""

from __future__ import annotations

from pathlib import Path

from benchmarks.records import answers, slug


def test_a_run_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    asked: list[int] = []

    def ask(number: int) -> dict[str, int]:
        if number == 3 and len(asked) < 4:
            asked.append(number)
            raise KeyboardInterrupt
        asked.append(number)
        return {"square": number**2}

    path = tmp_path / "new" / "squares.jsonl"
    try:
        answers(path, ask, 5, 1)
    except KeyboardInterrupt:
        path.write_text(path.read_text() + '[3, {"squ')  # a line that was being written
    assert [one["square"] for one in answers(path, ask, 5, 1)] == [0, 1, 4, 9, 16]
    assert asked == [0, 1, 2, 3, 3, 4]
    assert answers(path, ask, 3, 1) == [{"square": 0}, {"square": 1}, {"square": 4}]
    assert asked == [0, 1, 2, 3, 3, 4]


def test_processes_give_the_same_answers_in_order(tmp_path: Path) -> None:
    assert answers(tmp_path / "a.jsonl", abs, 6, 2) == [0, 1, 2, 3, 4, 5]


def test_names_become_parts_of_file_names() -> None:
    assert slug("mixture, 2.5 sd, N = 200") == "mixture-2.5-sd-n-200"
