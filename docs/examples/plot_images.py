"""
Images made of parts
====================

Every row is a small image: a sum of a few pictures that are on or off, plus noise. The model is given the rows and at
most 16 pictures; it finds how many there are and what they look like.
"""

import latens
from latens import plots

X, truth = latens.datasets.make_shapes(300, random_state=0)
model = latens.BinaryFactorAnalysis(16, random_state=0).fit(X)
print(
    model.n_components_,
    "pictures;",
    latens.metrics.match_components(model.components_, truth.components).found(),
    "are true",
)
plots.components(model, shape=(4, 4))

# %%
# How often each is on, beside the truth.
plots.usage(model)
print(model.summary())
