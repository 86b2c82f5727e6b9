"""The page on adding a model is followed as a reader would: its code goes into the files it names, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add_a_model.md"
MODEL, ESTIMATOR = "src/latens/models/count_mixture.py", "src/latens/estimators/count_mixture.py"
CASES = "tests/contract/cases.py"


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree after a reader has followed the page."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("src", "tests/contract"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [ROOT / "pyproject.toml", *(path for path in (ROOT / "tests").iterdir() if path.is_file())]:
        shutil.copy2(path, folder / path.relative_to(ROOT))
    types, equations, estimator, above, row = code_blocks()
    (folder / MODEL).write_text(f"{types}\n\n{equations}", encoding="utf-8")
    (folder / ESTIMATOR).write_text(estimator, encoding="utf-8")
    cases = (folder / CASES).read_text(encoding="utf-8")
    cases = cases.replace("\nCASES: dict[str, Case] = {\n", f"\n{above}\n\nCASES: dict[str, Case] = {{\n{row}")
    assert row in cases
    (folder / CASES).write_text(cases, encoding="utf-8")
    return folder


def run(tree: Path, *arguments: str) -> str:
    """What Python prints within the reader's tree."""
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **single, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_the_model_takes_few_lines() -> None:
    types, equations, estimator, *_ = code_blocks()
    lines = [line for part in (types, equations, estimator) for line in part.splitlines()]
    assert sum(bool(line.strip()) for line in lines) < 200


USED = """
import numpy as np
import latens
from latens.estimators.count_mixture import CountMixture
from latens.estimators.fitted_parts import column_spread

rng = np.random.default_rng(0)
rates = np.array([[1.0, 9.0, 2.0], [8.0, 1.0, 2.0], [5.0, 5.0, 20.0]])
X = rng.poisson(rates[rng.integers(3, size=300)]).astype(float)

model = CountMixture(3, random_state=0).fit(X)
assert np.all(np.abs(model.components_[:, None] - rates).max(axis=2).min(axis=0) < 1)
assert np.all(np.diff(model.elbo_history_) >= -1e-9 * abs(model.elbo_))

holes = rng.random(X.shape) < 0.1
missing = np.where(holes, np.nan, X)
stream = CountMixture(3, random_state=0).partial_fit(missing[:150]).partial_fit(missing[150:])
plain = np.nanmean(missing, axis=0) * np.ones_like(X)
assert np.mean((stream.impute(missing) - X)[holes] ** 2) < np.mean((plain - X)[holes] ** 2)
assert np.isfinite(stream.score_samples(missing)).all()
drawn, _ = stream.sample(2000)
assert np.allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=0.2)
assert stream.sample_posterior(4)["components"].shape == (4, 3, 3)

table = model.summary()
assert np.isclose(sum(table["share"]), 1), table
assert sorted(model.top_features(1).values()) == [["x0"], ["x1"], ["x2"]], "each regime has a column that is its own"
assert np.allclose(column_spread(model), X.std(axis=0), rtol=0.1), column_spread(model)
assert "regime0" in latens.report(model, X, "page.html").read_text(encoding="utf-8")

weight = rng.integers(0, 3, len(X))
weighted = CountMixture(3, random_state=0).fit(X, sample_weight=weight)
repeated = CountMixture(3, random_state=0).fit(np.repeat(X, weight, axis=0))
assert np.isclose(weighted.elbo_, repeated.elbo_, rtol=1e-10)

for fitted in (model, stream):
    loaded = latens.load(latens.save(fitted, "model.latens"))
    assert np.array_equal(loaded.transform(missing), fitted.transform(missing))
    assert loaded.partial_fit(X[:50]).elbo_ == fitted.partial_fit(X[:50]).elbo_

try:
    model.fit(-X)
except ValueError as error:
    print(error)
"""


def test_it_fits_streams_imputes_weighs_and_is_stored_without_any_other_edit(tree: Path) -> None:
    assert "counts must not be negative" in run(tree, "-c", USED)


@pytest.mark.slow
def test_it_passes_every_contract_test(tree: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-k", "count-mixture"]
    output = run(tree, "-m", "pytest", *options, "tests/contract")
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None
    assert int(passed.group(1)) >= 60


@pytest.mark.slow
def test_its_types_are_checked(tree: Path) -> None:
    assert "Success" in run(tree, "-m", "mypy", "--cache-dir", str(tree / ".mypy_cache"), MODEL, ESTIMATOR)


@pytest.mark.slow
def test_it_is_formatted_as_the_rest_is(tree: Path) -> None:
    run(tree, "-m", "ruff", "check", "--no-cache", MODEL, ESTIMATOR)
    run(tree, "-m", "ruff", "format", "--no-cache", "--check", MODEL, ESTIMATOR)
