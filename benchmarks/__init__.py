"""Time and quality beside other ways to do the same: ``python -m benchmarks [--quick] [section ...]``.

Times are CPU seconds of one thread, so that a busy machine does not decide the outcome; where two threads
are compared with one, the pool is made for it. Seeds start at 50,000 and served no tuning.
"""

from __future__ import annotations

import os

# Read once, when the libraries load: so before any of them does.
for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
os.environ["VECLIB_MAXIMUM_THREADS"] = "1"
