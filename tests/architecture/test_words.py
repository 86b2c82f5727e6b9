"""Words of the house: a name is a plain noun of the thing or verb of the act, and one thing has one name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter

import latens
import latens.nets
from latens.io.registry import estimators, records
from tests.architecture.source_tree import PACKAGE, ROOT, sources

# former names, and what each is called now
RENAMED = {
    "told": "a noun of what it is: values, facts, labels, ...",
    "settle": "local_fixed_point",
    "Climbing": "FitSearch",
    "climb": "ascent",
    "Frame": "Units",
    "RegressionFrame": "RegressionUnits",
    "exactly": "without_autocast",
    "LEAST": "a constant that says what it bounds, such as LEAST_DAMPING",
    "MOST": "a constant that says what it bounds",
    "FEW": "a constant that says what it bounds",
    "STILL": "a constant that says what it bounds",
}


def names(source: str) -> set[str]:
    """Every identifier of a file; words in comments and texts are no names."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def test_former_names_do_not_come_back() -> None:
    former = re.compile(rf"\b(?:{'|'.join(RENAMED)})\b")  # in a comment, too: only names are counted below
    found = {
        f"{path.relative_to(ROOT)}: {name}, now {RENAMED[name]}"
        for folder in ("src", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if former.search(source := path.read_text("utf-8"))
        for name in names(source) & RENAMED.keys()
    }
    assert sorted(found) == []


def test_former_images_do_not_come_back_to_comments_and_texts() -> None:
    former = re.compile(r"foretold|gives? away|says? as much as|climbed|may have lit|that lights|\buntold\b")
    found = [
        f"{path.relative_to(ROOT)}: {words}"
        for path in PACKAGE.rglob("*.py")
        for words in former.findall(path.read_text("utf-8"))
    ]
    assert found == []


def test_pages_do_not_use_former_names() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    former = re.compile(r"`(settle|Climbing|Frame|RegressionFrame|model_|frame_|state_)`")
    found = [f"{page.name}: {each}" for page in pages for each in former.findall(page.read_text("utf-8"))]
    assert found == []


def test_a_former_name_would_be_noticed() -> None:
    assert names("told = 1  # settle\n") & RENAMED.keys() == {"told"}


def test_a_class_that_files_or_users_see_has_a_name_of_its_own() -> None:
    """Experiments are a list of equals, each with its own settings, which no other file imports."""
    trees = [tree for path, tree in sources().items() if path.parts[0] != "experiments"]
    classes = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    seen = {*records(), *estimators(), *latens.__all__, *latens.nets.__all__}
    assert {name for name in seen if classes[name] > 1} == set()


def test_no_experiment_uses_the_settings_of_another() -> None:
    imported = [
        f"{path}: {alias.name}"
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "Settings"
    ]
    assert imported == []
