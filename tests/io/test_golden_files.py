"""Files of earlier versions open, answer as they did, and go on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import latens
from latens.io.registry import estimators
from tests.io.golden_files import FOLDER, GOLDEN, LARGEST, answers_of, path_of

VERSIONS = sorted(int(folder.name.removeprefix("v")) for folder in FOLDER.iterdir())
FILES = [(version, name) for version in VERSIONS for name in answers_of(version)]

# what a file of version 1 can name: its records were these
RECORDS_OF_1 = {
    *("Automatic", "Bernoulli", "BernoulliColumns", "Beta", "BinaryFactors", "BinaryPosterior", "CausePosterior"),
    *("CauseStatistics", "ClusterStatistics", "CodeStatistics", "Deviances", "Dirichlet", "Exact", "ExactFactors"),
    *("FactorPosterior", "FactorStatistics", "Factors", "FewRows", "Fitted", "Fractions", "Frame", "Gamma", "Gaussian"),
    *("HolePatterns", "IcaPosterior", "IcaStatistics", "JensenNoisyOr", "Known", "Layout", "LeastSquares"),
    *("LinearRegression", "MeanField", "Measured", "Mixture", "MixturePosterior", "MultiView", "MultiViewPosterior"),
    *("MultiViewStatistics", "NoisyIca", "NoisyOrCauses", "NormalColumns", "NormalGamma", "NormalMeans"),
    *("NormalWishart", "Normals", "Offsets", "OnlineEM", "OnlineGradient", "OnlinePosterior", "OnlineStatistics"),
    *("Poisson", "Proportions", "Rate", "RatePosterior", "RateStatistics", "RegressionFrame", "RegressionPosterior"),
    *("RegressionSums", "Relevance", "Scatter", "Shapes", "Share", "SpikeSlab", "State", "Sticks", "TransportFactors"),
    *("Truncated", "View", "ViewPosterior", "ViewStatistics", "Waiting"),
}


def close(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether numbers are as told, to that part of the largest of them."""
    found, expected = np.asarray(found), np.asarray(expected)
    return found.shape == expected.shape and bool(
        np.all(np.abs(found - expected) <= tolerance * np.max(np.abs(expected), initial=0))
    )


@pytest.mark.parametrize(("version", "name"), FILES)
def test_a_file_of_an_earlier_version_answers_as_it_did_and_goes_on(version: int, name: str) -> None:
    model = latens.load(path_of(version, name))
    expected, found = answers_of(version)[name], GOLDEN[name].answers(model)
    far = [key for key in ("elbo", "score") if not close(found[key], expected[key], 1e-12)]
    # codes of many counts settle in many steps, and a batch iterates: both may enlarge rounding of another machine
    far += [] if close(found["codes"], expected["codes"], 1e-9 if "counts" in name else 1e-12) else ["codes"]
    far += [key for key in ("later elbo", "later codes", "later score") if not close(found[key], expected[key], 1e-9)]
    assert far == []


def records_named(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("record"), str):
            yield node["record"]
        for part in node.values():
            yield from records_named(part)
    elif isinstance(node, list):
        for part in node:
            yield from records_named(part)


def test_the_files_of_version_1_hold_every_record_that_there_was() -> None:
    named: set[str] = set()
    saved = set()
    for name in answers_of(1):
        with zipfile.ZipFile(path_of(1, name)) as archive:
            header = json.loads(archive.read("header.json"))
        named.update(records_named(header["fitted"]))
        saved.add((header["estimator"], "streamed" in name))
    assert RECORDS_OF_1 - named == {"Normals"}  # of draws, which are not saved
    later = {"LatentClassAnalysis"}  # came after that version
    assert saved == {(name, streamed) for name in estimators() if name not in later for streamed in (False, True)}


def test_files_are_small() -> None:
    sizes = {name: path_of(version, name).stat().st_size for version, name in FILES}
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
