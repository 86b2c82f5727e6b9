"""`latens demo`: built-in images, taken apart into their hidden causes."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

import latens
from latens.cli.console import Progress, aligned, open_page, printable
from latens.cli.failures import debug_option
from latens.cli.targets import new_file

if TYPE_CHECKING:
    from latens.report import Entry

__all__ = ["demo"]

PAGE = Path("latens-demo.html")
TITLE = "Hidden causes of two sets of images"
MOST_CAUSES = 16  # causes to start from; relevance determination finds how many there are
INTRODUCTION = (
    "Every row of the data is a small image: a sum of a few hidden pictures, each of them on or off, plus noise. The "
    "model is given the rows alone, and at most {most} pictures to explain them with. It finds how many there are, "
    "what they look like, how often each is on, and how strong the noise is. Since these data were made up, the truth "
    "is known and shown beside what was learnt."
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
    """Fit built-in images and write a report page."""
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
    make = latens.datasets.make_shapes if case.name == "shapes" else latens.datasets.make_images
    x, truth = make(case.n_quick if quick else case.n_samples, random_state=seed)
    began = time.perf_counter()
    model = latens.BinaryFactorAnalysis(MOST_CAUSES, random_state=seed).fit(x)
    return Entry(model, x, truth, case.title, seconds=time.perf_counter() - began)


def _write(entries: list[Entry], path: Path) -> Path:
    from latens.report import report_many

    return report_many(entries, path, TITLE, text=INTRODUCTION.format(most=MOST_CAUSES))


def _found(case: Case, entry: Entry) -> Found:
    match = latens.metrics.match_components(entry.model.components_, entry.truth.components)
    return Found(
        data=case.name,
        rows=len(entry.X),
        columns=entry.X.shape[1],
        features_true=len(entry.truth.components),
        features_found=match.found(),
        components=int(entry.model.n_components_),
        upper_bound=MOST_CAUSES,
        bound=float(entry.model.elbo_),
        seconds=float(entry.duration),
    )
