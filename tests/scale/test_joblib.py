"""Files on the backends of joblib: the bits of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import latens
from latens.inference.sweep import serial_sweep
from latens.scale.joblib_blocks import JoblibSweep

RNG = np.random.default_rng(3)
X = 4 * RNG.normal(size=(3, 5))[RNG.integers(0, 3, 1200)] + RNG.normal(size=(1200, 5))


def mixture() -> Any:
    return latens.GaussianMixture(3, random_state=0, moves=False, max_iter=4, tol=0)


def saved(folder: Path) -> Path:
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def same_bits(a: Any, b: Any) -> None:
    assert a.elbo_history_.tobytes() == b.elbo_history_.tobytes()
    assert a.means_.tobytes() == b.means_.tobytes()


def test_blocks_stay_in_the_process_unless_another_backend_is_chosen(tmp_path: Path) -> None:
    scan = latens.scan(saved(tmp_path), block_rows=300)
    assert scan.source().sweep is serial_sweep
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert scan.source().sweep is serial_sweep
    with joblib.parallel_config(backend="loky", n_jobs=1):
        assert scan.source().sweep is serial_sweep
    with joblib.parallel_config(backend="loky", n_jobs=2):
        source = scan.source()
        assert (source.sweep, source.remote) == (JoblibSweep(), True)
        blocks = latens.scan(lambda: iter([X]))  # an iterator cannot be sent
        assert blocks.source().sweep is serial_sweep


@pytest.mark.slow
def test_processes_give_the_bits_of_one(tmp_path: Path) -> None:
    scan = latens.scan(saved(tmp_path), block_rows=300)
    alone = mixture().fit(scan)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        same_bits(mixture().fit(scan), alone)


@pytest.mark.extras
def test_a_dask_backend_over_parquet_gives_the_bits_of_one(tmp_path: Path) -> None:
    import pandas
    from distributed import Client, LocalCluster

    pandas.DataFrame(X, columns=list("abcde")).to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    scan = latens.scan(tmp_path / "rows.parquet")
    alone = mixture().fit(scan)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        same_bits(mixture().fit(scan), alone)


@pytest.mark.slow
def test_an_error_of_a_worker_reaches_the_caller(tmp_path: Path) -> None:
    scan = latens.scan(saved(tmp_path), block_rows=300)
    np.save(tmp_path / "rows.npy", X[:-1])
    with joblib.parallel_config(backend="loky", n_jobs=2), pytest.raises(ValueError, match="has changed since it was"):
        mixture().fit(scan)
