"""
A regression that says how sure its weights are
===============================================

Precisions of prior and noise are integrated out, so that intervals hold what they claim from a handful of rows on.
"""

import numpy as np

import latens
from latens import plots

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 5))
y = X @ [2.0, -1.0, 0.0, 0.5, 0.0] + rng.normal(size=25)
model = latens.BayesianLinearRegression().fit(X, y)
plots.intervals(model, quantities=["coef"])

# %%
mean, sd = model.predict(X[:3], return_std=True)
print(np.c_[y[:3], mean, sd].round(2))
