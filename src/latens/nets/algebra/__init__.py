"""Moments and low-rank covariances of long weight vectors, on any device."""
