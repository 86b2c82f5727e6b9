"""Noisy-OR: binary rows whose ones are brought about by hidden causes."""
