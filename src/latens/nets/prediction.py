"""Predictions averaged over draws of the weights, and what the draws disagree about.

classification   p = mean_s softmax(f_s(x)),   entropy H[p],   mutual information H[p] - mean_s H[softmax(f_s(x))]
regression       mean_s f_s(x),   epistemic variance var_s f_s(x),   variance = epistemic + mean_s noise
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from latens.array import Floats
from latens.errors import OneOutput
from latens.nets.batch_norm import check_normalised, refresh
from latens.nets.selection import Tensor, write
from latens.system.optional_imports import require

if TYPE_CHECKING:
    from latens.nets.collector import Collector

__all__ = ["ClassPrediction", "Prediction", "RegressionPrediction", "predicted"]


@dataclass(frozen=True, repr=False)
class Prediction:
    """Answers for rows, averaged over `n_samples` draws of the weights."""

    n_samples: int

    def __repr__(self) -> str:
        """The shapes of the answers; their numbers would be a line for each row."""
        shapes = (f"{name}: {value.shape}" for name, value in vars(self).items() if isinstance(value, np.ndarray))
        return f"{type(self).__name__}(n_samples={self.n_samples}, {', '.join(shapes)})"


@dataclass(frozen=True, repr=False)
class ClassPrediction(Prediction):
    """Probabilities of classes.

    Attributes
    ----------
    probabilities : ndarray of shape (N, C)
    entropy : ndarray of shape (N,)
        Of the averaged probabilities, in nats: all uncertainty.
    mutual_information : ndarray of shape (N,)
        Of class and weights, in nats: the part that comes from not knowing the weights.
    """

    probabilities: Floats
    entropy: Floats
    mutual_information: Floats

    @property
    def classes(self) -> np.ndarray:
        """(N,), the most probable class."""
        return np.asarray(np.argmax(self.probabilities, axis=1))


@dataclass(frozen=True, repr=False)
class RegressionPrediction(Prediction):
    """Means and their uncertainty.

    Attributes
    ----------
    mean : ndarray of shape (N,) or (N, outputs)
    variance : ndarray, likewise
        Of the target: that of the weights and of the noise.
    epistemic_variance : ndarray, likewise
        The part that comes from not knowing the weights.
    """

    mean: Floats
    variance: Floats
    epistemic_variance: Floats


class _Classes:
    def __init__(self) -> None:
        self.n, self.p, self.h = 0, np.zeros(0), np.zeros(0)

    def add(self, outputs: Tensor, _: Tensor | None) -> None:
        torch = require("torch", "torch")
        if outputs.ndim == 1 or outputs.shape[1] == 1:
            logit = outputs.reshape(-1, 1)
            outputs = torch.cat([torch.zeros_like(logit), logit], dim=1)
        if outputs.ndim != 2:
            raise ValueError(f"the outputs have shape {tuple(outputs.shape)}; expected logits (rows, classes).")
        p = torch.softmax(outputs, dim=1).cpu().numpy()
        self.n += 1
        self.p = p if self.n == 1 else self.p + (p - self.p) / self.n
        self.h = _entropy(p) if self.n == 1 else self.h + (_entropy(p) - self.h) / self.n

    def result(self) -> ClassPrediction:
        entropy = _entropy(self.p)
        return ClassPrediction(self.n, self.p, entropy, np.maximum(entropy - self.h, 0.0))


class _Moments:
    def __init__(self, noise: Floats) -> None:
        self.n, self.mean, self.square = 0, np.zeros(0), np.zeros(0)
        self.noise = noise

    def add(self, outputs: Tensor, noise: Tensor | None) -> None:
        f = outputs.cpu().numpy()
        if self.n == 0 and self.noise.shape not in ((), f.shape[1:]):
            n_outputs = f"{f.shape[1]} outputs" if f.ndim == 2 else "one output"
            raise ValueError(
                f"noise_variance has shape {self.noise.shape} and the net {n_outputs}; give a number, or one for each."
            )
        self.n += 1
        gap = f if self.n == 1 else f - self.mean
        self.mean = self.mean + gap / self.n if self.n > 1 else f
        self.square = np.zeros_like(f) if self.n == 1 else self.square + gap * (f - self.mean)
        if noise is not None:
            v = noise.cpu().numpy()
            if v.shape != f.shape or not (v >= 0).all():
                raise ValueError(f"forward gave variances of shape {v.shape}; expected {f.shape} numbers from 0 on.")
            self.noise = v if self.n == 1 else self.noise + (v - self.noise) / self.n

    def result(self) -> RegressionPrediction:
        epistemic = self.square / max(self.n - 1, 1)
        return RegressionPrediction(self.n, self.mean, epistemic + self.noise, epistemic)


def predicted(
    allotted: list[tuple[Collector, int]],
    draw: Callable[[Collector], dict[str, Tensor]],
    loader: Iterable[Any],
    task: str | None,
    bn_loader: Iterable[Any] | None,
    forward: Callable[[Any, Any], Any] | None,
    noise_variance: ArrayLike,
    progress: bool | Callable[[int, int], None],
) -> Prediction:
    """Run all draws of all members over the loader."""
    given = _variances(noise_variance)
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task={task!r}; expected 'classification', 'regression' or None.")
    loader = _SameOrder(_repeatable(loader, "loader"))
    bn_loader = None if bn_loader is None else _again(_batches(bn_loader, "bn_loader"))
    for member, _ in allotted:
        check_normalised(member.module, bn_loader)
    tally: _Classes | _Moments | None = None
    total = sum(count for _, count in allotted)
    tell = _line if progress is True else progress or None
    torch = require("torch", "torch")
    for member, count in allotted:
        run = forward or _forward
        with torch.no_grad(), member.restoring() as module:
            module.eval()
            for _ in range(count):
                write(draw(member), module)
                if bn_loader is not None:
                    refresh(module, bn_loader, run)
                outputs, noise = _outputs(module, loader, run, 1 if tally is None else tally.n + 1)
                if tally is None:
                    tally = _tally(task, outputs, noise, given)
                tally.add(outputs, noise)
                if tell is not None:
                    tell(tally.n, total)
    assert tally is not None  # there is at least one draw
    return tally.result()


def _variances(noise_variance: ArrayLike) -> Floats:
    """Variances of the noise, as they were given."""
    try:
        given = np.asarray(noise_variance, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.ndim > 1 or not np.all((given >= 0) & (given < np.inf)):
        raise ValueError(
            f"noise_variance={noise_variance!r}; expected a number from 0 on, such as the mean square of residuals of "
            "rows left out, or one for each output."
        )
    return given.reshape(()) if given.size == 1 else given


def _tally(task: str | None, outputs: Tensor, noise: Tensor | None, given: Floats) -> _Classes | _Moments:
    """What is averaged: moments where noise is told of or asked for, chances of classes else."""
    if task == "regression" or (task is None and (noise is not None or np.any(given > 0))):
        return _Moments(given)
    if task is None and outputs.ndim == 1:
        warnings.warn(
            "the net has one output for each row, which was taken for the logit of class 1 of two. If it predicts a "
            "number, write task='regression'; task='classification' says that it is a logit.",
            OneOutput,
            stacklevel=4,
        )
    return _Classes()


def _forward(module: Any, batch: Any) -> Any:
    """The module on a batch, or on its first entry, wherever the module is now."""
    x = batch[0] if isinstance(batch, tuple | list) else batch
    if not hasattr(x, "to"):
        raise TypeError(
            f"a batch is a {type(x).__name__}; expected a tensor or a tuple that begins with one. For others pass "
            "forward=, a function of module and batch that returns the outputs."
        )
    return module(x.to(next(module.parameters()).device))


def _outputs(
    module: Any, loader: Iterable[Any], run: Callable[[Any, Any], Any], number: int
) -> tuple[Tensor, Tensor | None]:
    """Outputs of all rows in float64 on the host, and variances of the noise where they are given."""
    torch = require("torch", "torch")
    means, noises = [], []
    for batch in loader:
        given = run(module, batch)
        mean, noise = given if isinstance(given, tuple) else (given, None)
        means.append(mean.detach().double().cpu())
        if noise is not None:
            noises.append(noise.detach().double().cpu())
    if not means:
        raise ValueError("the loader gave no batches; expected rows to predict.")
    outputs = _flat(torch.cat(means))
    if not torch.isfinite(outputs).all():
        raise FloatingPointError(
            f"draw {number} gave outputs that are NaN or infinite; try a smaller scale, or collect snapshots at a "
            "lower learning rate."
        )
    return outputs, _flat(torch.cat(noises)) if noises else None


def _flat(outputs: Tensor) -> Tensor:
    return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs


def _entropy(p: Floats) -> Floats:
    return np.asarray(-np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=1))


def _repeatable(loader: Iterable[Any], name: str) -> Iterable[Any]:
    """Rows must come in the same order for every draw."""
    torch = require("torch", "torch")
    if isinstance(getattr(_batches(loader, name), "sampler", None), torch.utils.data.RandomSampler):
        raise ValueError(f"the {name} shuffles its rows, which every draw must see in the same order; shuffle=False.")
    return _again(loader)


def _batches(loader: Any, name: str) -> Any:
    """The same, unless it gives rows one by one, each of which would be taken for a batch."""
    torch = require("torch", "torch")
    data = torch.utils.data
    if torch.is_tensor(loader) or isinstance(loader, np.ndarray):
        rows = "X" if torch.is_tensor(loader) else "torch.as_tensor(X)"
        raise TypeError(
            f"{name} is one array of shape {tuple(loader.shape)}, each row of which would be taken for a batch; "
            f"give batches of rows: [{rows}], or a DataLoader."
        )
    if isinstance(loader, data.Dataset) and not isinstance(loader, data.IterableDataset):
        raise TypeError(
            f"{name} is a {type(loader).__name__}, which gives one row after another; give batches of rows: "
            "DataLoader(dataset, batch_size=256)."
        )
    return loader


def _again(loader: Iterable[Any]) -> Iterable[Any]:
    """Something that can be gone through more than once."""
    return list(loader) if isinstance(loader, Iterator) else loader


class _SameOrder:
    """Batches of a loader, refused where a pass gives others than the first: answers of rows would be mixed up.

    Samplers of any kind, and data that are drawn anew, can shuffle; only the rows can tell. The first batch is kept
    whole, of the others the first row.
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader, self._first, self._done = loader, list[Tensor | None](), False

    def __iter__(self) -> Iterator[Any]:
        n = 0
        for n, batch in enumerate(self._loader, start=1):
            lead = _lead(batch)
            if lead is not None and n > 1 and lead.ndim:
                lead = lead[:1]
            if not self._done:
                self._first.append(None if lead is None else lead.detach().clone())
            elif n > len(self._first) or not _equal(lead, self._first[n - 1]):
                raise ValueError(
                    f"batch {n - 1} of the loader holds other rows than at the first draw, and every draw must see the "
                    "same rows in the same order; give a loader that draws nothing by chance (shuffle=False, no random "
                    "sampler or augmentation), or list(loader)."
                )
            yield batch
        if self._done and n < len(self._first):
            raise ValueError(
                f"the loader gave {n} batches after {len(self._first)} at the first draw, and every draw must see the "
                "same rows; give one that can be gone through again, or list(loader)."
            )
        self._done = True


def _lead(batch: Any) -> Tensor | None:
    """The first tensor of a batch."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, tuple | list):
        return next((lead for part in batch if (lead := _lead(part)) is not None), None)
    return batch if require("torch", "torch").is_tensor(batch) else None


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    """Whether they are the same, NaN at the same places."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _line(done: int, total: int) -> None:
    sys.stderr.write(f"\rdraw {done}/{total}" + ("\n" if done == total else ""))
    sys.stderr.flush()
