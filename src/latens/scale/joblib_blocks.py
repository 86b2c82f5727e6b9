"""Blocks of files on the backend of joblib that is active: processes of this machine, Dask, Ray or Spark.

    with joblib.parallel_config(backend="loky", n_jobs=4):
        model.fit(latens.scan("rows/*.parquet"))

Only names of blocks travel, and the sums of each come back; they are added in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from latens.core import Sweep
from latens.inference.sweep import gather
from latens.system.threads import one_blas_thread

__all__ = ["JoblibSweep", "active_sweep"]

AT_ONCE = 256  # blocks whose sums are held before they are added


@dataclass(frozen=True)
class JoblibSweep:
    """A pass by the workers of a backend, which is asked for anew each time."""

    def __call__(
        self, step: Callable[[Any, Any], tuple[Any, Any]], handles: Sequence[Any], carried: Sequence[Any], /
    ) -> tuple[tuple[Any, ...], Any]:
        return gather(self._pairs(step, list(zip(handles, carried, strict=True))))

    def _pairs(self, step: Any, blocks: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for at in range(0, len(blocks), AT_ONCE):
            yield from Parallel()(
                delayed(_take_step)(step, handle, local) for handle, local in blocks[at : at + AT_ONCE]
            )


def active_sweep() -> Sweep | None:
    """The sweep of a backend of other processes that the caller has chosen; None where nobody did.

    Without a choice joblib names its own processes, with no number of them.
    """
    backend, n_jobs = get_active_backend()
    unasked = type(backend).__name__ == "LokyBackend" and n_jobs is None
    return None if unasked or n_jobs == 1 or getattr(backend, "uses_threads", False) else JoblibSweep()


def _take_step(step: Callable[[Any, Any], tuple[Any, Any]], handle: Any, carried: Any) -> tuple[Any, Any]:
    with one_blas_thread():
        return step(handle, carried)
