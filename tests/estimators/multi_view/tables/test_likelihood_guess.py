"""What the values of a view say about its likelihood, and what the user is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from latens.errors import ConstantColumns, DoubtfulScale, NeverSeen
from latens.estimators.multi_view.tables.likelihood_guess import guess_likelihoods
from latens.estimators.multi_view.tables.wide import lay_out

RNG = np.random.default_rng(1)
REAL = RNG.normal(size=(40, 6))
COUNTS = RNG.poisson(3.0, size=(40, 25)).astype(float)
BINARY = (RNG.random((40, 8)) < 0.3).astype(float)


def holed(x: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(2).random(x.shape) < 0.2, np.nan, x)


@pytest.mark.parametrize("shape", [lambda x: x, holed])
def test_values_tell_their_likelihood(shape: Callable[[np.ndarray], np.ndarray]) -> None:
    views = {"a": shape(REAL), "b": shape(BINARY), "c": shape(COUNTS), "d": shape(COUNTS - 2), "e": shape(COUNTS / 2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = lay_out(views, groups=["u", "v"] * 20)
        assert guess_likelihoods(table, None) == ("gaussian", "bernoulli", "poisson", "gaussian", "gaussian")


def test_a_guess_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="latens"):
        guess_likelihoods(lay_out({"rna": REAL, "mut": BINARY}), {"rna": "gaussian"})
    assert caplog.messages == ["view 'mut' is taken as bernoulli; likelihoods={'mut': ...} chooses another."]


def test_choices_stand_and_the_rest_is_guessed() -> None:
    table = lay_out({"mut": BINARY, "rna": REAL, "counts": COUNTS})
    assert guess_likelihoods(table, {"mut": "poisson"}) == ("poisson", "gaussian", "poisson")
    assert guess_likelihoods(table, "gaussian") == ("gaussian",) * 3
    assert guess_likelihoods(table, {}) == ("bernoulli", "gaussian", "poisson")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dna": "gaussian"}, r"likelihoods names the view\(s\) 'dna'; there are 'rna', 'mut'"),
        ({"rna": "normal"}, r"likelihoods\['rna'\]='normal' is not known; choose one of 'gaussian', 'student'"),
        ({"rna": "bernoulli"}, "view 'rna' is to be bernoulli but holds other values than 0 and 1"),
        ({"rna": "poisson"}, "view 'rna' is to be poisson but holds negative values"),
        ({"half": "poisson"}, "view 'half' is to be poisson but holds fractions"),
        (["gaussian"], "is no dict"),
    ],
)
def test_choices_that_cannot_be_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        guess_likelihoods(lay_out({"rna": REAL, "mut": BINARY, "half": COUNTS / 2}), given)


def test_large_counts_are_doubted_with_the_remedy() -> None:
    table = lay_out({"rna": np.floor(np.exp(4 * np.abs(REAL)))})
    with pytest.warns(
        DoubtfulScale,
        match=r"'rna' holds counts up to [\d,]+ and is taken as gaussian\. Try .*'negative-binomial'} with "
        r"exposure='total', or np.log1p",
    ):
        assert guess_likelihoods(table, None) == ("gaussian",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert guess_likelihoods(table, {"rna": "poisson"}) == ("poisson",)


def test_measurements_in_whole_units_are_no_counts() -> None:
    """Grams and millimetres of birds: large, whole, and far from 0."""
    table = lay_out({"bird": np.round([4200.0, 201.0] + REAL[:, :2] * [600.0, 12.0])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert guess_likelihoods(table, None) == ("gaussian",)


@pytest.mark.parametrize(("largest", "guess"), [(20, "poisson"), (21, "gaussian"), (45, "gaussian")])
def test_counts_are_taken_as_such_while_they_are_small(largest: float, guess: str) -> None:
    counts = COUNTS.copy()
    counts[3, 4] = largest
    table = lay_out({"rna": counts})
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        assert guess_likelihoods(table, None) == (guess,)
        assert guess_likelihoods(table, {"rna": "poisson"}) == ("poisson",)
    messages = [str(one.message) for one in records]
    assert len(messages) == (0 if guess == "poisson" else 1)
    assert all(f"holds counts up to {largest}" in one and "np.log1p" in one for one in messages)


def test_positive_values_with_the_variance_in_a_few_columns_are_doubted() -> None:
    x = np.exp(RNG.normal(size=(50, 40))) * np.exp(2 * RNG.normal(size=40))
    with pytest.warns(DoubtfulScale, match="a few of its columns hold most of the variance.*Try np.log1p"):
        guess_likelihoods(lay_out({"rna": x}), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guess_likelihoods(lay_out({"rna": np.log1p(x)}), None)
        guess_likelihoods(lay_out({"rna": x - 10}), None)  # not positive: some other scale
        guess_likelihoods(lay_out({"rna": x}), {"rna": "gaussian"})  # the user has decided


@pytest.mark.parametrize("name", ["wine", "iris", "digits", "diabetes", "linnerud"])
def test_few_columns_of_unequal_units_are_doubted(name: str) -> None:
    x = getattr(sklearn.datasets, f"load_{name}")().data
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always", DoubtfulScale)
        guess_likelihoods(lay_out({"rows": holed(x)}), None)
    messages = [str(one.message) for one in records if "unequal units" in str(one.message)]
    assert len(messages) == (name == "wine")
    assert all(
        words.endswith("Divide the columns by their standard deviations, X / X.std(axis=0).") for words in messages
    )
    varying = x[:, x.std(axis=0) > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulScale)
        guess_likelihoods(lay_out({"rows": varying / varying.std(axis=0)}), None)
        guess_likelihoods(lay_out({"rows": x}), {"rows": "gaussian"})  # the user has decided


def test_columns_and_views_without_a_value_are_named() -> None:
    x = REAL.copy()
    x[:, 2] = np.nan
    with pytest.warns(NeverSeen) as records:
        guess_likelihoods(lay_out({"rna": x, "protein": np.full((len(x), 2), np.nan)}), None)
    assert [str(one.message).partition(" They")[0] for one in records] == [
        "1 column(s) of view 'rna' hold no value at all: 'rna_2'.",
        "2 column(s) of view 'protein' hold no value at all: 'protein_0', 'protein_1'.",
    ]


def test_constant_columns_are_named_whatever_is_missing() -> None:
    x = REAL.copy()
    x[:, 2], x[:, 4], x[3, 4] = 7.0, 0.0, np.nan
    with pytest.warns(
        ConstantColumns, match=r"2 column\(s\) of view 'rna' never vary: 'rna_2', 'rna_4'. They are kept"
    ):
        guess_likelihoods(lay_out({"rna": x}), None)


def test_rows_that_do_not_count_are_not_looked_at() -> None:
    x, weight = BINARY.copy(), np.ones(40)
    x[0], weight[0] = 0.5, 0.0
    assert guess_likelihoods(lay_out({"mut": x}, sample_weight=weight), None) == ("bernoulli",)
    assert guess_likelihoods(lay_out({"mut": x}), None) == ("gaussian",)
    x[1, 1] = np.nan
    assert guess_likelihoods(lay_out({"mut": x}, sample_weight=weight), None) == ("bernoulli",)


def test_arrays_of_other_libraries_are_read_where_they_are() -> None:
    import array_api_strict as xp

    table = lay_out({"mut": xp.asarray(holed(BINARY)), "rna": xp.asarray(np.exp(COUNTS))}, sample_weight=np.arange(40))
    with pytest.warns(DoubtfulScale):
        assert guess_likelihoods(table, None) == ("bernoulli", "gaussian")


@pytest.mark.extras
def test_real_tables_get_the_warnings_they_deserve(data_file: Callable[[str], Path]) -> None:
    import pandas as pd

    names = ["RNASeq2GeneNorm", "gistict", "RPPAArray", "miRNASeqGene", "Mutations"]
    views = {n: pd.read_csv(data_file(f"multiomics/miniACC_{n}.csv"), index_col=0) for n in names}
    with pytest.warns(UserWarning) as records:  # noqa: PT030
        kinds = guess_likelihoods(lay_out(views), None)
    assert kinds == ("gaussian", "gaussian", "gaussian", "gaussian", "bernoulli")
    assert [type(one.message) for one in records] == [DoubtfulScale, DoubtfulScale, ConstantColumns]
    assert "'RNASeq2GeneNorm' has no negative values" in str(records[0].message)
    assert "'miRNASeqGene' holds counts up to 5,727,255" in str(records[1].message)
    assert "24 column(s) of view 'Mutations' never vary" in str(records[2].message)
    breast = {
        n: pd.read_csv(data_file(f"multiomics/breastTCGA_{n}.csv"), index_col=0) for n in ["mrna", "mirna", "protein"]
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # logarithms already
        assert guess_likelihoods(lay_out(breast), None) == ("gaussian",) * 3


def test_small_whole_numbers_are_counts_only_with_the_zeros_tails_and_variances_of_counts() -> None:
    rng = np.random.default_rng(0)
    views = {
        "answers": rng.integers(1, 8, size=(200, 6)).astype(float),
        "from zero": np.clip(np.round(rng.normal(3, 1.2, size=(200, 6))), 0, 6),
        "counts": rng.poisson(1.5, size=(200, 6)).astype(float),
        "dispersed": np.minimum(rng.negative_binomial(1, 0.3, size=(200, 6)), 20).astype(float),
    }
    assert guess_likelihoods(lay_out(views), None) == ("gaussian", "gaussian", "poisson", "poisson")
