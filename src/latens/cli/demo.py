"""`latens demo`: built-in images, a mixed table and several views, each with what is hidden in it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import latens
from latens.cli.terminal.console import Progress, aligned, open_page, printable
from latens.cli.terminal.failures import debug_option
from latens.cli.terminal.targets import new_file

if TYPE_CHECKING:
    from latens.report import Entry

__all__ = ["demo"]

PAGE = Path("latens-demo.html")
TITLE = "What is hidden in four sets of data"
MOST_COMPONENTS = 16  # causes to start from; relevance determination finds how many there are
INTRODUCTION = (
    "Shapes and images: every row is a sum of a few hidden pictures, each of them on or off, plus noise. Table: people "
    "of unknown groups, with numbers, counts, yes/no, a town and a rating, some of it missing. Views: two tables about "
    "the same rows, moved by factors that they share or have alone. The models are given the rows and at most {most} "
    "components; they find how many there are and what they are. Since these data were made up, the truth is known and "
    "shown beside what was learnt."
)


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    n_samples: int
    n_quick: int


CASES = (
    Case("shapes", "Shapes: 4 × 4 pixels", 400, 200),
    Case("images", "Images: 16 × 16 pixels", 600, 200),
    Case("table", "Table: columns of five kinds", 500, 250),
    Case("views", "Views: two tables of the same rows", 300, 150),
)


@dataclass(frozen=True)
class Found:
    """A line of the table."""

    data: str
    rows: int
    columns: int
    features_true: int
    features_found: int
    components: int
    upper_bound: int
    bound: float
    seconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.data,
            f"{self.rows} x {self.columns}",
            f"{self.features_found} of {self.features_true}",
            f"{self.components}",
            f"{self.bound:,.1f}",
            f"{self.seconds:.1f}",
        )


VIEWS: dict[str, Any] = {"n_features": (40, 30), "n_factors": 4, "noise": 0.5, "missing": 0.05, "missing_views": 0.15}
COLUMNS = ("data", "rows x columns", "features found", "K found", "bound (nats)", "seconds")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=PAGE, show_default=True, help="The page to write.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--quick", is_flag=True, help="Fewer images.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option("--quiet", is_flag=True, help="No progress; print the path of the page only.")
@debug_option
def demo(out: Path, seed: int, quick: bool, open_: bool, as_json: bool, quiet: bool) -> None:
    """Fit built-in data of four kinds and write a page about them."""
    out = new_file(out)
    with Progress(quiet=quiet) as progress:
        entries = [_fit(case, seed, quick, progress) for case in CASES]
        progress("writing the page")
        page = _write(entries, out)
    if open_:
        open_page(page)
    found = [_found(case, entry) for case, entry in zip(CASES, entries, strict=True)]
    if as_json:
        facts = {"version": latens.__version__, "seed": seed, "fits": [asdict(one) for one in found], "page": str(page)}
        click.echo(json.dumps(facts, indent=1))
        return
    if not quiet:
        click.echo(aligned(COLUMNS, [one.cells for one in found]) + "\n")
    click.echo(printable(str(page)))


def _fit(case: Case, seed: int, quick: bool, progress: Progress) -> Entry:
    from latens.report import Entry

    progress(f"fitting the {case.name}")
    data = latens.datasets
    n = case.n_quick if quick else case.n_samples
    x: Any
    truth: Any
    about: dict[str, Any] = {}
    if case.name == "table":
        x, truth = data.make_table(n, random_state=seed)
        model = latens.LatentClassAnalysis(MOST_COMPONENTS, likelihoods=truth.likelihoods, random_state=seed)
        about["metadata"] = {"true group": [f"group {label}" for label in truth.labels]}
    elif case.name == "views":
        x, truth = data.make_multiview(n, **VIEWS, random_state=seed)
        model = latens.MultiViewFactorAnalysis(MOST_COMPONENTS, random_state=seed)
    else:
        make = data.make_shapes if case.name == "shapes" else data.make_images
        x, truth = make(n, random_state=seed)
        model = latens.BinaryFactorAnalysis(MOST_COMPONENTS, random_state=seed)
    about["recipe"] = _recipe(case, n, seed)
    began = time.perf_counter()
    model.fit(x)
    if case.name == "table":  # as a data frame would have named its columns, which the demo does without
        model.columns_ = replace(model.columns_, names=truth.names)
    return Entry(model, x, truth, case.title, seconds=time.perf_counter() - began, **about)


def _recipe(case: Case, n: int, seed: int) -> list[str]:
    """Lines of Python that fit this case again."""
    own = "".join(f", {name}={value!r}" for name, value in VIEWS.items()) if case.name == "views" else ""
    make = {"table": "make_table", "views": "make_multiview"}.get(case.name, f"make_{case.name}")
    kind = {"table": "LatentClassAnalysis", "views": "MultiViewFactorAnalysis"}.get(case.name, "BinaryFactorAnalysis")
    given = ", likelihoods=truth.likelihoods" if case.name == "table" else ""
    return [
        f"X, truth = latens.datasets.{make}({n}{own}, random_state={seed})",
        f"model = latens.{kind}({MOST_COMPONENTS}{given}, random_state={seed})",
        "model.fit(X)",
        'latens.report(model, X, "page.html", truth=truth)',
    ]


def _write(entries: list[Entry], path: Path) -> Path:
    from latens.report import report_many

    return report_many(entries, path, TITLE, text=INTRODUCTION.format(most=MOST_COMPONENTS))


def _found(case: Case, entry: Entry) -> Found:
    from latens.report.measures.recovered import recovered

    found, true = recovered(entry) or (0, 0)
    parts = list(entry.X.values()) if isinstance(entry.X, dict) else [entry.X]
    return Found(
        data=case.name,
        rows=len(next(iter(parts))),
        columns=sum(int(np.shape(part)[1]) for part in parts),
        features_true=true,
        features_found=found,
        components=int(entry.model.n_components_),
        upper_bound=MOST_COMPONENTS,
        bound=float(entry.model.elbo_),
        seconds=float(entry.duration),
    )
