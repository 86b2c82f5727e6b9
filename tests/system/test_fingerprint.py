"""Equal values have one fingerprint, others another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from latens.system.fingerprint import fingerprint


@dataclass(frozen=True)
class Pair:
    a: Any
    b: Any = None


def test_copies_have_the_fingerprint_of_the_original() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for value, copy in [(x, x.T.copy().T), (csr_array(x), csr_array(x.copy())), (Pair(x), Pair(x.copy()))]:
        assert fingerprint(value) == fingerprint(copy)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        ("1", 1),
        ([1, [2]], [[1], 2]),
        ([12, 3], [1, 23]),
        (Pair(1, 2), Pair(2, 1)),
        ({"a": 1}, {"b": 1}),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(3), np.array([0.0, -0.0, 0.0])),
        (csr_array(np.eye(3)), csr_array(2 * np.eye(3))),
        (frozenset([b"a"]), frozenset([b"b"])),
        (None, "None"),
    ],
)
def test_different_values_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_it_does_not_depend_on_the_process() -> None:
    script = (
        "from latens.system.fingerprint import fingerprint; print(fingerprint([frozenset([b'a', b'b', b'c']), 'x']))"
    )
    command = [sys.executable, "-c", script]
    seen = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)}
    assert seen == {fingerprint([frozenset([b"a", b"b", b"c"]), "x"]) + "\n"}


@pytest.mark.extras
def test_tensors_count_by_their_numbers() -> None:
    import torch

    one, other = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    assert fingerprint(one) == fingerprint(np.ones(3))
    assert fingerprint(one) != fingerprint(other)
