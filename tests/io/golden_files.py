"""Files that earlier versions wrote, with the answers that they gave: `python -m tests.io.golden_files`.

A folder for each version of the format; `answers.json` in it says what each model answered. They are written once,
by the code of that version, and stay: a later version must open them, give the same answers and go on.

    python -m tests.io.golden_files --write         writes the files of the present version; only where there are none
    python -m tests.io.golden_files --answers NAME  what the models whose name contains NAME answer, where that was
                                                    changed on purpose (say why in tests/contract/hash_changes.md)
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import latens
from latens.io.archive.writing import VERSION
from tests.contract.variants import VARIANTS, Variant
from tests.io.refusals.forging import Forgery

FOLDER = Path(__file__).with_name("golden")
LARGEST = 30 * 1024  # bytes of a file
N_SAMPLES = 6  # samples in a batch of views: those that wait are part of the file


@dataclass(frozen=True)
class Golden:
    """One model whose file is kept."""

    variant: str
    streamed: bool = False
    holes: bool = False
    weighted: bool = False

    @property
    def name(self) -> str:
        marks = [mark for mark in ("streamed", "holes", "weighted") if getattr(self, mark)]
        return "-".join([self.variant, *(marks or ["fitted"])])

    @property
    def fits(self) -> Variant:
        variant = VARIANTS[self.variant]
        if variant.estimator != "MultiViewFactorAnalysis":
            return variant
        small = replace(variant, params={**variant.params, "n_components": 2, "max_iter": 4})
        return small if "long" in self.variant else replace(small, n_rows=N_SAMPLES)

    def batch(self, number: int) -> Any:
        return self.fits.batch(number, holes=self.holes, weighted=self.weighted)

    def model(self) -> Any:
        if not self.streamed:
            return self.batch(0).fit(self.fits.make())
        return self.batch(1).partial_fit(self.batch(0).partial_fit(self.fits.make()))

    def answers(self, model: Any) -> dict[str, Any]:
        """What the model says, and what it says after one more batch; the model goes on."""
        probes, now = self.batch(2), {}
        for when in ("", "later "):
            if when:
                probes.partial_fit(model)
            now[f"{when}elbo"] = float(model.elbo_)
            now[f"{when}codes"] = probes.codes(model).tolist()
            now[f"{when}score"] = probes.score(model)
        return now


# one for each estimator, kind of model and likelihood, of which some with holes and weights
_KINDS = [
    "binary-ml-mean-field",
    "binary-ml-truncated-intercept-diagonal",
    "binary-ard-exact",
    "binary-ard-auto",
    "noisy-or-ml-exact-1",
    "noisy-or-ard-truncated-2",
    "noisy-or-ml-jensen",
    "noisy-or-ard-jensen",
    "factors-ml",
    "factors-ard",
    "factors-transport",
    "factors-online-em",
    "factors-online-sga",
    "factors-few-rows",
    "mixture-full-dirichlet",
    "mixture-tied-process",
    "mixture-diag-uniform",
    "mixture-spherical-process",
    "mixture-known-dirichlet",
    "mixture-bernoulli-dirichlet",
    "mixture-bernoulli-process",
    "mixture-bernoulli-uniform",
    "ica-heavy",
    "ica-mixed-intercept",
    "ica-heavy-mean-field",
    "ica-ml-light-intercept",
    "views-gaussian",
    "views-binary",
    "views-counts",
    "views-dense",
    "views-precision",
    "views-sparse-codes-groups",
    "views-one-table",
    "regression-evidence",
    "regression-gamma",
    "regression-given",
    "regression-mixed",
]
_SINCE_2 = ["classes-levels", "classes-mixed"]  # came after version 1
_SINCE_5 = [
    "views-scales"
]  # those of version 5 are of scales as yes/no columns, which nothing but files holds any more
_WITH_HOLES = ["binary-ard-exact-diagonal", "factors-ml", "factors-ard", "mixture-full-process", "views-groups"]
GOLDEN = {
    golden.name: golden
    for golden in [
        *(Golden(kind, streamed) for kind in _KINDS for streamed in (False, True)),
        *(Golden(kind, streamed, holes=True, weighted=True) for kind in _WITH_HOLES for streamed in (False, True)),
        Golden("factors-many-patterns", holes=True),
        Golden("views-long-groups", streamed=True),
        Golden("views-long-counts", streamed=True),
        *(Golden(kind, streamed) for kind in [*_SINCE_2, *_SINCE_5] for streamed in (False, True)),
        Golden("views-scales", holes=True, weighted=True),
    ]
}


def answers_of(version: int) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"v{version}" / "answers.json").read_text()))


def path_of(version: int, name: str) -> Path:
    return FOLDER / f"v{version}" / f"{name}.latens"


def write() -> None:
    """Write the files of the present version, which must not be there yet."""
    (FOLDER / f"v{VERSION}").mkdir(parents=True)
    found = {}
    for name, golden in GOLDEN.items():
        model = golden.model()
        path = latens.save(model, path_of(VERSION, name))
        same = Forgery(path)
        same.text = json.dumps(same.header, separators=(",", ":")).encode()  # without line breaks
        same.write(path)
        found[name] = golden.answers(model)
    write_answers(VERSION, found)


def write_anew(version: int, part: str) -> None:
    """Replace the answers of some models; their files stay for ever."""
    answers = answers_of(version)
    now = {name: GOLDEN[name].answers(latens.load(path_of(version, name))) for name in answers if part in name}
    write_answers(version, answers | now)


def write_answers(version: int, found: dict[str, Any]) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in found.items()]
    (FOLDER / f"v{version}" / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write golden files, or what their models answer.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--answers", metavar="NAME")
    options = parser.parse_args()
    if options.write:
        write()
    else:
        for folder in sorted(FOLDER.iterdir()):
            write_anew(int(folder.name.removeprefix("v")), options.answers)
