"""Several posteriors, each about its own mode, as one mixture.

w ~ sum_m weight_m Normal(mean_m, S_m)          weight_m equal, given, or from the Laplace evidence of each mode
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from latens.array import Floats
from latens.nets.algebra.density import log_volume, without_autocast
from latens.nets.collector import Collector, check_same
from latens.nets.factor_posterior import FactorPosterior
from latens.nets.online_factor_posterior import OnlineFactorPosterior
from latens.nets.sampling import Draws
from latens.nets.selection import Tensor
from latens.nets.swag import SWAG
from latens.nets.tensor_file import read_tensors, write_tensors
from latens.system.optional_imports import require

__all__ = ["MultiPosterior"]

KINDS: dict[str, type[Collector]] = {kind.__name__: kind for kind in (FactorPosterior, OnlineFactorPosterior, SWAG)}


class MultiPosterior(Draws):
    """Mixture of posteriors from several trainings of one architecture.

    Parameters
    ----------
    members : list of SWAG, FactorPosterior or OnlineFactorPosterior
        Each with its own module; of the same weights.
    weights : "equal", "evidence" or sequence of float
        Evidence: proportional to exp(log_joint) sqrt|2 pi S|, Laplace's approximation; needs `log_joints`.
    log_joints : sequence of float, optional
        For each member the log-likelihood of all training rows plus the log prior, at its mean.

    Attributes
    ----------
    weights : ndarray of shape (M,)
        They sum to one.

    Examples
    --------
    >>> import torch
    >>> from latens.nets import SWAG, MultiPosterior
    >>> members = [SWAG(torch.nn.Linear(2, 1), rank=0) for _ in range(3)]
    >>> for member in members:
    ...     for _ in range(4):
    ...         _ = torch.nn.init.normal_(member.module.weight)
    ...         _ = member.update()
    >>> MultiPosterior(members).weights
    array([0.3333, 0.3333, 0.3333])
    """

    def __init__(
        self,
        members: Sequence[Collector],
        weights: str | Sequence[float] = "equal",
        log_joints: Sequence[float] | None = None,
    ) -> None:
        self.members = list(members)
        if not self.members or not all(isinstance(member, Collector) for member in self.members):
            raise ValueError("members= is no list of posteriors; expected at least one SWAG or FactorPosterior.")
        for member in self.members[1:]:
            check_same(self.members[0].selection, member.selection)
        self.module = self.members[0].module
        self.weights = self._weights_of(weights, log_joints)

    def __repr__(self) -> str:
        return f"MultiPosterior of {len(self.members)}: {', '.join(map(repr, self.members))}"

    @property
    def _device_type(self) -> str:
        return self.members[0]._device_type

    @without_autocast
    def _weights_of(self, weights: str | Sequence[float], log_joints: Sequence[float] | None) -> Floats:
        m = len(self.members)
        if isinstance(weights, str) and weights == "equal":
            return np.full(m, 1 / m)
        if isinstance(weights, str) and weights == "evidence":
            if log_joints is None or np.shape(log_joints) != (m,) or not np.isfinite(log_joints).all():
                raise ValueError(
                    f"weights='evidence' needs log_joints=, {m} finite numbers: the log-likelihood of all training "
                    "rows plus the log prior at the mean of each member."
                )
            volumes = [log_volume(member._rows, *member._low_rank()) for member in self.members]
            evidence = np.asarray(log_joints, dtype=float) + volumes
            return np.asarray(np.exp(evidence - logsumexp(evidence)))
        given = np.asarray(weights, dtype=float) if not isinstance(weights, str) else np.zeros(0)
        if given.shape != (m,) or not np.isfinite(given).all() or (given < 0).any() or given.sum() == 0:
            raise ValueError(f"weights={weights!r}; expected 'equal', 'evidence' or {m} numbers from 0 on.")
        return np.asarray(given / given.sum())

    @property
    def mean(self) -> Tensor:
        """(D,), mean of the mixture."""
        first = self.members[0].mean
        parts = (w * member.mean.to(first) for w, member in zip(self.weights, self.members, strict=True))
        return sum(parts, start=first.new_zeros(first.shape))

    @without_autocast
    def covariance_factors(self) -> tuple[Tensor, Tensor]:
        """The mixture's own covariance as a few factors and noise in each weight.

        Returns
        -------
        factors : Tensor of shape (K, D)
        noise : Tensor of shape (D,)
            The covariance within and between members is factors' factors + diag(noise).
        """
        torch = require("torch", "torch")
        mean, rows, noise = self.mean, [], 0.0
        for w, member in zip(self.weights, self.members, strict=True):
            factors, own = (t.to(mean) for t in member.covariance_factors())
            rows += [w**0.5 * factors, w**0.5 * (member.mean.to(mean) - mean)[None]]
            noise = noise + w * own
        return torch.cat(rows), noise

    def log_prob(self, weights: Tensor | Mapping[str, Tensor] | None = None) -> float:
        """Log density of weights.

        Parameters
        ----------
        weights : Tensor, dict of Tensor or None
            Those of the first member's module (None), a state dict, or a vector (D,).

        Returns
        -------
        float
            In nats.
        """
        at = self.members[0].selection.vector(weights)
        terms = [member.log_prob(at) for member in self.members]
        return float(logsumexp(terms, b=self.weights))

    def _draw(self, scale: float, source: Any) -> dict[str, Tensor]:
        torch = require("torch", "torch")
        device = source.device if source is not None else "cpu"
        chances = torch.as_tensor(self.weights, device=device)
        chosen = int(torch.multinomial(chances, 1, generator=source))
        return self.members[chosen]._draw(scale, source)

    def _allotted(self, n: int) -> list[tuple[Collector, int]]:
        """As near to the weights as whole numbers can be."""
        ends = np.searchsorted(np.cumsum(self.weights)[:-1], (np.arange(n) + 0.5) / n, side="right")
        counts = np.bincount(ends, minlength=len(self.members))
        return [(member, int(count)) for member, count in zip(self.members, counts, strict=True) if count]

    def merge(self, other: MultiPosterior) -> Self:
        """Add the members of another mixture, each with its weight times its mixture's share of all members.

        Parameters
        ----------
        other : MultiPosterior
            It stays as it is.

        Returns
        -------
        self
        """
        check_same(self.members[0].selection, other.members[0].selection)
        m, k = len(self.members), len(other.members)
        self.weights = np.concatenate([self.weights * m, other.weights * k]) / (m + k)
        self.members += other.members
        return self

    def state_dict(self) -> dict[str, Any]:
        """Return what the members know and their weights, as plain values and tensors.

        Returns
        -------
        dict
            For `load`.
        """
        return {
            "kind": "MultiPosterior",
            "weights": [float(w) for w in self.weights],
            "members": [member.state_dict() for member in self.members],
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all members to one file in the safetensors layout; `load` reads it.

        Parameters
        ----------
        path : str or path-like
            Where to write; no suffix is added.

        Returns
        -------
        pathlib.Path
            The path.
        """
        return write_tensors(Path(path), self.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], modules: Sequence[Any]) -> Self:
        """Read a mixture that `save` wrote, for as many modules as it has members.

        Parameters
        ----------
        path : str or path-like
        modules : sequence of torch.nn.Module
            As many as the mixture has members.

        Returns
        -------
        MultiPosterior

        Raises
        ------
        latens.errors.FileRefused
            If the file is none, or damaged.
        """
        state = read_tensors(Path(path))
        if state["kind"] != "MultiPosterior":
            raise ValueError(f"the file holds a {state['kind']}; read it with {state['kind']}.load.")
        if len(modules) != len(state["members"]):
            raise ValueError(f"{len(modules)} modules were given; the file holds {len(state['members'])} members.")
        pairs = zip(state["members"], modules, strict=True)
        return cls([KINDS[own["kind"]]._from_state(own, module) for own, module in pairs], weights=state["weights"])
