"""Other ways to separate sources: each answers with an unmixing matrix (K, D) and sources (N, K)."""

from __future__ import annotations

import importlib.util

from latens.estimators.comparisons.peers import factors_then_fast_ica, fast_ica, picard

__all__ = ["METHODS"]

METHODS = {"FastICA": fast_ica, "FA, then FastICA": factors_then_fast_ica}
if importlib.util.find_spec("picard"):
    METHODS["picard"] = picard
