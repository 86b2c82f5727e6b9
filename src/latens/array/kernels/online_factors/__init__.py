"""Loops of factors that follow rows, or the weights of a network, one after the other."""
