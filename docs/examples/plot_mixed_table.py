"""
Groups in a mixed table
=======================

Numbers, a count, yes/no, a category and a scale, a twentieth of the cells missing: latent classes take them as they
are.
"""

import numpy as np

import latens

X, truth = latens.datasets.make_table(400, random_state=0)
model = latens.LatentClassAnalysis(8, likelihoods=truth.likelihoods, random_state=0).fit(X)
print(model.profiles_)

# %%
# Which class holds which true group, and how sure rows are of theirs.
print(
    np.array(
        [[np.sum((model.predict(X) == k) & (truth.labels == g)) for g in range(3)] for k in range(model.n_components_)]
    )
)
print("relative entropy", round(model.entropy_, 3))
latens.plots.usage(model)
