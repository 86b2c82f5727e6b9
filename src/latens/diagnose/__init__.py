"""Which model, how many components, and whether they come back: numbers about fits beside each other."""
