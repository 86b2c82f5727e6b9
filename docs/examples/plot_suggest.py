"""
Which structure?
================

Candidates are ranked by how probable hidden cells are under each, beside two baselines.
"""

import latens

X, _ = latens.datasets.make_mixture(300, n_components=4, n_features=5, random_state=0)
found = latens.suggest(X, max_time=None)
print(found.verdict)
print(found.table)
found.plot()
