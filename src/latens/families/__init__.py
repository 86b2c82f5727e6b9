"""One exponential family per file: moments, conjugate update (`observe`), Kullback-Leibler divergence, draws.

Plain NumPy in float64. A point estimate is a family too, with all mass at one value and no divergence,
so that maximum likelihood runs through the same equations as the Bayesian models.
"""
