"""The contract between models and inference: two steps and a sum.

A model turns rows into *statistics*. Statistics add across rows and scale by numbers,
so every way of seeing the data is a linear combination of them:

    in memory    sum over all rows                     S = sum_b s_b
    stochastic   exponential average, scaled up        S = (1 - r) S + r (N / n_b) s_b
    streaming    running sum, optionally forgetting    S = f S + s_b
"""

from __future__ import annotations

from latens.core.fit import Fit, Iteration, State
from latens.core.model import Carrying, Compressing, Local, Loose, Model, Movable, Posterior, Walking, kept, transient
from latens.core.rows import Rows
from latens.core.source import Forgetful, OnBlock, Source, SumOnly, Sweep, Unkept, in_parts
from latens.core.statistics import Statistics
from latens.core.survey import Survey

__all__ = [
    "Carrying",
    "Compressing",
    "Fit",
    "Forgetful",
    "Iteration",
    "Local",
    "Loose",
    "Model",
    "Movable",
    "OnBlock",
    "Posterior",
    "Rows",
    "Source",
    "State",
    "Statistics",
    "SumOnly",
    "Survey",
    "Sweep",
    "Unkept",
    "Walking",
    "in_parts",
    "kept",
    "transient",
]
