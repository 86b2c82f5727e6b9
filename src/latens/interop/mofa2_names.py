"""Names that every reader of MOFA2's files takes; they differ from what latens calls things only where they must.

R's MOFA2 opens a file only if

- names of samples and of features are ASCII and differ over all groups and all views,
- none is empty, for rows are looked up by name,
- nothing is called like the optional parts of a file, which it looks for anywhere in it.

Outside a UTF-8 locale it finds no views or groups with other letters either. As parts of a path these have no "/".
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

__all__ = ["feature_names", "path_names", "sample_names"]

OPTIONAL_PARTS = ("covariates", "samples_metadata", "features_metadata")


def path_names(names: Sequence[str], *, with_data: bool) -> list[str]:
    """Names of views or groups as parts of a path.

    >>> path_names(["a/b", "a|b", ".", "covariates", "β"], with_data=True)
    ['a|b_', 'a|b', '_', 'covariates_', '<U+03B2>']
    """
    reserved = OPTIONAL_PARTS if with_data else (*OPTIONAL_PARTS, "data")
    return _distinct_names(names, list(map(_part, names)), reserved)


def feature_names(views: Sequence[str], features: Sequence[Sequence[str]]) -> list[list[str]]:
    """Names of the features of each view, followed by that of the view where another has the same.

    >>> feature_names(["rna", "mut"], [["p53", "é"], ["p53", "e"]])
    [['p53_rna', 'e_'], ['p53_mut', 'e']]
    """
    times = Counter(name for names in features for name in names)
    own = [name for names in features for name in names]
    labels = (view for view, names in zip(views, features, strict=True) for _ in names)
    wanted = [_plain(f"{name}_{view}" if times[name] > 1 else name) for name, view in zip(own, labels, strict=True)]
    made = iter(_distinct_names(own, wanted))
    return [[next(made) for _ in names] for names in features]


def sample_names(names: Sequence[str]) -> list[str]:
    """Names of the samples of all groups.

    >>> sample_names(["Zoë", "Zoe", ""])
    ['Zoe_', 'Zoe', '_']
    """
    return _distinct_names(names, list(map(_plain, names)))


def _plain(name: str) -> str:
    """In ASCII: letters without their accents, and others as R prints them where it cannot."""
    if name.isascii():
        return name.replace("\0", "") or "_"
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    spelt = (letter if letter.isascii() else f"<U+{ord(letter):04X}>" for letter in letters)
    return "".join(spelt).replace("\0", "") or "_"


def _part(name: str) -> str:
    part = _plain(name).replace("/", "|").replace("cov_samples", "cov-samples")  # R looks for that within names too
    return part if part.strip(".") else "_" * len(part)


def _distinct_names(own: Sequence[str], wanted: Sequence[str], reserved: Sequence[str] = ()) -> list[str]:
    """`wanted`, followed by "_" until none is there twice or is `reserved`; what is `own` stays where it can."""
    used = {*reserved, *(name for name, was in zip(wanted, own, strict=True) if name == was)}
    made = []
    for name, was in zip(wanted, own, strict=True):
        if name != was or name in reserved:
            while name in used:
                name += "_"
            used.add(name)
        made.append(name)
    return made
