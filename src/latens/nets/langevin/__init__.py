"""Draws of weights by preconditioned Langevin dynamics: as a function, and as an optimiser of torch."""
