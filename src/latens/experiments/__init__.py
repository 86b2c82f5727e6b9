"""Figures and tables of the source documents, regenerated."""

from __future__ import annotations

from latens.experiments.experiment import Experiment, Numbers, Result
from latens.experiments.registry import EXPERIMENTS, find
from latens.experiments.writing import write

__all__ = ["EXPERIMENTS", "Experiment", "Numbers", "Result", "find", "write"]
