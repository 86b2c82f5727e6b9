"""How sure a fit is: linear response, bootstrap, Gibbs sampling, annealed evidence."""
