"""Linear regression with the posterior of its weights."""
