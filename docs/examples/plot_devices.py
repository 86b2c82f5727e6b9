"""
Rows on a device
================

Rows that are torch tensors stay where they are, and answers come back in kind. Here the tensors are on the CPU; on a
GPU the lines are the same with ``device="cuda"``.
"""

import torch

import latens

X, truth = latens.datasets.make_images(200, random_state=0)
rows = torch.as_tensor(X)
model = latens.BinaryFactorAnalysis(12, random_state=0).fit(rows)
codes = model.transform(rows)
print(type(codes).__name__, tuple(codes.shape), codes.device)
latens.plots.components(model, shape=truth.shape)
