"""Noisy-OR: binary rows whose ones are brought about by hidden causes.

model                         the model, and its E step over listed states, which fits take unless another is asked for
jensen                        the looser bound of the literature, with causes independent in each row
moves, new_causes, splits     other causes and profiles that a search tries
sampling                      states and firings drawn, for the Gibbs sampler
"""
