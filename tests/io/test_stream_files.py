"""Files of streams hold the rows that are kept; those that lie about them are refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import latens
from latens.errors import FileRefused
from tests.io.refusals.forging import Forgery


def new_stream(sparse: bool = False) -> Any:
    rng = np.random.default_rng(0)
    x = (rng.random((60, 5)) < 0.4).astype(float)
    model = latens.BernoulliMixture(2, random_state=0, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.partial_fit(csr_array(x) if sparse else x, sample_weight=rng.uniform(1, 2, size=60))


def test_a_fit_keeps_no_rows_and_a_stream_keeps_them(tmp_path: Path) -> None:
    stream = new_stream()
    loaded = latens.load(latens.save(stream, tmp_path / "stream"))
    assert np.array_equal(loaded.stream_.reservoir.values, stream.stream_.reservoir.values)
    fitted = new_stream().fit(stream.stream_.reservoir.values)
    assert latens.load(latens.save(fitted, tmp_path / "fit")).stream_ is None


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("values", lambda x: x[:, 1:], r"values has shape \(60, 4\)"),
        ("values", lambda x: x + 0.5, "other values than 0 and 1"),
        ("weight", lambda x: -x, "count as none"),
        ("weight", lambda x: 9 * x, "more than the stream"),
        ("keys", lambda x: x[1:], "reservoir.values has shape"),
    ],
)
def test_lies_about_the_rows_kept_are_refused(path: str, change: Any, message: str, tmp_path: Path) -> None:
    forged = Forgery(latens.save(new_stream(), tmp_path / "honest"))
    where = f"attributes.stream_.reservoir.{path}"
    forged.put(where, change(forged.get(where)))
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("ones", lambda x: x + 3, "ones beyond their 5 columns"),
        ("starts", lambda x: x[::-1].copy(), "do not follow one another"),
    ],
)
def test_lies_about_sparse_rows_are_refused(path: str, change: Any, message: str, tmp_path: Path) -> None:
    forged = Forgery(latens.save(new_stream(sparse=True), tmp_path / "honest"))
    where = f"attributes.stream_.reservoir.{path}"
    forged.put(where, change(forged.get(where)))
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("reservoir", "n_rows", 3),
        ("reservoir", "capacity", 3),
        ("reservoir", "n_columns", 4),
        ("watch", "spread", -1.0),
    ],
)
def test_counts_that_cannot_be_are_refused(where: str, name: str, value: float, tmp_path: Path) -> None:
    forged = Forgery(latens.save(new_stream(), tmp_path / "honest"))
    forged.at(f"attributes.stream_.{where}")[name] = value
    with pytest.raises(FileRefused, match=r"of a stream|of its stream"):
        latens.load(forged.write(tmp_path / "model"))


def forgetful(path: Path) -> Forgery:
    rows = new_stream().stream_.reservoir.values
    return Forgery(latens.save(latens.BernoulliMixture(2, random_state=0, forget=0.01).partial_fit(rows), path))


@pytest.mark.parametrize(("window", "message"), [(None, "and not how many count"), (20, "not of those that count")])
def test_a_window_that_the_rows_kept_are_not_of_is_refused(window: Any, message: str, tmp_path: Path) -> None:
    forged = forgetful(tmp_path / "honest")
    forged.at("attributes.stream_.reservoir")["window"] = window
    with pytest.raises(FileRefused, match=message):
        latens.load(forged.write(tmp_path / "model"))


def test_rows_of_a_window_out_of_their_order_are_refused(tmp_path: Path) -> None:
    forged = forgetful(tmp_path / "honest")
    forged.put("attributes.stream_.reservoir.numbers", np.arange(60)[::-1].copy())
    with pytest.raises(FileRefused, match="not of those that count"):
        latens.load(forged.write(tmp_path / "model"))
