"""Local posteriors of rows under a fixed global posterior: what `transform` asks for."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from latens.core import Model

__all__ = ["settle"]


def settle(
    model: Model[Any, Any, Any], q: Any, batch: Any, warm: Any = None, *, tol: float = 1e-6, max_iter: int = 100
) -> Any:
    """Repeat the local step, from its neutral start if no other is given, until no code moves by more than `tol`."""
    local = model.local_step(q, batch, warm)
    if model.exact_local(q):
        return local
    mean, _ = model.codes(batch, local)
    xp = array_namespace(mean)
    for _ in range(max_iter):
        before, local = mean, model.local_step(q, batch, local)
        mean, _ = model.codes(batch, local)
        if float(xp.max(xp.abs(mean - before))) < tol:
            break
    return local
