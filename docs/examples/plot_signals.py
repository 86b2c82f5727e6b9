"""
Sources behind noisy sensors
============================

Ten sensors record a mixture of independent, heavy-tailed sources under noise of their own, as electrodes do.
"""

import latens
from latens import plots

X, truth = latens.datasets.make_ica(1000, random_state=0)
model = latens.NoisyICA(random_state=0).fit(X)
print(model.n_components_, "sources of", truth.mixing.shape[1])
print("degrees of freedom of the sources:", model.tails_.round(1))
plots.sources(model, X)

# %%
# Without the strongest source: its share of every sensor is taken out.
cleaned = model.inverse_transform(model.transform(X), exclude=[0])
print("variance left", (cleaned.var() / X.var()).round(2))
