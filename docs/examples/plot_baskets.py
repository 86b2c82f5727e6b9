"""
Causes behind shopping baskets
==============================

Rows are baskets, columns are goods. Hidden occasions put goods into a basket, each with its own probability: a noisy
OR.
"""

import latens
from latens import plots

X, truth = latens.datasets.make_baskets(400, random_state=0)
model = latens.NoisyOr(10, random_state=0).fit(X)
model.feature_names_in_ = list(truth.features)
for name, goods in model.top_features(4).items():
    print(name, goods)
plots.top_features(model, n=3)
