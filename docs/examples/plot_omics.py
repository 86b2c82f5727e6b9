"""
Factors shared by two tables
============================

Two tables about the same samples; some samples lack one of them. Factors may act in both or in one.
"""

import latens
from latens import plots

views, truth = latens.datasets.make_multiview(200, (60, 40), n_factors=4, noise=0.5, missing_views=0.2, random_state=0)
model = latens.MultiViewFactorAnalysis(10, random_state=0).fit(views)
print(model.n_components_, "factors")
plots.variance_explained(model)

# %%
# Which samples show which table, and the strongest features of the first factor over the samples.
plots.data_overview(model, views)

# %%
plots.data_heatmap(model, views, 0, n=10)
