"""What the parts of a page tell of real fits, against the same numbers taken by hand."""

from __future__ import annotations

import json
import re
import warnings
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

import latens
from latens.estimators.intervals.table import IntervalTable
from latens.report import Entry, report
from latens.report.measures import certainty
from latens.report.measures.hidden_cells import hidden_cells
from latens.report.sections.downloads import _typed
from latens.report.sections.findings.classes import profiles
from latens.report.sections.findings.components import columns, listing
from latens.report.sections.head import sentence, verdicts
from latens.report.sections.rows.extremes import typical_and_odd
from latens.report.sections.rows.known import against_known
from latens.report.sections.trust import _worth
from latens.system.summary_table import Table
from tests.report.reading import Page

N = 200


@pytest.fixture(scope="module")
def clusters() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(N, 4)) * [1, 100, 0.01, 1] + label[:, None] * [5, 0, 0.05, -6] + [0, 1e3, 0, 0]
    return latens.GaussianMixture(6, covariance_type="diag", random_state=0).fit(X), X, label


@pytest.fixture(scope="module")
def factors() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 2))
    X = (z @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(N, 6))) * 10.0 ** np.arange(-2, 4)
    return latens.FactorAnalysis(2).fit(X), X, z


def test_the_sentence_of_clusters_is_made_of_their_sizes(clusters: Any) -> None:
    model, X, _ = clusters
    words = sentence(Entry(model, X))
    assert words.startswith("3 clusters: the largest")
    largest, smallest = (int(share) for share in re.findall(r"(\d+) %", words))
    rows = 100 * np.bincount(model.predict(X)) / N  # of the rows that were assigned, not the weights of the model
    assert largest == pytest.approx(rows.max(), abs=0.51)
    assert smallest == pytest.approx(rows.min(), abs=0.51)


def test_shares_of_factors_add_up_to_what_all_explain(factors: Any) -> None:
    model, X, _ = factors
    sizes = Entry(model, X).sizes
    assert sizes is not None
    explained = np.mean(np.sum(model.components_**2, axis=0) / np.var(X, axis=0))  # variances of ml are those of X
    assert sizes.total == pytest.approx(explained, rel=1e-6)
    assert sizes.share == pytest.approx(model.summary()["share"], rel=1e-12)
    assert f"{100 * explained:.0f} %" in sentence(Entry(model, X))


def test_clusters_are_told_by_their_distance_in_sd_of_each_column(clusters: Any) -> None:
    model, X, _ = clusters
    profile = Entry(model, X).profile
    assert profile is not None
    usual = model.weights_ @ model.means_
    np.testing.assert_allclose(profile.strength, ((model.means_ - usual) / X.std(axis=0)).T, rtol=0.02, atol=0.01)
    for k, top in enumerate(model.top_features(4).values()):
        assert [profile.columns[d] for d in profile.top(k, 4)] == top


def test_top_columns_carry_sign_and_interval_in_the_same_unit(factors: Any, tmp_path: Path) -> None:
    model, X, _ = factors
    text = Page(report(model, X, tmp_path / "page.html")).text
    by_name = {(row[1], row[2]): row for row in model.intervals().rows if row[0] == "components"}
    d = int(np.argmax(np.abs(model.components_[0]) / X.std(axis=0)))
    row = by_name[str(model.get_feature_names_out()[0]), f"x{d}"]
    ends = [f"{abs(end) / X[:, d].std():.2f}" for end in row[6:8]]
    assert re.search(rf"x{d}\s+\[.{ends[0]}, .{ends[1]}\]", text)


def test_loadings_that_rows_do_not_identify_are_hatched_however_many_they_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 4)) + rng.normal(size=(150, 4))  # ten sums, eleven unknowns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        section = columns(Entry(latens.FactorAnalysis(2).fit(X), X))
    assert section is not None
    assert section.text.endswith("not identified by the rows. Hatched: the interval is not sound.")
    assert str(section.body).count("unsound") == 8


def test_intervals_of_mean_field_are_called_too_narrow_beside_them(
    factors: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, _ = factors
    said = "The intervals are too narrow wherever the hidden values of rows are uncertain (mean field)."
    assert "mean field" not in Page(report(model, X, tmp_path / "response.html")).text
    monkeypatch.setattr(certainty, "MOST_COORDINATES", 1)  # as of a model too large for responses
    entry = Entry(model, X)
    section = columns(entry)
    assert section is not None
    assert entry.certainty.table.method == "mean-field"
    assert said in str(section.body)  # by the table of columns, where no cell is hatched instead
    assert "unsound" not in str(section.body)
    assert Page(report(model, X, tmp_path / "page.html")).text.count(said) == 2  # there, and where trust is asked for


def test_verdicts_say_whether_the_cap_was_reached(clusters: Any) -> None:
    model, X, _ = clusters
    words = str(verdicts(Entry(model, X), "s1"))
    assert "3 clusters needed of at most 6." in words
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = latens.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    assert "All 2 clusters are in use: raise n_components" in str(verdicts(Entry(full, X), "s1"))


def test_hidden_cells_are_filled_better_than_by_means_where_columns_tell_of_each_other(factors: Any) -> None:
    model, X, _ = factors
    cells = hidden_cells(Entry(model, X))
    assert cells is not None
    assert cells.n > 100
    assert cells.error < 0.7
    assert 0.85 < cells.coverage <= 1
    noise = np.random.default_rng(0).normal(size=(N, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        idle = hidden_cells(Entry(latens.FactorAnalysis(1).fit(noise), noise))
    assert idle is not None
    assert idle.error > 0.9


def test_what_is_known_of_the_rows_is_set_against_the_components(factors: Any, tmp_path: Path) -> None:
    model, X, z = factors
    metadata = {"age": [float(v) for v in z[:, 0]], "sex": ["f" if v > 0 else "m" for v in z[:, 1]]}
    text = Page(report(model, X, tmp_path / "page.html", metadata=metadata)).text
    assert "Against what you know" in text
    codes = model.transform(X)
    r = max((np.corrcoef(codes[:, k], z[:, 0])[0, 1] for k in (0, 1)), key=abs)
    assert f"{abs(r):.2f}" in text
    assert "Kruskal-Wallis" in text
    section = against_known(Entry(model, X, metadata=metadata))
    assert section is not None
    assert section.table is not None
    at = section.table.columns.index("95 % interval")
    for row in section.table.rows:  # labels, too
        assert re.fullmatch(r"\[[+−]?\d\.\d\d, [+−]?\d\.\d\d\]", row[at]), row
    with pytest.raises(ValueError, match="column 'age' of metadata has 3 entries for 200 rows"):
        report(model, X, tmp_path / "other.html", metadata={"age": [1.0, 2.0, 3.0]})


def test_levels_of_classes_have_intervals_where_they_are_listed() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=200)
    X = np.column_stack([rng.normal(3.0 * label), np.where(rng.random(200) < 0.85, label, 2)]).astype(float)
    model = latens.LatentClassAnalysis(2, likelihoods={0: "gaussian", 1: "categorical"}, random_state=0).fit(X)
    entry = Entry(model, X)
    components, numbers = listing(entry), profiles(entry)
    assert components is not None
    assert components.table is not None
    assert numbers is not None
    assert numbers.table is not None
    strongest = [line for row in components.table.rows[:2] for line in str(row[-1]).split('class="top"')[1:]]
    assert any("x1 = " in line for line in strongest)
    assert all('class="range' in line for line in strongest)  # of every level and number that is listed
    levels = [row for row in numbers.table.rows if row[0] == "x1"]
    assert len(levels) == 3
    for row in levels:
        assert all(re.fullmatch(r"[\d.]+(e−\d+)? \[\S+, \S+\]", cell) for cell in row[3:]), row
    means = [row for row in numbers.table.rows if row[2] == "mean"]
    assert all("[" in cell for cell in means[0][3:])
    assert not any("[" in cell for row in numbers.table.rows if row[2] == "s.d." for cell in row[3:])


def test_a_component_that_another_fit_has_otherwise_is_not_said_to_be_left_out() -> None:
    """Two halves of a large cluster, and what a table of intervals says of them."""
    columns = ("parameter", "component", "feature", "view", "estimate", "std", "lower", "upper", "sound", "why")
    changed = "a fit without b, 5.7 nats below, says otherwise of it"
    rows = tuple(
        ("means", name, "x0", "", 0.0, 1.0, -2.0, 2.0, False, why)
        for name, why in (("a", changed), ("b", "its component is worth 5.7 nats: other fits are as likely"))
    )
    worth = Table(("component", "nats", "missing information"), (("a", 5.7, 0.0), ("b", 5.7, 0.0), ("c", 80.0, 0.0)))
    entry = SimpleNamespace(
        labels=["a", "b", "c"], certainty=SimpleNamespace(table=IntervalTable(columns, rows, "response", worth))
    )
    assert _worth(entry) == [  # type: ignore[arg-type]  # all that it asks for
        f"a: {changed}.",
        "b is worth 5.70 nats: other fits without it are nearly as likely.",
    ]


def test_one_cluster_is_not_set_beside_itself() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    entry = Entry(latens.GaussianMixture(1, random_state=0).fit(X), X)
    assert columns(entry) is None
    assert listing(entry) is not None


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ("--data t.csv", "latens impute m.latens t.csv --out filled.csv"),
        ("--view a=a.csv --view b=b.csv", "latens impute m.latens --view a=a.csv --view b=b.csv --out filled.csv"),
        ("--data 'my t.csv' --weights w", "latens impute m.latens 'my t.csv' --out filled.csv"),
        ("", "latens impute m.latens t.csv --out filled.csv"),
    ],
)
def test_what_to_type_for_a_long_table_names_the_files_as_they_are_given(options: str, typed: str) -> None:
    entry = Entry(SimpleNamespace(), model_file="m.latens", source="t.csv", rows_options=options)
    assert _typed(entry, "impute", "filled.csv") == typed


def test_odd_rows_are_the_least_probable_with_the_column_that_makes_them_so(factors: Any) -> None:
    model, X, _ = factors
    X = X.copy()
    X[17, 3] += 30 * X[:, 3].std()
    found = typical_and_odd(Entry(model, X))
    assert found is not None
    odd = found.parts[0].table
    assert odd is not None
    assert Markup(odd.rows[0][0]).striptags() == "row 17"
    assert odd.rows[0][2].startswith("x3 +")


def test_yes_and_no_of_odd_rows_are_told_by_how_probable_they_are() -> None:
    rng = np.random.default_rng(0)
    chance = np.where(rng.integers(0, 2, (300, 1)) == 1, [0.9] * 4 + [0.1] * 4, [0.1] * 4 + [0.9] * 4)
    X = np.hstack([rng.random((300, 8)) < chance, np.zeros((300, 1))]).astype(float)
    X[11, 8] = 1.0
    model = latens.BernoulliMixture(2, random_state=0, moves=False).fit(X)
    found = typical_and_odd(Entry(model, X))
    assert found is not None
    odd = found.parts[0]
    assert odd.table is not None
    why = {Markup(row[0]).striptags(): row[2] for row in odd.table.rows}["row 11"]
    percent = re.match(r"x8 = 1 \(([\d.]+) %\)", why)
    assert percent is not None, why
    assert float(percent[1]) < 2
    named = [(int(column), float(value), float(share)) for row in odd.table.rows
             for column, value, share in re.findall(r"x(\d) = (\d) \(([\d.]+) %\)", row[2])]  # fmt: skip
    assert named
    assert all(share < 50 for _, _, share in named)
    assert "how probable they are" in odd.text


def test_a_regression_is_set_against_its_targets(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 3))
    y = X @ [1.0, -2.0, 0.0] + rng.normal(size=N)
    model = latens.BayesianLinearRegression().fit(X, y)
    text = Page(report(model, X, tmp_path / "page.html", y=y)).text
    assert f"R² {model.score(X, y):.3f} on these rows; 2 of 3 weights lie more than two posterior sd from 0." in text
    assert "Observed against predicted" in text
    assert "Residuals" in text


def test_sources_have_their_courses(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_ica(300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.NoisyICA(3, max_iter=10, random_state=0).fit(X)
    text = Page(report(model, X, tmp_path / "page.html")).text
    assert "Sources over rows" in text
    assert "tails (degrees of freedom)" in text


def test_views_that_rows_lack_are_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(80, 2))
    views = {name: z @ rng.normal(size=(2, 5)) + rng.normal(size=(80, 5)) for name in ("a", "b")}
    views["b"][:20] = np.nan
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)
    text = Page(report(model, views, tmp_path / "page.html")).text
    assert "Which rows show which views" in text
    assert "b (75 % of rows)" in text
    assert "Strongest features over the rows" in text


def test_what_was_done_with_a_file_is_told(clusters: Any, tmp_path: Path) -> None:
    model, X, _ = clusters
    treatment = Table(
        ("column", "kind", "note"), (("age", "number", "units removed"), ("id", "dropped", "unique text"))
    )
    about = {"source": "people.csv", "data_notes": ("1 of 5 columns was dropped.",), "treatment": treatment}
    text = Page(report(model, X, tmp_path / "page.html", sweep=[(2, 2, -900.0), (6, 3, -800.0)], **about)).text
    for words in ("people.csv", "units removed", "unique text", "1 of 5 columns was dropped.", "−100.0"):
        assert words in text
    assert "latens fit people.csv --report page.html" in text
    assert "latens.GaussianMixture(covariance_type='diag', n_components=6, random_state=0)" in text


def test_many_rows_are_sampled_and_the_page_says_so(tmp_path: Path) -> None:
    X = np.random.default_rng(4).normal(size=(6000, 3)) * [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(1).fit(X)
    path = report(model, X, tmp_path / "page.html")
    assert "5,000 of 6,000 rows, spread evenly over them." in Page(path).text
    data = json.loads(re.search(r'id="page-data">(.*?)</script>', path.read_text(encoding="utf-8")).group(1))  # type: ignore[union-attr]
    places = data[0]["parts"]["rows"]["first"]
    assert len(places) == 5000
    assert (places[0], places[-1]) == (0, 5999)


def test_a_calculator_is_plain_and_models_without_a_short_answer_have_none(factors: Any, clusters: Any) -> None:
    for model, *_ in (factors, clusters):
        answer = model.calculator()
        assert json.loads(json.dumps(answer)) == answer
        assert answer["columns"] == [f"x{d}" for d in range(model.n_features_in_)]
    X, _ = latens.datasets.make_ica(200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert latens.NoisyICA(2, max_iter=3, random_state=0).fit(X).calculator() is None


def test_sources_have_maps_of_their_columns(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_ica(300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.NoisyICA(2, max_iter=20, random_state=0).fit(X)
    text = report(model, X, tmp_path / "page.html").read_text(encoding="utf-8")
    part = text[text.index("Maps of the sources") :]
    strength = model.mixing_ / model._column_spread()[:, None]  # of columns under the model, as pages have them
    assert part.count('class="more"') == np.sum(strength[:, : model.n_components_] > 0)
    assert part.count('class="less"') == np.sum(strength[:, : model.n_components_] <= 0)
    d, k = np.unravel_index(np.argmax(np.abs(strength)), strength.shape)
    assert f"{abs(strength[d, k]):.2f}" in part


def test_what_did_not_converge_names_what_ran_out(clusters: Any) -> None:
    X = clusters[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = latens.GaussianMixture(6, covariance_type="diag", init="random", random_state=0, max_iter=2).fit(X)
        short = latens.GaussianMixture(6, covariance_type="diag", random_state=0, max_time=1e-9).fit(X)
    assert not few.converged_
    assert not short.converged_
    assert "raise max_iter" in str(verdicts(Entry(few, X), "s1"))
    assert "raise max_time" in str(verdicts(Entry(short, X), "s1"))


def test_the_verdict_of_stability_is_on_the_page_or_what_to_type(clusters: Any) -> None:
    model, X, _ = clusters
    untested = str(verdicts(Entry(model, X), "s1"))
    assert "Not tested yet: latens.stability(model, X)" in untested
    typed = str(verdicts(Entry(model, X, source="my table.csv", model_file="m.latens"), "s1"))
    assert "latens stability m.latens --data &#39;my table.csv&#39;" in re.sub("</?span[^>]*>", "", typed)
    assert '<span class="option">--data</span>' in typed
    far = "--data " + "/".join(["folder"] * 20) + ".csv"
    assert "what to type is below" in str(verdicts(Entry(model, X, model_file="m.latens", rows_options=far), "s1"))

    class Found:
        verdict = "3 of 3 return."

        def __init__(self, *rates: float) -> None:
            self.return_rate = np.array(rates)

    sure = str(verdicts(Entry(model, X, stability=Found(1.0, 0.92, 0.95)), "s1"))
    assert '<li class="good">Stable: all 3 clusters return in at least 92 % of halves' in sure
    weak = str(verdicts(Entry(model, X, stability=Found(1.0, 0.9, 0.2)), "s1"))
    assert '<li class="doubtful">2 of 3 clusters return in most halves of the rows; cluster2 in 20 %.' in weak


def test_scores_and_the_filled_table_can_be_taken_along_without_a_script(factors: Any, tmp_path: Path) -> None:
    model, X, _ = factors
    holes = X.copy()
    holes[3, 1] = holes[7, 4] = np.nan
    text = report(model, holes, tmp_path / "page.html").read_text(encoding="utf-8")
    tables = {
        file: np.genfromtxt(b64decode(data).decode().splitlines(), delimiter=",", skip_header=1)[:, 1:]
        for file, data in re.findall(r'download="([\w.]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)"', text)
    }
    np.testing.assert_allclose(tables["scores.csv"], model.transform(holes), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tables["filled.csv"], model.impute(holes), rtol=1e-4)


def test_tables_too_long_for_the_page_are_a_line_to_type(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(4000, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(6).fit(X)
    page = report(model, X, tmp_path / "page.html", source="big.csv", model_file="big.latens")
    assert "latens transform big.latens big.csv --out scores.csv" in Page(page).text
    assert "data:text/csv" not in page.read_text(encoding="utf-8")


def test_causes_are_told_by_what_they_make_never_by_less(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_baskets(150, random_state=0)
    model = latens.NoisyOr(8, random_state=0).fit(X)
    profile = Entry(model, X).profile
    assert profile is not None
    assert np.all(profile.strength >= 0)
    np.testing.assert_allclose(profile.shown, model.components_.T)
    usual = 1 - (1 - model.leak_) * np.prod(1 - model.usage_[:, None] * model.components_, axis=0)
    alone = 1 - (1 - model.leak_) * (1 - model.components_)
    np.testing.assert_allclose(profile.lift, (alone / usual).T)


def test_the_details_name_the_data_and_the_memory(factors: Any, tmp_path: Path) -> None:
    model, X, _ = factors
    pages = [Page(report(model, rows, tmp_path / "page.html")).text for rows in (X, X, X[::-1])]
    hashes = [re.search(r"SHA-256 of the data\s+([0-9a-f]{16})", text).group(1) for text in pages]  # type: ignore[union-attr]
    assert hashes[0] == hashes[1] != hashes[2]
    assert re.search(r"peak memory\s+[\d.]+ [MG]B", pages[0])


@pytest.mark.extras
def test_hidden_cells_of_text_are_judged_by_how_many_are_right() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    frame = pd.DataFrame(
        {
            "height": 160 + 20 * group + rng.normal(size=400),
            "weight": 60 + 20 * group + rng.normal(size=400),
            "town": np.where(group > 0, "Oslo", "Rome"),
            "smokes": np.where(rng.random(400) < 0.1 + 0.8 * group, "yes", "no"),
            "visits": rng.poisson(5 + 200 * group),  # hidden ones are filled by expected counts, which are no counts
        }
    )
    model = latens.LatentClassAnalysis(2, random_state=0).fit(frame)
    cells = hidden_cells(Entry(model, frame))
    assert cells is not None
    assert cells.error < 0.3
    assert cells.right > 0.9
    assert cells.usual < 0.7
    assert 0.85 < cells.coverage <= 1
    assert cells.helpful
    words = str(verdicts(Entry(model, frame), "s1"))
    assert f"hidden levels are right in {100 * cells.right:.0f} % (the most frequent one: " in words


@pytest.mark.extras
def test_hidden_cells_of_a_mixed_frame_are_those_of_its_own_columns() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    frame = pd.DataFrame(
        {
            **{name: size * (z + 0.3 * rng.normal(size=300)) for name, size in (("a", 1.0), ("b", 100.0), ("c", 0.01))},
            "smokes": np.where(z + 0.3 * rng.normal(size=300) > 0, "yes", "no"),
            "town": np.array(["Oslo", "Rome", "Lima"])[np.clip(np.round(z + 1), 0, 2).astype(int)],
        }
    )
    model = latens.MultiViewFactorAnalysis(2, random_state=0, max_iter=100).fit(frame)
    cells = hidden_cells(Entry(model, frame))
    assert cells is not None
    assert 100 < cells.n < 0.15 * frame.size  # of five columns, not of levels
    assert cells.error < 0.6
    assert 0.85 < cells.coverage <= 1
    assert cells.right > cells.usual + 0.1
    assert cells.helpful


@pytest.mark.extras
def test_hidden_cells_of_numbers_with_percents_or_commas_are_judged_as_the_numbers_are() -> None:
    """The cells that are not hidden stay text, which is read by the model alone."""
    import pandas as pd

    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    numbers = {name: (20 + 30 * group + rng.normal(size=300)).round(2) for name in ("fat", "sugar", "water")}
    plain = pd.DataFrame({**numbers, "kind": np.where(group > 0, "cheese", "bread")})
    written = plain.assign(
        fat=[f"{value:.2f}%" for value in plain["fat"]],
        water=[f"{value:.2f}".replace(".", ",") for value in plain["water"]],
    )
    expected, cells = (
        hidden_cells(Entry(latens.LatentClassAnalysis(2, random_state=0).fit(frame), frame))
        for frame in (plain, written)
    )
    assert cells is not None
    assert expected is not None
    assert (cells.n, cells.right) == (expected.n, expected.right)
    assert cells.error == pytest.approx(expected.error)
    holes = written.assign(water=written["water"].mask(np.arange(300) < 3))
    whole = latens.LatentClassAnalysis(2, random_state=0).fit(written).impute(holes)["water"]
    assert all(re.fullmatch(r"\d+,\d+", cell) for cell in whole)


def test_cells_of_small_tables_are_hidden_in_several_rounds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) @ rng.normal(size=(1, 8)) + 0.3 * rng.normal(size=(60, 8))
    model = latens.FactorAnalysis(2, prior="ard", random_state=0).fit(X)
    found = hidden_cells(Entry(model, X))
    assert found is not None
    assert found.n >= 100  # a tenth of the table is 48
    assert found.error < 0.9
    few = verdicts(Entry(model, X[:5]), "s1")
    assert few is not None
    assert "too few of them to tell" in few


@pytest.mark.extras
def test_levels_of_odd_rows_are_told_by_how_probable_they_are() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    town = np.where(group == 1, rng.choice(["Rome", "Lima"], 300), rng.choice(["Oslo", "Bern"], 300))
    X = pd.DataFrame({"age": 40 + 20.0 * group + rng.normal(size=300), "income": 9.0 * group + rng.normal(size=300),
                      "town": town})  # fmt: skip
    X.loc[7, "town"] = "Atlantis"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.LatentClassAnalysis(2, random_state=0).fit(X)
    found = typical_and_odd(Entry(model, X))
    assert found is not None
    odd = found.parts[0]
    assert odd.table is not None
    why = {Markup(row[0]).striptags(): row[2] for row in odd.table.rows}["row 7"]
    chance = re.match(r"town = Atlantis \(([\d.]+) %\)", why)
    assert chance is not None, why
    assert float(chance[1]) < 5
    assert "how probable they are" in odd.text


def test_components_that_a_better_fit_does_without_are_not_called_worth_something(factors: Any) -> None:
    from types import SimpleNamespace

    from latens.report.sections.trust import _worth

    components = SimpleNamespace(rows=[("factor0", 3.0), ("factor1", -9.5)])
    certainty = SimpleNamespace(table=SimpleNamespace(components=components))
    first, second = _worth(SimpleNamespace(certainty=certainty, labels=["factor0", "factor1"]))  # type: ignore[arg-type]
    assert "worth 3" in first
    assert "without it has a bound 9.50 nats higher" in second


def test_a_page_says_why_its_model_was_chosen_and_folds_long_tables(clusters: Any, tmp_path: Path) -> None:
    model, X, _ = clusters
    rows = tuple((f"c{i}", "number") for i in range(60))
    path = report(model, X, tmp_path / "page.html", why="clusters fill hidden cells best", source="a.csv",
                  treatment=Table(("column", "kind"), rows))  # fmt: skip
    text = path.read_text(encoding="utf-8")
    assert "Why this model: clusters fill hidden cells best." in text
    assert "<details><summary>Data by column</summary>" in text


def test_the_number_is_not_called_found_where_the_search_was_cut_off(clusters: Any) -> None:
    _, X, _ = clusters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.GaussianMixture(random_state=0, max_time=1e-3).fit(X)
    assert not model.converged_
    text = str(verdicts(Entry(model, X), ""))
    assert "Not converged after" in text
    assert "so far: the search ended before their number was found." in text
    assert "found by the bound" not in text
    done = latens.GaussianMixture(random_state=0).fit(X)
    assert "the number was found by the bound." in str(verdicts(Entry(done, X), ""))
