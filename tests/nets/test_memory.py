"""Memory of a posterior: what it keeps, and its peak while a snapshot is taken in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, sys
import torch
from latens.nets import SWAG, FactorPosterior

size, rank = 4_000_000, 10
kind = {"SWAG": SWAG, "FactorPosterior": FactorPosterior}[sys.argv[1]]

def peak():
    # of this program alone: that of getrusage begins with what the one that started it had
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

def moved():
    net.weight.data.add_(0.1)

net = torch.nn.Linear(size, 1, bias=False)
small = kind(torch.nn.Linear(300, 1), rank)
for _ in range(rank + 5):
    small.module.weight.data.add_(torch.randn(1, 300))
    small.update()
before = peak()
posterior = kind(net, rank)
for _ in range(rank + 4):
    moved()
    posterior.update()
print(json.dumps((peak() - before) / (4 * size)))
"""


@pytest.mark.extras
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="missing data file: /proc/self/status of Linux")
@pytest.mark.parametrize("kind", ["SWAG", "FactorPosterior"])
def test_the_peak_is_three_words_and_the_rank_for_each_weight(kind):
    at_once = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}  # what is freed goes back at once, and is not counted
    command = [sys.executable, "-c", SCRIPT, kind]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=at_once)
    words = json.loads(run.stdout)
    assert 11 < words < 13 + 4  # 40 MB of blocks are 2.5 words of so many weights
