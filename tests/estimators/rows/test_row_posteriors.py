"""Local posteriors of rows that are read in blocks: kept in memory, kept in a scratch file, or found anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.system import scratch
from tests.estimators.rows.test_scans import rows

SHORT = {"random_state": 0, "n_init": 1, "max_iter": 150}
FITS: dict[str, tuple[Callable[..., Any], str]] = {  # models whose local step is not exact
    "binary, mean field": (
        lambda **options: latens.BinaryFactorAnalysis(3, e_step="mean-field", **SHORT, **options),
        "switches",
    ),
    "noisy-OR, truncated": (lambda **options: latens.NoisyOr(3, e_step="truncated", **SHORT, **options), "binary"),
    "ICA": (lambda **options: latens.NoisyICA(2, **SHORT, **options), "sources"),
    "views of 0 and 1": (lambda **options: latens.MultiViewFactorAnalysis(2, **SHORT, **options), "binary"),
}


@pytest.mark.parametrize("name", FITS)
def test_kept_posteriors_give_the_fit_of_memory(name: str) -> None:
    make, kind = FITS[name]
    x = rows(kind)
    memory, in_blocks = make().fit(x), make(row_posteriors="keep").fit(latens.scan(x, block_rows=97))
    assert (in_blocks.n_components_, in_blocks.n_iter_) == (memory.n_components_, memory.n_iter_)
    assert in_blocks.elbo_ == pytest.approx(memory.elbo_, abs=1e-6)


@pytest.mark.parametrize("name", FITS)
def test_a_scratch_file_gives_the_same_bits_and_is_gone_afterwards(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, kind = FITS[name]
    scan = latens.scan(rows(kind), block_rows=97)
    in_memory = make().fit(scan)  # "auto" keeps them, and they are few
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch.Scratch.__init__, "__defaults__", (0,))
    seen, put = [], scratch.Scratch.put

    def note(self: scratch.Scratch, value: Any) -> Any:
        stored = put(self, value)
        if scratch._size(value):  # without a component there is nothing to write
            seen.append(stored.path)
        return stored

    monkeypatch.setattr(scratch.Scratch, "put", note)
    in_file = make().fit(scan)
    assert in_file.elbo_history_.tobytes() == in_memory.elbo_history_.tobytes()
    assert None not in seen
    assert {path.parent.parent for path in seen} == {tmp_path}
    assert not any(path.exists() for path in seen)


@pytest.mark.parametrize("name", FITS)
def test_posteriors_that_are_found_anew_reach_the_bound_of_kept_ones(name: str) -> None:
    make, kind = FITS[name]
    x = rows(kind)
    keeping, recomputing = (
        make(row_posteriors=how).fit(latens.scan(x, block_rows=97)) for how in ("keep", "recompute")
    )
    assert recomputing.elbo_ >= keeping.elbo_ - 1e-3 * len(x)


def test_files_that_nobody_needs_go_while_the_scratch_lives() -> None:
    place = scratch.Scratch(in_memory=8)
    first, second = place.put((np.ones(1),)), place.put((np.ones(1),))
    assert (first.path, place.held) == (None, 8)
    path = second.path
    assert path is not None
    assert path.exists()
    del first, second
    assert (path.exists(), place.held) == (False, 0)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row_posteriors='some' is not known; choose one of 'auto', 'keep', 'recomp"):
        latens.NoisyICA(2, row_posteriors="some").fit(rows("sources"))


@pytest.mark.extras
def test_a_cluster_does_not_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import dask.array
    from distributed import Client

    from latens.scale import dask_blocks

    monkeypatch.setattr(dask_blocks, "MOST_BYTES_GATHERED", 0)
    x = dask.array.from_array(rows("sources"), chunks=(100, 6))
    with (
        Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None),
        pytest.raises(ValueError, match="choose 'auto' or 'recompute'"),
    ):
        latens.NoisyICA(2, row_posteriors="keep", random_state=0).fit(x)
