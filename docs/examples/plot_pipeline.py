"""
In a scikit-learn pipeline
==========================

Estimators are transformers: they stand in pipelines, in cross-validation and in searches.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import latens

X, y = load_wine(return_X_y=True)
scores = {}
for k in (1, 2, 3):
    chain = make_pipeline(latens.FactorAnalysis(k, prior="ard"), LogisticRegression(max_iter=1000))
    scores[k] = cross_val_score(chain, X, y, cv=3).mean()
plt.plot(list(scores), list(scores.values()), ".-")
plt.xlabel("factors")
plt.ylabel("accuracy of the regression on them")
