"""Other packages' objects and files: to and from them, and nowhere else.

Names load on first use; the packages themselves are extras, imported when a function needs them.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "from_mne": "latens.interop.mne",
    "read_mofa2": "latens.interop.mofa2_reading",
    "to_datatree": "latens.interop.datatree",
    "to_mne_ica": "latens.interop.mne",
    "to_mudata": "latens.interop.mudata",
    "write_mofa2": "latens.interop.mofa2",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"latens.interop has no {name!r}; it offers {', '.join(sorted(__all__))}.")


def __dir__() -> list[str]:
    return sorted(__all__)
