"""Figures and tables of the source documents, regenerated."""

from __future__ import annotations

from latens.experiments.documents import DOCUMENTS, Document
from latens.experiments.experiment import Claim, Experiment, Numbers, Result
from latens.experiments.index import write_index
from latens.experiments.registry import EXPERIMENTS, as_printed, find
from latens.experiments.writing import write

__all__ = [
    "DOCUMENTS",
    "EXPERIMENTS",
    "Claim",
    "Document",
    "Experiment",
    "Numbers",
    "Result",
    "as_printed",
    "find",
    "write",
    "write_index",
]
