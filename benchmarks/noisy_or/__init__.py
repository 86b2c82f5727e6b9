"""Noisy-OR: pictures found, time against ones, real text held out."""
