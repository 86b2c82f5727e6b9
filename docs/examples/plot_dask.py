"""
Rows in a Dask array
====================

The same estimator fits a Dask array block by block; the answer is that of the rows in memory.
"""

import dask.array as da
import numpy as np

import latens

X, _ = latens.datasets.make_mixture(2000, n_components=4, random_state=3)
blocks = da.from_array(X, chunks=(500, 2))
lazy = latens.GaussianMixture(8, covariance_type="diag", n_init=1, random_state=0).fit(blocks)
eager = latens.GaussianMixture(8, covariance_type="diag", n_init=1, random_state=0).fit(X)
print("largest difference of the centres", np.abs(lazy.means_ - eager.means_).max())
latens.plots.clusters(lazy, X)
