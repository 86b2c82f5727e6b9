"""Loops that are sequential by nature: compiled for NumPy arrays, in plain array operations for every other library."""
