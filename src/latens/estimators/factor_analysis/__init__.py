"""The estimator of factor analysis: its starts and its streams."""
