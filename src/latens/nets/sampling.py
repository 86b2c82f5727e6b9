"""Draws of weights: into a module, as a state dict, or many of them averaged into a prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from latens.nets.prediction import Prediction, predicted
from latens.nets.selection import Tensor, write
from latens.system.optional_imports import require
from latens.system.seeds import Seed, generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from latens.nets.collector import Collector

__all__ = ["Draws", "random_numbers"]


class Draws(ABC):
    """What can be drawn from."""

    module: Any

    @property
    @abstractmethod
    def _device_type(self) -> str:
        """Where the posterior lies: a trainer may have moved the module away since."""

    @abstractmethod
    def _draw(self, scale: float, source: Any) -> dict[str, Tensor]:
        """One state dict."""

    @abstractmethod
    def _allotted(self, n: int) -> list[tuple[Collector, int]]:
        """Who makes how many of n draws."""

    def sample(self, scale: float = 1.0, *, into: Any = None, random_state: Seed = None) -> dict[str, Tensor]:
        """Draw the weights once; all tensors share the same factors, so that they go together.

        Parameters
        ----------
        scale : float
            Multiplies the covariance; 0 gives the mean.
        into : module, optional
            Copy the draw into this module, such as `posterior.module`. See `restoring` for the way back.
        random_state : int, Generator or None
            None draws from torch's own generator, which `torch.manual_seed` sets.

        Returns
        -------
        dict
            Names to tensors, in the shapes and dtypes of the weights: a part of a state dict.
        """
        check_scale(scale)
        state = self._draw(scale, source_of(random_state, self._device_type))
        if into is not None:
            write(state, into)
        return state

    def predict(
        self,
        loader: Iterable[Any],
        n_samples: int = 30,
        task: str | None = None,
        bn_loader: Iterable[Any] | None = None,
        forward: Callable[[Any, Any], Any] | None = None,
        *,
        scale: float = 1.0,
        noise_variance: ArrayLike = 0.0,
        progress: bool | Callable[[int, int], None] = False,
        random_state: Seed = None,
    ) -> Prediction:
        """Average the predictions of many draws of the weights; the module is afterwards as it was.

        Parameters
        ----------
        loader : iterable of batches
            Rows to predict, in the same order at each pass: a DataLoader with shuffle=False, or a list of batches.
        n_samples : int
        task : {"classification", "regression"} or None
            The module's outputs are logits, or means. One logit for each row is that of class 1 of two. None:
            regression where noise is given, by `noise_variance` or by `forward`, else classification; of one output
            for each row, which may as well be a mean, a warning says so.
        bn_loader : iterable of batches, optional
            Training rows, run through each draw to renew the running statistics of batch normalisation. A module
            with such layers needs it.
        forward : function of (module, batch), optional
            Returns the outputs; for regression it may return (mean, variance of the noise). By default the module is
            given the batch, or its first entry where it is a tuple, on the module's device.
        scale : float
            Multiplies the covariance of the weights. 0 predicts with the means alone: one snapshot each of several
            trained nets in a `MultiPosterior` makes their plain mixture, of which `n_samples` may be their number.
        noise_variance : float, or one for each output
            Regression: variance of the noise about the module's mean, where `forward` does not give it.
        progress : bool or function of (done, total)
            True shows a line on the terminal.
        random_state : int, Generator or None

        Returns
        -------
        ClassPrediction or RegressionPrediction
        """
        check_scale(scale)
        if isinstance(n_samples, bool) or int(n_samples) != n_samples or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r}; expected a whole number from 1 on.")
        source = source_of(random_state, self._device_type)

        def draws_of(member: Collector) -> dict[str, Tensor]:
            return member._draw(scale, source)

        return predicted(
            self._allotted(int(n_samples)), draws_of, loader, task, bn_loader, forward, noise_variance, progress
        )


def check_scale(scale: float) -> None:
    if not 0 <= scale < float("inf"):
        raise ValueError(f"scale={scale!r} multiplies the covariance; expected a number from 0 on.")


def source_of(random_state: Seed, device_type: str) -> Any:
    """A torch generator, or None for torch's own."""
    torch = require("torch", "torch")
    if random_state is None or isinstance(random_state, torch.Generator):
        return random_state
    seed = int(generator(random_state).integers(2**63 - 1))
    return torch.Generator(device=device_type).manual_seed(seed)


def random_numbers(n: int, source: Any, like: Tensor) -> Tensor:
    """(n,) standard normal numbers, drawn where their source is."""
    torch = require("torch", "torch")
    device = like.device if source is None else source.device
    return torch.randn(n, generator=source, dtype=like.dtype, device=device).to(like.device)
