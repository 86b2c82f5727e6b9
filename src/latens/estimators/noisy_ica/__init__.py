"""The estimator of noisy ICA and its starts."""
