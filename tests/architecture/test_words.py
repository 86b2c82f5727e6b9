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


# adjectives, adverbs and participles: alone, as the name of a constant, they mean something else in every file
VAGUE = re.compile(
    "(?:"
    "AHEAD|ALIKE|ALONG|APART|BESIDE|BETWEEN|BEYOND|CERTAIN|CLEARLY|CLOSE|CLOSELY|COLDEST|COMMON|CURVED|DEEPEST|"
    "ENOUGH|FAINT|FAR|FARTHEST|FEW|FEWER|FEWEST|FINE|FINEST|FLAT|FLATTEST|FURTHEST|HALF|HARDLY|HEAVIEST|HIDDEN|"
    "INDISTINCT|KEPT|LARGE|LATE|LEAST|LEAVING|LEFT|LIGHTEST|LIKELY|LONG|LONGEST|LOOSE|LOST|MANY|MEANT|MET|MOST|"
    "NARROW|NARROWEST|NEAR|NEARLY|NEGLIGIBLE|NEVER|NOTICED|ODD|OFF|OFTEN|OWN|PAYING|PLAINLY|PROPER|RARE|RISEN|"
    "SAME|SEEN|SETTLED|SETTLING|SHALLOWEST|SHARP|SHORT|SHORTER|SHOWN|SLIGHT|SMALLEST|SPARSE|STEEP|STILL|SURE|"
    "TAKEN|TINY|TOGETHER|TRIED|TRIMMED|TRUSTED|TURNED|TWICE|UNEQUAL|UNLIKELY|UNSETTLED|WIDE|WIDER|WIDEST|WRITTEN"
    ")"
)

# participles and adverbs: alone, as a name, they do not say of what (`kept` was a mask, a list of columns, a path, ...)
ALONE = (
    "afresh|ahead|along|anew|apart|astray|away|begun|bought|came|dealt|drowned|exactly|felt|glanced|gone|heard|kept|"
    "leapt|looked|meant|met|midway|mostly|narrowly|nearly|owed|plainly|roughly|taken|told|tried|truly|uphill|weighed"
)

# constants whose value is the word itself
TEXTS = frozenset({"KEPT"})


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


def vague_constants(tree: ast.Module) -> list[str]:
    """Numbers alone: texts that a program reads, such as the treatment "kept" of a column, are what they say."""
    numbers = [node for node in tree.body if isinstance(node, ast.Assign) and not _is_text(node.value)]
    targets = [part for node in numbers for target in node.targets for part in getattr(target, "elts", [target])]
    return [part.id for part in targets if isinstance(part, ast.Name) and VAGUE.fullmatch(part.id)]


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def test_a_constant_says_what_it_bounds() -> None:
    found = {path: vague_constants(tree) for path, tree in sources().items() if path.parts[0] != "experiments"}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_vague_constant_would_be_noticed() -> None:
    assert vague_constants(ast.parse('FAR, LEAST_GAP = 1.0, 2.0\nSURE = 0.9\nKEPT = "kept"')) == ["FAR", "SURE"]


def bound_names(tree: ast.Module) -> set[str]:
    """Names that a file gives: variables, parameters, fields, functions and attributes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def names_alone(source: str) -> set[str]:
    """Most files are not parsed: no such word stands where a name can be given."""
    if not re.search(rf"\b_*(?:{ALONE})_*(?: *[=,:()]| in )", source, re.IGNORECASE):
        return set()
    return {name for name in bound_names(ast.parse(source)) if re.fullmatch(ALONE, name.strip("_").lower())}


def test_no_name_is_a_participle_or_an_adverb_alone() -> None:
    """Listings of the print keep its names, and a text that programs read, such as "kept", is what it says."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("src", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if "printed" not in path.parts
        for name in names_alone(path.read_text("utf-8")) - TEXTS
    }
    assert sorted(found) == []


def test_a_participle_alone_would_be_noticed() -> None:
    source = "def _tried(kept, n_kept):\n    self.taken, ahead = kept, 1\n    return [gone for gone in ahead]\n"
    assert names_alone(source) == {"_tried", "kept", "taken", "ahead", "gone"}


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
