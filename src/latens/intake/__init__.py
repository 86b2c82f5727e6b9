"""From a file to rows: how it is written, what its columns are, and how they become numbers.

text_files, sources, layouts             files of every kind as raw tables
marks, missing_codes, treatment          what each column is (its kind is guessed in treatment), what is done with it
kind_guess                               which likelihood suits numbers, for estimators that were not told
numbers                                  numbers that are written as text, read and written back
encoding                                 columns as numbers, the same for every later file
intake                                   `latens.read`
"""

from __future__ import annotations

from latens.intake.columns import Column
from latens.intake.encoding import Encoded, Encoding
from latens.intake.intake import Intake, encode_like, join_views, read
from latens.intake.raw_table import RawTable

__all__ = ["Column", "Encoded", "Encoding", "Intake", "RawTable", "encode_like", "join_views", "read"]
