"""Running statistics of batch normalisation, which belong to one setting of the weights only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from latens.system.optional_imports import require

__all__ = ["check_normalised", "refresh"]


def check_normalised(module: Any, loader: Iterable[Any] | None) -> None:
    """Refuse to draw weights for a module whose running statistics would be those of others."""
    if loader is None and (layers := _layers(module)):
        raise ValueError(
            f"the module has {len(layers)} batch-normalisation layers, whose running statistics fit none but the "
            "trained weights; pass bn_loader=, batches of training rows, to renew them for each draw."
        )


def refresh(module: Any, loader: Iterable[Any], forward: Callable[[Any, Any], Any]) -> None:
    """Take the running statistics anew, as plain averages over the batches of the loader; modes stay as they are."""
    layers = _layers(module)
    modes = [(layer.momentum, layer.training) for layer in layers]
    n_batches = 0
    try:
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
            layer.training = True
        for batch in loader if layers else ():
            forward(module, batch)
            n_batches += 1
    finally:
        for layer, (momentum, training) in zip(layers, modes, strict=True):
            layer.momentum, layer.training = momentum, training
    if layers and not n_batches:
        raise ValueError("bn_loader gave no batches; expected training rows.")


def _layers(module: Any) -> list[Any]:
    kind = require("torch", "torch").nn.modules.batchnorm._BatchNorm
    return [part for part in module.modules() if isinstance(part, kind) and part.running_mean is not None]
