"""Noisy ICA: independent sources behind sensors that each have noise of their own."""
