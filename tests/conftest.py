"""What all tests share: which skips are acceptable, where the data files are, which doctests need an extra."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from _pytest.doctest import DoctestModule

from tests.optional_packages import RequiredPackages, hide_optional_packages

ROOT = Path(__file__).resolve().parents[1]
CI = os.environ.get("CI", "").lower() in {"1", "true"}

ACCEPTED_SKIPS = ("needs a GPU", "missing data file", "needs a browser")

# `make test` is to take minutes: single cases that take seconds run with `make test-slow`.
LONG_CASES = frozenset((ROOT / "tests" / "long_cases.txt").read_text(encoding="utf-8").splitlines())

# Layers whose doctests may show an optional package.
EXTRAS_LAYERS = {"interop", "nets", "plots", "scale"}

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


class SkipPolicy:
    """Turn a skip for any but an accepted reason into a failure: a test that silently stops running proves nothing."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        return _refuse_unforeseen_skip((yield))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        return _refuse_unforeseen_skip((yield))


class RepeatableDraws:
    """Give what asks for no seed one that follows from the name of the test: what fails once fails again."""

    def __init__(self) -> None:
        self.default_rng = np.random.default_rng

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        seeds = ([zlib.crc32(item.nodeid.encode()), count] for count in itertools.count())

        def default_rng(seed: object = None) -> np.random.Generator:
            return self.default_rng(next(seeds) if seed is None else seed)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "default_rng", default_rng)
            return (yield)


def _refuse_unforeseen_skip(report: Report) -> Report:
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(ACCEPTED_SKIPS):
        report.outcome = "failed"
        report.longrepr = (
            f"{report.nodeid} was skipped: {reason}\n"
            f"CI accepts only skips that start with {' or '.join(map(repr, ACCEPTED_SKIPS))}; "
            "mark tests of optional packages `extras` and import the package inside the test."
        )
    return report


def pytest_configure(config: pytest.Config) -> None:
    # Registered as a plugin because hooks of this file alone would not see the doctests in src.
    if CI:
        config.pluginmanager.register(SkipPolicy())
    config.pluginmanager.register(RepeatableDraws())
    if "not extras" in config.option.markexpr:
        hide_optional_packages()
        for plugin in config.pluginmanager.get_plugins():  # they would look for the packages they belong to
            if getattr(plugin, "__name__", "").partition(".")[0] in RequiredPackages.hidden:
                config.pluginmanager.unregister(plugin)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """No doctests among the tests: this hook is not asked about files of the package, which is where they are."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without looking for garbage: thousands of items and files are made to stay, and it is a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()  # nor is there any among them later


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    package = ROOT / "src" / "latens"
    for item in items:
        if item.nodeid in LONG_CASES:
            item.add_marker(pytest.mark.slow)
        if item.path.is_relative_to(package):
            layer = item.path.relative_to(package).parts[0].removesuffix(".py")
            if layer in EXTRAS_LAYERS:
                item.add_marker(pytest.mark.extras)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not _gpu_present():
        pytest.skip("needs a GPU")


def _gpu_present() -> bool:
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.cuda.is_available())


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore the interrupt key."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets: $LATENS_DATA, else shared/data beside the checkout."""
    folder = Path(os.environ.get("LATENS_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"missing data file: no folder {folder}; set LATENS_DATA")
    return folder


@pytest.fixture(scope="session")
def data_file(data_folder: Path) -> Callable[[str], Path]:
    """The path of one data file by its name within the data folder, such as ``uci/yacht/data.csv.gz``."""

    def find(name: str) -> Path:
        path = data_folder / name
        if not path.is_file():
            pytest.skip(f"missing data file: {path}")
        return path

    return find
