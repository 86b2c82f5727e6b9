"""The command line: which sections to run, how large, and where the numbers go."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.records import slug
from benchmarks.setting import FULL, QUICK, RESULTS, Section, environment
from benchmarks.tables import save

SECTIONS = (
    Section("binary.shapes", "all 8 shapes found, the number given", "binary.shapes:plain"),
    Section("binary.signed", "the same with pixels of random sign", "binary.shapes:signed"),
    Section("binary.relevance", "exactly 8 shapes found, the number not given", "binary.relevance:run"),
    Section("binary.sweeps", "one mean-field E step over the source's form", "binary.sweeps:run"),
    Section("binary.threads", "two threads over one", "binary.threads:run"),
    Section("binary.first-call", "first sweep of a process, kernel cached and not", "binary.first_call:run"),
    Section("noisy-or.images", "all 8 pictures found, best of 5; bounds beside the likelihood", "noisy_or.images:run"),
    Section("noisy-or.ones", "time of an iteration against the number of ones", "noisy_or.ones:run"),
    Section("noisy-or.text", "held-out documents beside a Bernoulli mixture", "noisy_or.text:run"),
    Section("noisy-or.default", "all documents, default settings: time", "noisy_or.text:default"),
    Section("noisy-ica.low-noise", "Student-t sources at 0 to 40 dB, beside FastICA", "ica.separation:low_noise"),
    Section("noisy-ica.unequal-noise", "sensors of different noise, beside FastICA", "ica.separation:unequal_noise"),
    Section("noisy-ica.equal-noise", "kinds of sources over noise, beside FastICA", "ica.separation:equal_noise"),
    Section("noisy-ica.number", "number of sources found", "ica.separation:number"),
    Section("noisy-ica.large", "a whole fit of many rows", "ica.separation:large"),
    Section(
        "factor-analysis.likelihood",
        "maximum likelihood in one pass, beside scikit-learn",
        "factors.contest:likelihood",
    ),
    Section("factor-analysis.streams", "O(D K) memory over maximum likelihood", "factors.contest:streams"),
    Section("factor-analysis.few-rows", "relevance determination where rows are few", "factors.contest:few_rows"),
    Section("factor-analysis.speed", "a fit over its Gram matrix, and over scikit-learn", "factors.contest:speed"),
    Section("factor-analysis.holes", "missing entries, in memory and in a stream", "factors.contest:holes"),
    Section("multi-view.iterations", "one iteration beside mofapy2's", "views.contest:iterations"),
    Section("multi-view.recovery", "default fits: factors found, and the time", "views.contest:recovery"),
    Section("multi-view.binary", "rare binary entries predicted", "views.contest:rare_binaries"),
    Section("multi-view.kinds", "views of each kind beside an oracle", "views.kinds:run"),
    Section("multi-view.scales", "simulated scales beside an oracle", "views.scales:simulated"),
    Section("multi-view.real-scales", "hidden cells of real scales by kind of view", "views.scales:real"),
    Section("multi-view.few-rows", "hidden cells of forty rows, with and without moves", "views.few_rows:run"),
    Section("multi-view.held-out", "CPU until hidden entries are predicted, beside mofapy2", "views.held_out:run"),
    Section("multi-view.memory", "memory beyond the data, beside mofapy2", "views.contest:memory"),
    Section("regression.evidence", "beside scikit-learn's BayesianRidge", "factors.regression:run"),
    Section("intervals.complete", "coverage of all published numbers, nothing missing", "intervals.coverage:complete"),
    Section("intervals.holes", "the same with one entry in ten missing", "intervals.coverage:with_holes"),
    Section("intervals.bootstrap", "the same by refits of rows drawn anew", "intervals.coverage:bootstrapped"),
    Section("intervals.rows", "coverage of codes and of filled entries", "intervals.rows:run"),
    Section("intervals.inclusion", "inclusion probabilities beside what is in", "intervals.inclusion:run"),
    Section("intervals.sbc", "ranks of truths among Gibbs draws", "intervals.sbc:run"),
    Section("intervals.regression", "coverage of coefficients and predictions", "intervals.regression:run"),
    Section(
        "mixtures.iterations", "one iteration of a Gaussian mixture over scikit-learn's", "mixtures.iterations:run"
    ),
    Section("mixtures.recovery", "20 clusters: the truth's bound reached", "mixtures.recovery:run"),
    Section("mixtures.densities", "log density of held-out rows", "mixtures.densities:run"),
    Section("mixtures.classes", "latent classes beside StepMix", "mixtures.classes:run"),
    Section("mixtures.associations", "classes against outcomes and covariates", "mixtures.associations:run"),
    Section(
        "mixed.tables", "hidden cells of eight public mixed tables, beside the usual imputers", "mixed.contest:run"
    ),
    Section(
        "weights.update",
        "one update of a weight posterior over the bandwidth floor (needs torch)",
        "weights.update:run",
    ),
    Section("scale.kills", "fits killed at random moments end with the same bits", "scale.kills:run"),
    Section("scale.worker-kills", "workers of Dask killed at random moments: the same bits", "scale.cluster:kills"),
    Section("scale.memory", "peak memory of every estimator on Parquet, 4e5 and 4e6 rows", "scale.memory:estimators"),
    Section("scale.formats", "the same of every format with a mixture", "scale.memory:formats"),
    Section(
        "scale.large-files", "the same of 4e7 rows, and of a sparse file of 7,000 columns", "scale.memory:large_files"
    ),
    Section("scale.dask", "CPU of a fit on Dask beside memory, and per chunk", "scale.cluster:costs"),
    Section("scale.row-posteriors", "local posteriors recomputed beside kept", "scale.passes:row_posteriors"),
    Section("scale.online", "the bound against rows seen in stochastic passes", "scale.passes:online"),
    Section("scale.costs", "ns per row of each model, and a billion rows simulated", "scale.costs:extrapolated"),
    Section("scale.large", "1e8 rows x 8 of a diagonal mixture from Parquet", "scale.costs:large_run"),
    Section("scale.cores", "one pass by threads, every estimator", "scale.cores:run"),
    Section("scale.gpu", "iterations on a CUDA device beside their floors (needs torch)", "scale.gpu:run"),
    Section("scale.gpu-whole", "whole fits on a CUDA device (needs torch)", "scale.gpu:factor_analysis"),
    Section("library.times", "CPU time of default fits beside its goals", "library.times:run"),
    Section("library.streams", "streams in any order beside a fit of all rows", "library.streams:run"),
    Section("tables.densities", "real tables: log density of held-out rows", "real.densities:run"),
    Section("tables.cells", "real tables: error of hidden cells beside imputers", "real.cells:run"),
    Section("tables.predictions", "real tables: predictive intervals beside BayesianRidge", "real.predictions:run"),
    Section("library.imports", "CPU time of importing", "library.imports:run"),
    Section("library.intake", "reading a CSV file of 20,000 columns (needs pandas)", "library.intake:run"),
    Section("library.falls", "falls of the bound over random fits", "library.falls:run"),
    Section("library.number", "the number of components found, from 2,000 to 100,000 rows", "library.number:run"),
    Section("library.memory", "memory of default fits: many rows, and many columns of few rows", "library.memory:run"),
    Section("library.pages", "size of pages and the time of writing them", "library.pages:run"),
    Section("library.million", "the number at a million rows, and the slope of time", "library.million:run"),
    Section("library.truth", "the number and the bound on 100 problems drawn from the models", "library.truth:run"),
    Section("library.pairs", "200 problems asked in another way: never lower", "library.pairs:run"),
    Section("library.suggestions", "the planted structure suggested, nothing on noise", "library.suggestions:run"),
    Section("library.returning", "planted components return in half-samples, others do not", "library.returning:run"),
    Section("library.noise", "nothing found in noise, from 50 to 100,000 rows", "library.noise:run"),
    Section("library.defaults", "default fits beside the best of 50 starts", "library.defaults:run"),
    Section("library.large", "a whole fit of many rows: time and memory", "library.large:run"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="section", help="a section or a group of them; none: all")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it runs, not what is true")
    parser.add_argument("--list", action="store_true", help="name the sections and stop")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes for fits that are not timed")
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only what has this in its name: problems (intervals), tables (mixed), estimators and formats (scale)",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON files")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{section.name:<20}{section.about}" for section in SECTIONS))
        return
    unknown = [name for name in options.names if not any(section.answers_to(name) for section in SECTIONS)]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; --list names them")
    setting = replace(QUICK if options.quick else FULL, jobs=options.jobs, only=options.only, results=options.results)
    for section in SECTIONS:
        if options.names and not any(map(section.answers_to, options.names)):
            continue
        began = time.perf_counter()
        tables = section.run(setting)
        seconds = time.perf_counter() - began
        for table in tables:
            print(f"{table}\n", flush=True)
        print(f"({section.name}: {seconds:.0f} s)\n", flush=True)
        name = f"{section.name}.{slug(options.only)}" if options.only else section.name
        save(options.results / f"{name}.json", tables, environment(setting, seconds))


if __name__ == "__main__":
    main()
