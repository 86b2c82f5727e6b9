"""The shape of the source tree: who imports whom, and what must not exist."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import PACKAGE, ROOT, sources
from tests.estimators.subjects import SUBJECTS

# Loaded on first use only, so that `import latens` is quick and needs no extra.
HEAVY = {
    *("sklearn", "numba", "joblib", "jinja2"),
    *("torch", "cupy", "dask", "distributed", "matplotlib", "pandas", "polars", "pyarrow"),
    *("anndata", "mudata", "h5py", "mne", "xarray", "zarr"),
}

# Who may import an optional package. Here rather than in the import contracts,
# which cannot name a package or a layer that is not there yet.
OWNERS = {
    "torch": {"array", "nets"},
    "triton": {"array", "nets"},
    "cupy": {"array"},
    "dask": {"scale"},
    "distributed": {"scale"},
    "matplotlib": {"plots", "report", "experiments"},
}


def layer(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every absolute import, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]


def mentions(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id == name) or (isinstance(part, ast.Attribute) and part.attr == name)
        for part in ast.walk(node)
    )


def test_the_source_tree_is_where_these_tests_look() -> None:
    assert Path("__init__.py") in sources()


def test_import_contracts_hold() -> None:
    # in a process of its own: import-linter switches off the loggers of whoever calls it
    script = "import sys; from importlinter.cli import lint_imports; "
    script += "sys.exit(lint_imports(config_filename='pyproject.toml', no_cache=True))"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_importing_latens_loads_nothing_heavy() -> None:
    script = "import json, sys, latens; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY.intersection(json.loads(run.stdout)) == set()


def test_an_estimator_loads_no_other_model_and_no_start_before_a_fit_needs_it() -> None:
    script = (
        "import sys, latens; latens.GaussianMixture; print([name for name in sys.modules if name.startswith(("
        "'latens.models.multi_view', 'latens.models.noisy', 'latens.models.binary',"
        " 'latens.models.factor_analysis.model', 'latens.scale.readers', 'latens.scale.csv', 'sklearn.cluster',"
        " 'sklearn.decomposition'))])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_no_estimator_loads_the_compiler_before_a_kernel_is_needed() -> None:
    script = (
        "import sys, latens; print([name for name in sys.argv[1:] if getattr(latens, name) and 'numba' in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script, *SUBJECTS], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_optional_packages_are_imported_only_by_their_owners() -> None:
    trespassers = [
        f"{path}:{line} imports {package}"
        for path, tree in sources().items()
        for line, package in imported(tree)
        if package in OWNERS and layer(path) not in OWNERS[package]
    ]
    assert trespassers == []


def test_no_module_is_a_dumping_ground() -> None:
    names = {"utils", "helpers", "misc", "common"}
    assert [str(path) for path in sources() if names.intersection(path.with_suffix("").parts)] == []


def test_only_the_command_line_prints() -> None:
    prints = [
        f"{path}:{node.lineno}"
        for path, tree in sources().items()
        if layer(path) != "cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


def test_only_inference_iterates_to_convergence() -> None:
    loops = [
        f"{path}:{node.iter.lineno}"
        for path, tree in sources().items()
        if layer(path) != "inference"
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.comprehension) and mentions(node.iter, "max_iter")
    ]
    assert loops == []


def test_nothing_is_left_unwritten() -> None:
    unwritten = re.compile(r"NotImplemented(?=Error)|\b(TO(?=DO)|FIX(?=ME))")
    left = [
        f"{path}:{number}"
        for path in sources()
        for number, line in enumerate((PACKAGE / path).read_text("utf-8").splitlines(), 1)
        if unwritten.search(line)
    ]
    assert left == []


def test_what_a_model_has_is_named_by_a_protocol() -> None:
    """Nobody asks a model, a posterior or a batch by the name of a member whether it has one."""
    asked = [
        f"{path}:{node.lineno} {node.func.id}"
        for path, tree in sources().items()
        if layer(path) in ("core", "families", "inference", "models")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
        if len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    ]
    assert asked == []


def test_no_model_of_anything_but_in_its_own_file() -> None:
    """Drivers are generic in what a model is made of; only `Model` itself leaves that open, once."""
    erased = re.compile(r"\b(Model|Steps)\[Any")
    found = [str(path) for path in sources() if erased.search((PACKAGE / path).read_text("utf-8"))]
    assert found == ["core/model.py"]


def test_regression_and_factor_analysis_are_typed_without_exceptions() -> None:
    excused = [
        str(path)
        for path in sources()
        if "regression" in path.name or "factor_analysis" in path.parts
        if "type: ignore" in (PACKAGE / path).read_text("utf-8")
    ]
    assert excused == []
