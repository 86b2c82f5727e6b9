"""Which weights of a module are meant, and their way into one long vector and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from latens.system.optional_imports import require

__all__ = ["Chooser", "Selection", "Tensor", "plain", "write"]

Tensor = Any  # torch.Tensor; torch is an extra, so annotations do not name it
Chooser = str | Iterable[str] | Callable[[str, Any], bool] | None


def plain(module: Any) -> Any:
    """The module inside wrappers that only change its names: torch.compile, DataParallel."""
    parallel = require("torch", "torch").nn.parallel
    wrappers = (parallel.DataParallel, parallel.DistributedDataParallel)
    while True:
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif isinstance(module, wrappers):
            module = module.module
        else:
            return module


class Selection:
    """Names, shapes and order of the chosen weights.

    The vector lies on the device of the first of them, in float32, or in float64 if one of them is float64.
    """

    def __init__(self, module: Any, chosen: Chooser) -> None:
        torch = require("torch", "torch")
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"module is a {type(module).__name__}; expected a torch.nn.Module.")
        self.module = plain(module)
        parameters = dict(self.module.named_parameters())
        self.names = _chosen(parameters, chosen)
        picked = [parameters[name] for name in self.names]
        odd = [name for name, p in zip(self.names, picked, strict=True) if not p.is_floating_point()]
        if odd:
            raise ValueError(f"the weights {odd[0]!r} are {parameters[odd[0]].dtype}; expected real floating numbers.")
        self._picked: list[Any] = []
        self._links: list[tuple[dict[str, Any], str, Any]] = []
        self.shapes = [tuple(p.shape) for p in picked]
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.device = picked[0].device
        self.dtype = torch.float64 if any(p.dtype == torch.float64 for p in picked) else torch.float32

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def parameters(self) -> list[Any]:
        """The live parameters: a module may replace them, so each link of the way to them is looked at each time."""
        if not self._links or not all(there.get(name) is found for there, name, found in self._links):
            self._look_up()
        return self._picked

    def _look_up(self) -> None:
        found = dict(self.module.named_parameters())
        missing = [name for name in self.names if name not in found]
        if missing:
            raise KeyError(f"the module no longer has the weights {missing[0]!r}; make a new posterior for it.")
        self._picked, self._links = [found[name] for name in self.names], []
        for name in self.names:
            *way, last = name.split(".")
            owner = self.module
            for part in way:
                self._links.append((owner._modules, part, owner._modules.get(part)))
                owner = owner._modules[part]
            self._links.append((owner._parameters, last, owner._parameters.get(last)))

    def gather(self) -> Tensor:
        """The weights as they are now, (D,), a copy."""
        torch = require("torch", "torch")
        with torch.no_grad():
            flat = [p.reshape(-1) for p in self.parameters]
            if any(p.dtype != self.dtype or p.device != self.device for p in flat):
                flat = [p.to(self.device, self.dtype) for p in flat]
            return torch.cat(flat)

    def parts(self, vector: Tensor) -> Iterator[Tensor]:
        """Views of a vector in the shapes of the weights."""
        for part, shape in zip(vector.split(self.sizes), self.shapes, strict=True):
            yield part.reshape(shape)

    def state(self, vector: Tensor) -> dict[str, Tensor]:
        """A vector as a state dict, each tensor in the dtype and on the device of its weights."""
        pairs = zip(self.names, self.parts(vector), self.parameters, strict=True)
        return {name: part.to(p.device, p.dtype, copy=True) for name, part, p in pairs}

    def vector(self, weights: Any) -> Tensor:
        """(D,), of the module's own weights (None), a state dict, or a vector."""
        torch = require("torch", "torch")
        if weights is None:
            return self.gather()
        if isinstance(weights, Mapping):
            missing = [name for name in self.names if name not in weights]
            if missing:
                raise KeyError(f"the state dict lacks {missing[0]!r}; expected {len(self.names)} chosen weights.")
            weights = torch.cat([weights[n].detach().reshape(-1).to(self.device, self.dtype) for n in self.names])
        if weights.shape != (self.size,):
            raise ValueError(f"weights of shape {tuple(weights.shape)} were given; expected ({self.size},).")
        return weights.detach().to(self.device, self.dtype)


def write(state: Mapping[str, Tensor], into: Any) -> None:
    """Copy a state dict into a module that has weights of these names and shapes; all of it or nothing."""
    there = dict(plain(into).named_parameters())
    for name, values in state.items():
        if name not in there or there[name].shape != values.shape:
            raise ValueError(
                f"the module has no weights {name!r} of shape {tuple(values.shape)}; give one built like the "
                "posterior's own."
            )
    for name, values in state.items():
        there[name].data.copy_(values)


def _chosen(parameters: dict[str, Any], chosen: Chooser) -> list[str]:
    """Names in the order of the module."""
    if chosen is None:
        names = [name for name, p in parameters.items() if p.requires_grad]
        if not names:
            raise ValueError("the module has no weights that are trained; name those meant with parameters=[...].")
        return names
    if callable(chosen):
        names = [name for name, p in parameters.items() if chosen(name, p)]
        if not names:
            raise ValueError(f"parameters= chose none of {_listed(parameters)}.")
        return names
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    selected: set[str] = set()
    for entry in wanted:
        prefix = entry.rstrip(".") + "."
        found = [name for name, p in parameters.items() if name.startswith(prefix) and p.requires_grad]
        found += [entry] if entry in parameters else []
        if not found:
            raise ValueError(f"parameters= names {entry!r}; the module's weights are {_listed(parameters)}.")
        selected.update(found)
    if not selected:
        raise ValueError(f"parameters= is empty; name some of {_listed(parameters)}.")
    return [name for name in parameters if name in selected]


def _listed(parameters: dict[str, Any]) -> str:
    names = list(parameters)
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
