"""From a file to rows: how it is written, what its columns are, and how they become numbers.

dialect, text_file, sources, layouts     files of every kind as raw tables
marks, missing_codes, treatment          what each column is and what is done with it
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
