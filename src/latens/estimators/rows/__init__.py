"""The caller's rows on their way to a model: validated, sampled, and brought to the units of the fit."""
