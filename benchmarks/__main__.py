"""The command line: which sections to run, how large, and where the numbers go."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.binary import first_call, relevance, shapes, sweeps, threads
from benchmarks.factors import contest, regression
from benchmarks.ica import separation
from benchmarks.library import falls, imports, large
from benchmarks.mixtures import densities, iterations, recovery
from benchmarks.noisy_or import images, ones, text
from benchmarks.setting import FULL, QUICK, Section, environment
from benchmarks.tables import save
from benchmarks.weights import update

RESULTS = Path(__file__).parent / "results"

SECTIONS = (
    Section("binary.shapes", "all 8 shapes found, the number given", shapes.plain),
    Section("binary.signed", "the same with pixels of random sign", shapes.signed),
    Section("binary.relevance", "exactly 8 shapes found, the number not given", relevance.run),
    Section("binary.sweeps", "one mean-field E step over the source's form", sweeps.run),
    Section("binary.threads", "two threads over one", threads.run),
    Section("binary.first-call", "first sweep of a process, kernel cached and not", first_call.run),
    Section("noisy-or.images", "all 8 pictures found, best of 5; bounds beside the likelihood", images.run),
    Section("noisy-or.ones", "time of an iteration against the number of ones", ones.run),
    Section("noisy-or.text", "held-out documents beside a Bernoulli mixture", text.run),
    Section("noisy-ica.low-noise", "Student-t sources at 0 to 40 dB, beside FastICA", separation.low_noise),
    Section("noisy-ica.unequal-noise", "sensors of different noise, beside FastICA", separation.unequal_noise),
    Section("noisy-ica.equal-noise", "kinds of sources over noise, beside FastICA", separation.equal_noise),
    Section("noisy-ica.number", "number of sources found", separation.number),
    Section("noisy-ica.large", "a whole fit of many rows", separation.large),
    Section("factor-analysis.likelihood", "maximum likelihood in one pass, beside scikit-learn", contest.likelihood),
    Section("factor-analysis.streams", "O(D K) memory over maximum likelihood", contest.streams),
    Section("factor-analysis.few-rows", "relevance determination where rows are few", contest.few_rows),
    Section("factor-analysis.speed", "a fit over its Gram matrix, and over scikit-learn", contest.speed),
    Section("factor-analysis.holes", "missing entries, in memory and in a stream", contest.holes),
    Section("regression.evidence", "beside scikit-learn's BayesianRidge", regression.run),
    Section("mixtures.iterations", "one iteration of a Gaussian mixture over scikit-learn's", iterations.run),
    Section("mixtures.recovery", "20 clusters: the truth's bound reached", recovery.run),
    Section("mixtures.densities", "log density of held-out rows", densities.run),
    Section("weights.update", "one update of a weight posterior over the bandwidth floor (needs torch)", update.run),
    Section("library.imports", "CPU time of importing", imports.run),
    Section("library.falls", "falls of the bound over random fits", falls.run),
    Section("library.large", "a whole fit of many rows: time and memory", large.run),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="section", help="a section or a group of them; none: all")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it runs, not what is true")
    parser.add_argument("--list", action="store_true", help="name the sections and stop")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON files")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{section.name:<20}{section.about}" for section in SECTIONS))
        return
    unknown = [name for name in options.names if not any(section.answers_to(name) for section in SECTIONS)]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; --list names them")
    setting = QUICK if options.quick else FULL
    for section in SECTIONS:
        if options.names and not any(map(section.answers_to, options.names)):
            continue
        began = time.perf_counter()
        tables = section.run(setting)
        seconds = time.perf_counter() - began
        for table in tables:
            print(f"{table}\n", flush=True)
        print(f"({section.name}: {seconds:.0f} s)\n", flush=True)
        save(options.results / f"{section.name}.json", tables, environment(setting, seconds))


if __name__ == "__main__":
    main()
