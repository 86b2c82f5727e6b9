"""A posterior over weights collected while Lightning trains.

The class is put together on first use, from `lightning.pytorch` or `pytorch_lightning`, whichever is there.
"""

from __future__ import annotations

import functools
import math
import sys
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from latens.errors import StillSnapshots
from latens.nets.selection import Chooser
from latens.system.optional_imports import require

if TYPE_CHECKING:
    from latens.nets.collector import Collector

__all__ = ["PosteriorCallback"]  # noqa: F822 (made by __getattr__)

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
SHARDED_STRATEGIES = ("FSDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy")  # no process holds all weights


class Collecting:
    """Lightning callback: a posterior over the weights, collected during the last part of a training.

    Parameters
    ----------
    kind : FactorPosterior, OnlineFactorPosterior or SWAG
    rank : int
    start : float
        Share of the training, from 0 to below 1, after which snapshots are taken. The training needs an end,
        `max_epochs` or `max_steps`.
    every : "epoch" or int
        A snapshot at the end of each epoch, or after every so many optimiser steps.
    lr : float, optional
        Learning rate of all parameter groups while snapshots are taken, whatever a schedule says; by default the
        rate is left alone, and a schedule that ends at 0 makes for a posterior that is too narrow.
    parameters : str, list of str, function of (name, parameter), or None
        The weights meant, as for `kind`.

    Attributes
    ----------
    posterior : FactorPosterior, SWAG or None
        Of the trained LightningModule; None before training, and in all processes but that of rank 0.

    Notes
    -----
    What was collected is in every checkpoint, so that `trainer.fit(module, ckpt_path=...)` goes on with it. Strategies
    that share the weights out to several processes are refused.

    Examples
    --------
    >>> from latens.nets import FactorPosterior, PosteriorCallback
    >>> PosteriorCallback(FactorPosterior, rank=10, start=0.75, every="epoch", lr=0.05)
    PosteriorCallback(FactorPosterior, rank=10): no snapshots yet
    """

    def __init__(
        self,
        kind: type[Collector],
        rank: int = 10,
        start: float = 0.75,
        every: str | int = "epoch",
        lr: float | None = None,
        parameters: Chooser = None,
    ) -> None:
        if not hasattr(kind, "covariance_factors"):
            raise TypeError(f"kind is {kind!r}; expected the class FactorPosterior, OnlineFactorPosterior or SWAG.")
        if isinstance(start, bool) or not 0 <= start < 1:
            raise ValueError(f"start={start!r}; expected a share of the training, from 0 to below 1.")
        if every != "epoch" and (isinstance(every, bool | str) or int(every) != every or every < 1):
            raise ValueError(f"every={every!r}; expected 'epoch' or a number of optimiser steps from 1 on.")
        if lr is not None and not 0 < lr < math.inf:
            raise ValueError(f"lr={lr!r}; expected a learning rate above 0, or None.")
        self.kind, self.rank, self.start, self.every, self.lr = kind, rank, start, every, lr
        self.parameters = parameters
        self.posterior: Collector | None = None
        self._restored: Mapping[str, Any] | None = None
        self._last = -1  # global step of the latest snapshot

    def __repr__(self) -> str:
        description = "no snapshots yet" if self.posterior is None else repr(self.posterior)
        return f"PosteriorCallback({self.kind.__name__}, rank={self.rank}): {description}"

    # what Lightning calls

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if type(trainer.strategy).__name__ in SHARDED_STRATEGIES:
            raise ValueError(
                f"{type(trainer.strategy).__name__} shares the weights out to several processes, so that none can "
                "collect them; train with 'ddp', or choose weights that are not shared out and collect them yourself."
            )
        if _ends(trainer) == (math.inf, math.inf):
            raise ValueError(f"start={self.start!r} is a share of a training without end; set max_epochs or max_steps.")
        if not trainer.is_global_zero:
            self._restored = None
            return
        if self.posterior is None or self.posterior.module is not pl_module:
            self.posterior = self.kind(pl_module, self.rank, self.parameters)
            self._last = -1
        if self._restored is not None:
            self.posterior.load_state_dict(self._restored["posterior"])
            self._last = int(self._restored["last"])
            self._restored = None

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self.lr is not None and self._done(trainer, batch_idx) >= self.start:
            for optimiser in trainer.optimizers:
                for group in optimiser.param_groups:
                    group["lr"] = self.lr

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        stepped = trainer.global_step != self._last and trainer.global_step > 0
        if self.every != "epoch" and stepped and trainer.global_step % int(self.every) == 0:
            self._take(trainer, self._done(trainer, batch_idx + 1))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self.every == "epoch" and trainer.global_step != self._last:
            self._take(trainer, self._done(trainer, trainer.num_training_batches))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self.posterior is not None and self.posterior.n < 2:
            warnings.warn(
                f"only {self.posterior.n} snapshots were taken, and a posterior needs at least 2; train longer, "
                f"start earlier than {self.start:g}, or collect every few steps (every=10).",
                StillSnapshots,
                stacklevel=2,
            )

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint holds; nothing in processes other than that of rank 0.

        Returns
        -------
        dict
        """
        if self.posterior is None:
            return dict(self._restored or {})
        return {"posterior": self.posterior.state_dict(), "last": self._last}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Keep what a checkpoint held until the training starts.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` gave.
        """
        self._restored = dict(state_dict) if state_dict else None

    def _take(self, trainer: Any, done: float) -> None:
        if self.posterior is not None and done > self.start:
            self.posterior.update()
            self._last = int(trainer.global_step)

    def _done(self, trainer: Any, n_batches: float) -> float:
        """Share of the training behind it, after so many batches of the present epoch."""
        epochs, steps = _ends(trainer)
        whole = trainer.num_training_batches
        part = n_batches / whole if 0 < whole < math.inf else float(n_batches == whole)
        return float(max((trainer.current_epoch + part) / epochs, trainer.global_step / steps))


def _ends(trainer: Any) -> tuple[float, float]:
    """Most epochs, and most steps."""
    epochs, steps = trainer.max_epochs, trainer.max_steps
    return math.inf if epochs is None or epochs < 1 else epochs, math.inf if steps is None or steps < 1 else steps


@functools.cache
def _made() -> type:
    """PosteriorCallback, of every Lightning that is loaded, or else of the first that is installed."""
    names = [name for name in PACKAGES if sys.modules.get(name) is not None]
    names = names or [name for name in PACKAGES if find_spec(name.partition(".")[0]) is not None][:1]
    bases = [require(name, "lightning").Callback for name in names or PACKAGES[:1]]
    notes = {"__doc__": Collecting.__doc__, "__module__": __name__}
    return type("PosteriorCallback", (Collecting, *bases), notes)


def __getattr__(name: str) -> Any:
    if name == "PosteriorCallback":
        return _made()
    raise AttributeError(f"{__name__} has no {name!r}.")
