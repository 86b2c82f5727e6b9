"""The density of a Gaussian of low rank plus a diagonal on the device where its rows lie, block by block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from latens.families.point_normal_gamma import LOG_2PI
from latens.nets.algebra.low_rank_update import blocks
from latens.nets.selection import Tensor
from latens.system.optional_imports import require

__all__ = ["log_density", "log_volume", "without_autocast"]

Method = TypeVar("Method", bound=Callable[..., Any])


def without_autocast(method: Method) -> Method:
    """Run a method without gradients, and in its own precision even inside an autocast region."""

    @functools.wraps(method)
    def in_own_precision(self: Any, *args: Any, **named: Any) -> Any:
        torch = require("torch", "torch")
        with torch.no_grad(), torch.autocast(self._device_type, enabled=False):
            return method(self, *args, **named)

    return cast("Method", in_own_precision)


def log_density(gap: Tensor, rows: Tensor, mixing: Tensor, noise: Tensor) -> float:
    """Of weights `gap` away from the mean, by an inverse of K x K."""
    stacked, quadratic = np.zeros(len(mixing)), 0.0
    least = _least(noise)
    for part in blocks(len(gap)):
        light = gap[part] / noise[part].clamp_min(least).sqrt()
        scaled = (mixing @ rows[:, part]) / noise[part].clamp_min(least).sqrt()
        stacked += (scaled @ light).double().cpu().numpy()
        quadratic += float((light.double() ** 2).sum())
    inner, log_det = _inner(rows, mixing, noise)
    quadratic -= float(stacked @ np.linalg.solve(inner, stacked))
    return -0.5 * (quadratic + log_det + len(gap) * LOG_2PI)


def log_volume(rows: Tensor, mixing: Tensor, noise: Tensor) -> float:
    """1/2 log |2 pi covariance|."""
    return 0.5 * (_inner(rows, mixing, noise)[1] + len(noise) * LOG_2PI)


def _inner(rows: Tensor, mixing: Tensor, noise: Tensor) -> tuple[np.ndarray, float]:
    """I + F diag(1 / noise) F', and the log determinant of the covariance."""
    inner, log_det = np.eye(len(mixing)), 0.0
    least = _least(noise)
    for part in blocks(len(noise)):
        spread = noise[part].clamp_min(least)
        scaled = (mixing @ rows[:, part]) / spread.sqrt()
        inner += (scaled @ scaled.T).double().cpu().numpy()
        log_det += float(spread.double().log().sum())
    return inner, log_det + float(np.linalg.slogdet(inner)[1])


def _least(noise: Tensor) -> float:
    """A weight that never moved has no variance; it is taken to be known to the last digit of the others."""
    finfo = require("torch", "torch").finfo(noise.dtype)
    return max(float(noise.mean()) * float(finfo.eps) ** 2, float(finfo.tiny))
