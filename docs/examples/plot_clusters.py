"""
Clusters and how sure their centres are
=======================================

At most ten clusters are allowed; the bound says how many are needed. Cells may be missing.
"""

import numpy as np

import latens
from latens import plots

X, truth = latens.datasets.make_mixture(300, n_components=3, random_state=3)
X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
model = latens.GaussianMixture(10, covariance_type="diag", random_state=0).fit(X)
plots.clusters(model, model.impute(X))

# %%
# 95 % intervals of the centres; what is not sound is dashed, with its reason in the table.
plots.intervals(model, X, quantities="means")
