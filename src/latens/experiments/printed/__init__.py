"""The listings and algorithms of the source documents as printed, errors included: for comparison, never for use.

Each was written anew with the print's names, order of updates and errors, so that its numbers are the print's; what had
to be mended before it runs is named in its `Listing.repairs`.

Examples
--------
>>> import numpy as np
>>> from latens.datasets import make_shapes
>>> from latens.experiments.printed import find, binary_factors
>>> X, _ = make_shapes(50, random_state=0)
>>> learnt = binary_factors.learn_bin_factors(X, 8, 3, np.random.default_rng(0))
>>> learnt.mu.shape, len(find("binary-factors").repairs)
((16, 8), 5)
"""

from __future__ import annotations

from latens.experiments.printed import (
    binary_factors,
    binary_relevance,
    mixture,
    noisy_ica,
    noisy_or,
    online_factor_analysis,
    sparse_factors,
    vector_quantizer,
)
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTINGS", "Listing", "Repair", "find"]

LISTINGS: tuple[Listing, ...] = (
    binary_factors.LISTING,
    binary_relevance.LISTING,
    *noisy_ica.LISTINGS,
    mixture.LISTING,
    *online_factor_analysis.LISTINGS,
    sparse_factors.LISTING,
    *vector_quantizer.LISTINGS,
    noisy_or.LISTING,
)


def find(name: str) -> Listing:
    """The listing of that name."""
    for listing in LISTINGS:
        if listing.name == name:
            return listing
    raise ValueError(f"there is no listing {name!r}; choose one of {', '.join(one.name for one in LISTINGS)}.")
