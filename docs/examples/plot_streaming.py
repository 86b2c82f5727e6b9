"""
A stream of batches
===================

Factor analysis sees every row once, in batches, and ends where a fit to all rows would.
"""

import matplotlib.pyplot as plt
import numpy as np

import latens

X, truth = latens.datasets.make_factor_model(4000, n_features=12, n_components=3, random_state=0)
model, whole, errors = latens.FactorAnalysis(3), latens.FactorAnalysis(3).fit(X), []
for batch in np.array_split(X, 20):
    model.partial_fit(batch)
    errors.append(latens.metrics.covariance_distance(model.get_covariance(), whole.get_covariance()))

plt.semilogy(200 * np.arange(1, 21), np.maximum(errors, 1e-12), ".-")
plt.xlabel("rows seen")
plt.ylabel("distance to the fit of all rows")
