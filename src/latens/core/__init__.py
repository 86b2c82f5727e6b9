"""The contract between models and inference: two steps and a sum.

A model turns rows into *statistics*. Statistics add across rows and scale by numbers,
so every way of seeing the data is a linear combination of them:

    in memory    sum over all rows                     S = sum_b s_b
    stochastic   exponential average, scaled up        S = (1 - r) S + r (N / n_b) s_b
    streaming    running sum, optionally forgetting    S = f S + s_b
"""

from __future__ import annotations

from latens.core.fit import Fit, Iteration, State, Underway, fewest_of, transient, without_transients
from latens.core.model import (
    Ambiguous,
    Answers,
    Averaging,
    B,
    Biased,
    Carrying,
    Coded,
    Compressing,
    EvidenceBound,
    Expanding,
    Facts,
    Fading,
    Following,
    Fused,
    L,
    Leaping,
    Local,
    Loose,
    Mirrored,
    Model,
    Movable,
    PointEstimating,
    Posterior,
    Proposal,
    Q,
    Reducible,
    Regrouping,
    Removal,
    S,
    Sloped,
    Steps,
    Stretching,
    Tiered,
    Turnable,
    Walking,
)
from latens.core.rows import Rows, blocks
from latens.core.source import Forgetful, OnBlock, Source, SumOnly, Sweep, Unkept, in_parts
from latens.core.statistics import Statistics
from latens.core.survey import Survey, survey_rows
from latens.core.watch import Watch

__all__ = [
    "Ambiguous",
    "Answers",
    "Averaging",
    "B",
    "Biased",
    "Carrying",
    "Coded",
    "Compressing",
    "EvidenceBound",
    "Expanding",
    "Facts",
    "Fading",
    "Fit",
    "Following",
    "Forgetful",
    "Fused",
    "Iteration",
    "L",
    "Leaping",
    "Local",
    "Loose",
    "Mirrored",
    "Model",
    "Movable",
    "OnBlock",
    "PointEstimating",
    "Posterior",
    "Proposal",
    "Q",
    "Reducible",
    "Regrouping",
    "Removal",
    "Rows",
    "S",
    "Sloped",
    "Source",
    "State",
    "Statistics",
    "Steps",
    "Stretching",
    "SumOnly",
    "Survey",
    "Sweep",
    "Tiered",
    "Turnable",
    "Underway",
    "Unkept",
    "Walking",
    "Watch",
    "blocks",
    "fewest_of",
    "in_parts",
    "survey_rows",
    "transient",
    "without_transients",
]
