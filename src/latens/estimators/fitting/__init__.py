"""How an estimator is fitted: starts, search, streams, checkpoints, known codes, and what to doubt afterwards."""
