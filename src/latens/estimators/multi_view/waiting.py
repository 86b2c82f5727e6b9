"""The first samples of a stream of views, kept until they are enough to find factors in.

Relevance closes a factor that few samples do not pay for, and a closed factor explains no later sample either: its
codes are 0, so that no sum tells its loadings apart from 0. The stream must not begin before its factors can be seen.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from latens.array import Floats
from latens.array.fields import record
from latens.core import Rows
from latens.estimators.multi_view.tables.wide import Layout, WideTable
from latens.estimators.rows.sampling import distinct, sample_rows, stacked
from latens.estimators.rows.validation import occupied
from latens.models.factor_analysis.sums_wide import FewRows
from latens.models.multi_view.view import GROUP

__all__ = ["MOST_FACTORS", "Waiting", "are_enough"]

MOST_FACTORS = 20  # where their number is not given

# different samples before a stream begins: so many for each factor, within bounds
LEAST_SAMPLES, MOST_SAMPLES, SAMPLES_PER_FACTOR = 200, 1000, 20


def are_enough(rows: Rows, k: int) -> bool:
    """Whether a stream of at most `k` factors may begin with these; samples that repeat count once."""
    least = int(np.clip(SAMPLES_PER_FACTOR * k, LEAST_SAMPLES, MOST_SAMPLES))
    return len(rows) >= least and len(sample_rows(rows, least)) == least


@record(eq=False)
class Waiting:
    """Samples in data units, each once, with their number as weight."""

    layout: Layout  # with the groups so far, even if it is one
    samples: FewRows
    # what the samples know of themselves: their group, and precisions of the entries of a view
    aux: dict[str, Floats] = field(default_factory=dict, metadata={"shape": "rows;rows columns"})

    @classmethod
    def of(cls, table: WideTable) -> Waiting:
        """Keep the samples of a table that count."""
        rows = distinct(occupied(table.rows))
        samples = FewRows(rows.n, rows.x.astype(np.float64), rows.seen, rows.weight)
        return cls(table.layout, samples, dict(rows.aux))

    @property
    def table(self) -> WideTable:
        return WideTable(replace(self.samples.rows, aux=self.aux), self.layout, None)

    def joined(self, table: WideTable) -> Waiting:
        """With the samples of one more table, whose groups are these and perhaps others."""
        old, new = self.table.rows, occupied(table.rows)
        if self.layout.groups != table.layout.groups:
            numbers = np.array([float(table.layout.groups.index(name)) for name in self.layout.groups])
            old = replace(old, aux={**old.aux, GROUP: numbers[old.aux[GROUP].astype(np.intp)]})
        return Waiting.of(WideTable(stacked([old, new]), table.layout, None))
