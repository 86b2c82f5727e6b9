"""The eight shapes, their number given."""

from __future__ import annotations

from functools import partial

from benchmarks.binary.contest import Method, compare, ours
from benchmarks.peers import scikit, source
from benchmarks.setting import Setting
from benchmarks.tables import Table, at_least, at_most

__all__ = ["plain", "signed"]

K = 8


def plain(setting: Setting) -> list[Table]:
    goals = {"all 8": at_least(0.99), "CPU s": at_most(0.2)}
    methods = [
        Method("latens ml", partial(ours, k=K, prior="ml"), setting.n_seeds, goals),
        Method("latens ard", partial(ours, k=K, prior="ard"), setting.n_seeds, goals),
        Method("as printed", lambda x, seed: source.learn(x, K, seed), setting.n_cheap),
        Method("scikit-learn NMF", lambda x, seed: scikit.positive_parts(x, K, seed), setting.n_seeds),
        Method(
            "DictionaryLearning, positive, alpha .1",
            lambda x, seed: scikit.positive_dictionary(x, K, seed),
            setting.n_cheap,
        ),
        Method("FastICA, skew as sign", lambda x, seed: scikit.independent(x, K, seed), setting.n_seeds),
    ]
    return [compare("Shapes, K = 8", methods)]


def signed(setting: Setting) -> list[Table]:
    goals = {"all 8": at_least(0.98)}
    methods = [
        Method("latens ml", partial(ours, k=K, prior="ml"), setting.n_seeds, goals),
        Method("latens ard", partial(ours, k=K, prior="ard"), setting.n_seeds, goals),
        Method("as printed", lambda x, seed: source.learn(x, K, seed), setting.n_cheap),
        Method(
            "DictionaryLearning, positive codes, alpha .1",
            lambda x, seed: scikit.dictionary(x, K, seed),
            setting.n_cheap,
        ),
        Method("FastICA, skew as sign", lambda x, seed: scikit.independent(x, K, seed), setting.n_seeds),
    ]
    return [compare("Signed shapes, K = 8", methods, signed=True)]
