"""Noisy ICA beside FastICA, factor analysis followed by FastICA, and picard where it is installed."""
