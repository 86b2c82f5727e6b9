"""Fitted models in files: data only, never code.

A file is one zip archive whose members are stored uncompressed:

    header.json      what the model is: format, versions, estimator, parameters, a tree of records, the list of arrays
    arrays/N.npy     one NumPy array each, C order, little-endian, without pickle; `numpy.load` opens the file as an npz

Reading constructs nothing but the classes in `latens.io.registry`; sizes are compared with the file before memory is
taken, and contents with their checksums and with one another before a model is answered.
"""

from __future__ import annotations

from latens.io.save_load import load, save

__all__ = ["load", "save"]
