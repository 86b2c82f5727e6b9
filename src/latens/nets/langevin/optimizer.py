"""The sampler of `langevin` as an optimiser of torch: once it has learnt its preconditioner, its steps are draws.

    pilots     w <- w - lr g, then w <- w - eta P g + noise;   three gradients a step tell curvature H and noise C of g
    draws      w <- w - eta P g + Normal(0, (2 eta - eta^2) P - eta^2 P C P),    P = H^-1 as it was estimated

g is the gradient of minus the log posterior: n_rows times that of the mean loss, plus prior_precision times w. Exact
where the loss is quadratic; elsewhere to first order in eta, about the place where the pilots ended. H and C are
whole matrices on the host, so that this is for a few thousand weights: a small net, a last layer, an adapter.

The class is put together on first use, from torch.optim.Optimizer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from latens.array import Floats
from latens.nets.langevin.sampler import Kernel, Secants, probe
from latens.system.optional_imports import require
from latens.system.seeds import Seed, generator

__all__ = ["LangevinOptimizer"]  # noqa: F822 (made by __getattr__)

MOST_WEIGHTS = 4000  # their curvature is a matrix of so many squared
LENGTHS = (3, 6)  # of the pilots by default, in numbers of weights


class LangevinSteps:
    """Optimiser whose steps become draws from the posterior of the weights.

    Parameters
    ----------
    params : iterable of parameters, or of groups of them
        At most 4,000 weights in all.
    n_rows : int
        Rows of the training set. The loss is the mean over the rows of a batch of minus their log-likelihood:
        cross-entropy; for regression half the squared error divided by the variance of the noise.
    lr : float
        Of the plain descent that goes first, on the mean loss.
    prior_precision : float
        Of a normal prior of the weights about 0; the curvature is taken to be at least this.
    pilots : tuple of int, optional
        Steps spent on learning the preconditioner: the first by descent, each later one with the preconditioner of the
        one before. At least two for each weight; three and six for each weight by default.
    share : float
        Of the largest step that leaves room for injected noise, between 0 and 1. The default suits a loss that is
        quadratic in the weights, such as that of a last layer; for whole nets begin with 0.02.
    random_state : int, Generator or None

    Attributes
    ----------
    sampling : bool
        Whether the pilots are over: from then on the weights are draws, to be collected by `update()`.

    Notes
    -----
    Train the net as usual first, and hand it over trained: curvature learnt on the way down is that of another place.
    While the pilots last, `step` needs a closure that computes loss and gradients of one batch, and calls it three
    times; a net with dropout answers differently each time, and so misleads it. Afterwards `step()` after
    `loss.backward()` will do. Draw the rows of a batch with replacement, or all of them: shuffled epochs have less
    noise in the long run than their batches show.

    Examples
    --------
    >>> import torch
    >>> from latens.nets import FactorPosterior, LangevinOptimizer
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(100, 2)
    >>> y = x.sum(1) + torch.randn(100)
    >>> net = torch.nn.Linear(2, 1)
    >>> sampler = LangevinOptimizer(net.parameters(), n_rows=100, lr=0.1, random_state=0)
    >>> posterior = FactorPosterior(net, rank=2)
    >>> for step in range(1000):
    ...     rows = torch.randint(100, (20,))
    ...     def closure():
    ...         sampler.zero_grad()
    ...         loss = 0.5 * (net(x[rows])[:, 0] - y[rows]).square().mean()
    ...         loss.backward()
    ...         return loss
    ...     _ = sampler.step(closure)
    ...     if sampler.sampling:
    ...         _ = posterior.update()
    >>> posterior.n
    972
    >>> [round(sd, 1) for sd in posterior.variance.sqrt().tolist()]  # 1/sqrt(n_rows), as it should be
    [0.1, 0.1, 0.1]
    """

    param_groups: list[dict[str, Any]]

    def __init__(
        self,
        params: Iterable[Any],
        n_rows: int,
        lr: float = 0.01,
        prior_precision: float = 1.0,
        pilots: tuple[int, ...] | None = None,
        share: float = 0.6,
        random_state: Seed = None,
    ) -> None:
        for name, value, most in (
            ("lr", lr, np.inf),
            ("prior_precision", prior_precision, np.inf),
            ("share", share, 1),
        ):
            if not 0 < value < most:
                raise ValueError(f"{name}={value!r}; expected a number above 0{' and below 1' if most == 1 else ''}.")
        if isinstance(n_rows, bool) or int(n_rows) != n_rows or n_rows < 1:
            raise ValueError(f"n_rows={n_rows!r}; expected the number of training rows.")
        super().__init__(params, {"lr": lr})  # type: ignore[call-arg]  # torch's, an optional package
        size = sum(p.numel() for p in self._weights)
        if size > MOST_WEIGHTS:
            raise ValueError(
                f"{size} weights were given, whose curvature would be a matrix of {size} x {size}; expected at most "
                f"{MOST_WEIGHTS}: give those of the last layer, and train the others with an optimiser of their own."
            )
        self.n_rows, self.prior_precision, self.share = int(n_rows), prior_precision, share
        self.pilots = tuple(k * size for k in LENGTHS) if pilots is None else tuple(pilots)
        if not self.pilots or min(self.pilots) < 2 * size:
            raise ValueError(
                f"pilots={pilots!r}; expected at least {2 * size} steps in each, twice the {size} weights."
            )
        self._rng = generator(random_state)
        self._pilot, self._secants = 0, Secants.empty(size)
        self._kernel: Kernel | None = None
        self._before: tuple[Floats, Floats] | None = None  # weights and gradient of the step before

    @property
    def sampling(self) -> bool:
        return self._pilot == len(self.pilots)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradient anew and returns the loss.

        Returns
        -------
        loss or None
            What `closure` computed at the weights before the step.

        Raises
        ------
        ValueError
            If there is no closure while the pilots last.
        FloatingPointError
            If a gradient is NaN or infinite; the weights are then as they were.
        """
        weights = self._read()
        loss, slope = self._gradient(closure)
        if self._kernel is not None and self.sampling:
            self._write(self._kernel.move(weights, slope, self._rng))
            return loss
        if closure is None:
            raise ValueError(
                f"the first {sum(self.pilots)} steps learn the preconditioner from several gradients of the same rows; "
                "call step(closure), where closure() clears the gradients, computes the loss and calls backward()."
            )
        try:
            if self._before is not None:
                self._look(closure, weights, slope)
        finally:
            self._write(weights)
        self._before = weights, slope
        if self._secants.n == self.pilots[self._pilot]:
            self._kernel = Kernel.of(*self._secants.curvature(self.prior_precision), self.share)
            self._pilot, self._secants, self._before = self._pilot + 1, Secants.empty(len(weights)), None
        if self._kernel is None:
            self._write(weights - self._rates / self.n_rows * slope)
        else:
            self._write(self._kernel.move(weights, slope, self._rng))
        return loss

    def _look(self, closure: Callable[[], Any], weights: Floats, slope: Floats) -> None:
        """The same rows at the weights before and a little beside the present ones."""
        there, slope_there = self._before  # type: ignore[misc]  # not None: a step was made before this one
        self._write(there)
        gap = self._gradient(closure)[1] - slope_there
        step = probe(weights, self._rng)
        self._write(weights + step)
        rise = self._gradient(closure)[1] - slope
        self._secants = self._secants.add(step, rise, gap)

    # weights and gradients as vectors on the host

    @property
    def _weights(self) -> list[Any]:
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def _rates(self) -> Floats:
        """Of each weight: groups may have rates of their own, and a schedule may change them."""
        groups = self.param_groups
        return np.repeat([group["lr"] for group in groups], [sum(p.numel() for p in g["params"]) for g in groups])

    def _read(self) -> Floats:
        return np.concatenate([p.detach().double().cpu().numpy().ravel() for p in self._weights])

    def _write(self, vector: Floats) -> None:
        torch = require("torch", "torch")
        start = 0
        for p in self._weights:
            part = torch.as_tensor(vector[start : start + p.numel()].reshape(p.shape))
            p.data.copy_(part)
            start += p.numel()

    def _gradient(self, closure: Callable[[], Any] | None) -> tuple[Any, Floats]:
        """The loss, and the gradient of minus the log posterior at the present weights."""
        torch = require("torch", "torch")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        slopes = [(torch.zeros_like(p) if p.grad is None else p.grad).detach() for p in self._weights]
        slope = np.concatenate([g.double().cpu().numpy().ravel() for g in slopes])
        if not np.isfinite(slope).all():
            raise FloatingPointError(
                "a gradient is NaN or infinite; the training has diverged: try a lower lr or share."
            )
        return loss, self.n_rows * slope + self.prior_precision * self._read()

    # checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return the state, with what was learnt so far as plain values and tensors.

        Returns
        -------
        dict
            As of every optimiser of torch.
        """
        torch = require("torch", "torch")
        matrices = [self._secants.steps, self._secants.rises, self._secants.noise]
        if self._kernel is not None:
            matrices += [self._kernel.preconditioner, self._kernel.root]
        before = [] if self._before is None else list(self._before)
        learnt = {
            "pilot": self._pilot,
            "n": self._secants.n,
            "step": 0.0 if self._kernel is None else self._kernel.step,
            "matrices": [torch.tensor(matrix) for matrix in matrices],
            "before": [torch.tensor(vector) for vector in before],
            "random": self._rng.bit_generator.state,
        }
        return {**super().state_dict(), "langevin": learnt}  # type: ignore[misc]  # torch's

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` gave.
        """
        if "langevin" not in state_dict:
            raise ValueError("the state is not that of a LangevinOptimizer: it has no entry 'langevin'.")
        learnt = state_dict["langevin"]
        matrices = [matrix.double().cpu().numpy().copy() for matrix in learnt["matrices"]]
        if any(matrix.shape != self._secants.steps.shape for matrix in matrices):
            raise ValueError(f"the state is of other weights: its curvature has shape {matrices[0].shape}.")
        rest = {key: value for key, value in state_dict.items() if key != "langevin"}
        super().load_state_dict(rest)  # type: ignore[misc]  # torch's
        self._pilot = int(learnt["pilot"])
        self._secants = Secants(int(learnt["n"]), *matrices[:3])
        self._kernel = Kernel(float(learnt["step"]), *matrices[3:]) if matrices[3:] else None
        before = [vector.double().cpu().numpy().copy() for vector in learnt["before"]]
        self._before = (before[0], before[1]) if before else None
        self._rng.bit_generator.state = learnt["random"]


@functools.cache
def _made() -> type:
    base = require("torch", "torch").optim.Optimizer
    notes = {"__doc__": LangevinSteps.__doc__, "__module__": __name__}
    return type("LangevinOptimizer", (LangevinSteps, base), notes)


def __getattr__(name: str) -> Any:
    if name == "LangevinOptimizer":
        return _made()
    raise AttributeError(f"{__name__} has no {name!r}.")
