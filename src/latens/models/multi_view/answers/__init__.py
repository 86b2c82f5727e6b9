"""What answers about entries know beyond the bound that a fit raises, learnt once from its rows."""
