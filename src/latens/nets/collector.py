"""What every posterior over weights does: collect, answer as a Gaussian, draw, predict, keep itself in a file.

w ~ Normal(mean, F'F + diag(noise)),   F = mixing @ rows          rows: (K, D), mixing: (K', K)
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from latens.array import Floats
from latens.errors import StillSnapshots
from latens.families.low_rank import LowRankNormal
from latens.nets.algebra.density import log_density, without_autocast
from latens.nets.algebra.low_rank_update import blocks
from latens.nets.sampling import Draws, random_numbers
from latens.nets.selection import Chooser, Selection, Tensor
from latens.nets.tensor_file import read_tensors, write_tensors
from latens.system.optional_imports import require

__all__ = ["Collector", "check_same"]

N_WATCHED = 4096  # weights whose steps from snapshot to snapshot are watched
LEAST_SQUARED_STEP = 1e-4  # a squared step below this share of the variance is no movement
N_STILL = 3  # such steps in a row before it is said
KEYS = ("kind", "rank", "n", "names", "shapes")


class Collector(Draws):
    """Shared by SWAG and the posteriors of factors, which add what they keep of each snapshot."""

    def __init__(self, module: Any, rank: int, parameters: Chooser = None) -> None:
        torch = require("torch", "torch")
        smallest = self._least_rank
        if isinstance(rank, bool) or int(rank) != rank or rank < smallest:
            raise ValueError(f"rank={rank!r}; expected a whole number from {smallest} on.")
        self.module = module
        self.rank = int(rank)
        self.selection = Selection(module, parameters)
        self.n = 0
        zeros = {"dtype": self.selection.dtype, "device": self.selection.device}
        self._mean = torch.zeros(self.selection.size, **zeros)
        self._variance = torch.zeros(self.selection.size, **zeros)
        self._rows = torch.zeros((self.rank, self.selection.size), **zeros)
        self._answer: tuple[Floats, Tensor] | None = None
        self._watched: Tensor | None = None
        self._n_still = 0

    _least_rank = 0

    @property
    def _device_type(self) -> str:
        return str(self._mean.device.type)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}): {self.n} snapshots of {self.selection.size} weights"

    # what the kinds differ in

    def _measured(self, snapshot: Tensor) -> Tensor:
        """What the host is to know before the next snapshot is taken in, (m,), not finite if a weight is not."""
        return require("torch", "torch").linalg.vector_norm(snapshot, ord=float("inf")).double()[None]

    def _update_on_device(self, snapshot: Tensor, measures: Tensor) -> bool:
        """Whether the device takes the snapshot in by itself, unless a measure is not finite."""
        return False

    @abstractmethod
    def _take(self, snapshot: Tensor, measures: Floats) -> None:
        """Change mean, variance and rows by the n-th snapshot, of which `_measured` gave the measures."""

    @abstractmethod
    def _merge_rows(self, other: Self, n: int) -> Tensor:
        """The rows of both, (K, D), before mean and variance change."""

    @abstractmethod
    def _read_out(self) -> tuple[Floats, Tensor]:
        """Mixing (K', K) and noise (D,)."""

    # collecting

    @without_autocast
    def update(self) -> Self:
        """Take in the weights as they are now: call it after chosen optimiser steps, such as once an epoch.

        Returns
        -------
        self

        Raises
        ------
        FloatingPointError
            If a weight is NaN or infinite; the posterior is then as it was before.
        """
        torch = require("torch", "torch")
        snapshot = self.selection.gather()
        stride = max(1, self.selection.size // N_WATCHED)
        watched, before = snapshot[::stride].clone(), self._watched
        step = (watched - (watched if before is None else before)).square().mean()
        moved = torch.stack([step, self._variance[::stride].mean()])
        on_device = torch.cat([self._measured(snapshot), moved])
        arrival = _sent(on_device)
        is_updated = self._update_on_device(snapshot, on_device)
        measures = arrival()  # the one wait for the device
        if not np.isfinite(measures).all():
            raise FloatingPointError(
                f"snapshot {self.n + 1} has weights that are NaN or infinite, so it was not taken in; the training "
                "has diverged: try a lower learning rate, or collect before it does."
            )
        self.n += 1
        self._answer, self._watched = None, watched
        if not is_updated:
            self._take(snapshot, measures[:-2])
        if before is not None:
            self._warn_of_stillness(*measures[-2:])
        return self

    def _warn_of_stillness(self, step: float, spread: float) -> None:
        """Say when the weights have all but stopped moving: mean squared step, and variance before it."""
        self._n_still = self._n_still + 1 if step <= LEAST_SQUARED_STEP * spread else 0
        if self._n_still == N_STILL:
            warnings.warn(
                f"the last {N_STILL} snapshots have all but stopped moving (steps of "
                f"{np.sqrt(step / spread) if spread else 0.0:.1g} standard deviations), so the posterior will be too "
                "narrow. Hold the learning rate at a constant, higher value while collecting, or collect less often.",
                StillSnapshots,
                stacklevel=4,
            )

    @without_autocast
    def merge(self, other: Self) -> Self:
        """Take in all snapshots of another posterior of the same kind, rank and weights.

        Parameters
        ----------
        other : posterior of the same class
            It stays as it is.

        Count, mean and diagonal are exact: as if one posterior had seen both. What is kept of correlations is not:
        SWAG keeps the last deviations of both, FactorPosterior the strongest directions of both (exact as long as
        they are at most `rank`).

        Returns
        -------
        self
        """
        torch = require("torch", "torch")
        if type(other) is not type(self) or other.rank != self.rank:
            raise TypeError(f"cannot merge {other!r} into {self!r}; expected the same kind and rank.")
        check_same(self.selection, other.selection)
        if other.n == 0:
            return self
        n = self.n + other.n
        rows = self._merge_rows(other, n)
        for part in blocks(self.selection.size):
            gap = other._mean[part].to(self._mean) - self._mean[part]
            share = other.n / n
            own, theirs = self._variance[part], other._variance[part].to(self._mean)
            self._variance[part] = torch.lerp(own, theirs, share) + share * (1 - share) * gap**2
            self._mean[part] += share * gap
        self._rows, self.n, self._answer, self._watched = rows, n, None, None
        return self

    # the Gaussian

    @property
    def mean(self) -> Tensor:
        """(D,), mean of the snapshots; `unflatten` turns it into a state dict."""
        self._check_collected(1)
        return self._mean

    @property
    def variance(self) -> Tensor:
        """(D,), diagonal of the snapshots' covariance (divided by n)."""
        self._check_collected(1)
        return self._variance

    @without_autocast
    def covariance_factors(self) -> tuple[Tensor, Tensor]:
        """The covariance as a few factors and noise in each weight.

        Returns
        -------
        factors : Tensor of shape (K, D)
        noise : Tensor of shape (D,)
            The covariance is factors' factors + diag(noise).
        """
        mixing, noise = self._low_rank()
        return mixing @ self._rows, noise

    def to_low_rank(self) -> LowRankNormal:
        """Return the posterior in float64 on the host, for the metrics.

        Returns
        -------
        LowRankNormal
            In float64.
        """
        factors, noise = self.covariance_factors()
        host = (t.double().cpu().numpy() for t in (self.mean, factors, noise))
        return LowRankNormal(*host)

    @without_autocast
    def log_prob(self, weights: Tensor | Mapping[str, Tensor] | None = None) -> float:
        """Log density of weights.

        Parameters
        ----------
        weights : Tensor, dict of Tensor or None
            Those of the module now (None), a state dict, or a vector (D,).

        Returns
        -------
        float
            In nats.
        """
        mixing, noise = self._low_rank()
        return log_density(self.selection.vector(weights) - self._mean, self._rows, mixing, noise)

    def unflatten(self, vector: Tensor) -> dict[str, Tensor]:
        """Turn a vector (D,) into a state dict of the chosen weights, in their shapes and dtypes.

        Parameters
        ----------
        vector : Tensor of shape (D,)
            Chosen weights one after another.

        Returns
        -------
        dict of Tensor
            By name of parameter.
        """
        return self.selection.state(self.selection.vector(vector))

    def _low_rank(self) -> tuple[Tensor, Tensor]:
        self._check_collected(2)
        if self._answer is None:
            self._answer = self._read_out()
        mixing, noise = self._answer
        torch = require("torch", "torch")
        return torch.as_tensor(mixing, dtype=self._rows.dtype, device=self._rows.device), noise

    def _check_collected(self, least: int) -> None:
        if self.n < least:
            raise ValueError(
                f"this {type(self).__name__} has seen {self.n} snapshots and needs at least {least}; "
                "call update() after optimiser steps."
            )

    # draws

    @without_autocast
    def _draw(self, scale: float, source: Any) -> dict[str, Tensor]:
        """One z shared by all tensors; with a scale of 0 the mean, for which one snapshot will do."""
        if scale == 0:
            return self.selection.state(self.mean)
        mixing, noise = self._low_rank()
        z = random_numbers(len(mixing), source, self._mean)
        draw = (z @ mixing) @ self._rows if len(mixing) else self._mean.new_zeros(self.selection.size)
        for part in blocks(self.selection.size):
            own = random_numbers(part.stop - part.start, source, self._mean)
            draw[part] = self._mean[part] + scale**0.5 * (draw[part] + noise[part].sqrt() * own)
        return self.selection.state(draw)

    def _allotted(self, n: int) -> list[tuple[Collector, int]]:
        return [(self, n)]

    @contextmanager
    def restoring(self) -> Iterator[Any]:
        """Put weights, buffers and modes of the module back when the block ends, also after an error.

        Yields
        ------
        module : torch.nn.Module
        """
        module = self.selection.module
        parameters = self.selection.parameters
        tensors = [*parameters, *module.buffers()]
        copies = [t.detach().clone() for t in tensors]
        modes = {part: part.training for part in self.module.modules()}
        try:
            yield self.module
        finally:
            for tensor, values in zip(tensors, copies, strict=True):
                tensor.data.copy_(values)
            for part, mode in modes.items():
                part.training = mode

    # files

    def state_dict(self) -> dict[str, Any]:
        """Return what the posterior knows, as plain values and tensors (shared, not copied).

        Returns
        -------
        dict
            For `load_state_dict`.
        """
        return {
            "kind": type(self).__name__,
            "rank": self.rank,
            "n": self.n,
            "names": list(self.selection.names),
            "shapes": [list(shape) for shape in self.selection.shapes],
            **self._options(),
            **self._tensors(),
        }

    def _tensors(self) -> dict[str, Tensor]:
        """What is kept of the snapshots, by the name that a file has for it: with "_" before it, an attribute."""
        return {"mean": self._mean, "variance": self._variance, "rows": self._rows}

    def _options(self) -> dict[str, Any]:
        """Arguments of the class beside module, rank and parameters."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> Self:
        """Go on from what `state_dict` gave, on this module's device.

        Parameters
        ----------
        state : dict
            What `state_dict` gave.

        Returns
        -------
        self
        """
        torch = require("torch", "torch")
        expected = {**self.state_dict(), "n": state.get("n")}
        for key in (*KEYS, *self._options()):
            if state.get(key) != expected[key]:
                raise ValueError(f"the state has {key}={state.get(key)!r}; this posterior expects {expected[key]!r}.")
        if isinstance(state["n"], bool) or not isinstance(state["n"], int) or state["n"] < 0:
            raise ValueError(f"the state has n={state['n']!r}; expected a number of snapshots.")
        for key in self._tensors():
            given: Any = state.get(key)
            shape = expected[key].shape
            if not torch.is_tensor(given) or given.shape != shape or not torch.isfinite(given).all():
                found = tuple(given.shape) if torch.is_tensor(given) else given
                raise ValueError(f"{key} of the state is {found}; expected finite numbers of shape {tuple(shape)}.")
        if bool((state["variance"] < 0).any()):
            raise ValueError("the state has negative variances; it is damaged.")
        self.n, self._answer, self._watched = state["n"], None, None
        for key in self._tensors():
            setattr(self, f"_{key}", state[key].detach().to(self._mean, copy=True))
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the posterior in the safetensors layout, with a checksum; `load` reads it.

        Parameters
        ----------
        path : str or path-like
            Where to write; no suffix is added.

        Returns
        -------
        pathlib.Path
        """
        return write_tensors(Path(path), self.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], module: Any) -> Self:
        """Read a posterior that `save` wrote, for a module built like the one it was collected from.

        Parameters
        ----------
        path : str or path-like
        module : torch.nn.Module
            Built like the one that the posterior was collected from.

        Returns
        -------
        the posterior

        Raises
        ------
        latens.errors.FileRefused
            If the file is none, or damaged.
        ValueError
            If it is of another kind or other weights.
        """
        return cls._from_state(read_tensors(Path(path)), module)

    @classmethod
    def _from_state(cls, state: Mapping[str, Any], module: Any) -> Self:
        if state["kind"] != cls.__name__:
            raise ValueError(f"the file holds a {state['kind']}; read it with {state['kind']}.load.")
        rows: Any = state.get("rows")
        if getattr(rows, "ndim", 0) != 2 or len(rows) != state.get("rank"):
            raise ValueError(f"the state has rank {state.get('rank')!r} and no rows to match; it is damaged.")
        return cls._made(module, len(rows), state).load_state_dict(state)

    @classmethod
    def _made(cls, module: Any, rank: int, state: Mapping[str, Any]) -> Self:
        """An empty one with the options of the state."""
        return cls(module, rank, parameters=state.get("names"))


def _sent(values: Tensor) -> Callable[[], Floats]:
    """Begin to copy to the host; returns what waits for the copy, but for no work that is asked for later."""
    there = values.to("cpu", non_blocking=values.is_cuda)
    if not values.is_cuda:
        return lambda: np.asarray(there)
    done = require("torch", "torch").cuda.current_stream(values.device).record_event()

    def arrived() -> Floats:
        done.synchronize()
        return np.asarray(there)

    return arrived


def check_same(a: Selection, b: Selection) -> None:
    if a.names != b.names or a.shapes != b.shapes:
        different = next((n for n, s in zip(a.names, a.shapes, strict=True) if (n, s) not in _pairs(b)), b.names[-1])
        raise ValueError(f"the posteriors are of different weights: {different!r} is not the same in both.")


def _pairs(selection: Selection) -> set[tuple[str, tuple[int, ...]]]:
    return set(zip(selection.names, selection.shapes, strict=True))
