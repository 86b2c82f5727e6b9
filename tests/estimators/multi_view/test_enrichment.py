"""Sets of features that factors move more than the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import latens
from latens.estimators.multi_view.enrichment import enriched, read_sets

RNG = np.random.default_rng(0)
GENES = tuple(f"G{d}" for d in range(200))


def test_t_is_that_of_the_textbook_and_p_of_its_upper_tail() -> None:
    strength = np.abs(RNG.normal(size=(2, 200)))
    table = enriched({"rna": strength}, {"rna": GENES}, ["f0", "f1"], {"first": GENES[:20]}, least=5,
                     n_permutations=None, rng=RNG)  # fmt: skip
    by_name = {row[0]: row for row in table.rows}
    for k in range(2):
        usual = stats.ttest_ind(strength[k, :20], strength[k, 20:], alternative="greater")
        assert by_name[f"f{k}"][4] == pytest.approx(usual.statistic)
        assert by_name[f"f{k}"][5] == pytest.approx(usual.pvalue)


def test_permutations_agree_and_sets_of_nothing_are_not_found() -> None:
    strength = RNG.normal(size=(1, 200)) ** 2
    strength[0, :15] += 1.5
    sets = {"planted": GENES[:15], **{f"random {i}": tuple(RNG.choice(GENES, 15, replace=False)) for i in range(150)}}
    by = {
        how: enriched({"rna": strength}, {"rna": GENES}, ["f0"], sets, least=5, n_permutations=how,
                      rng=np.random.default_rng(1))
        for how in (None, 500)
    }  # fmt: skip
    for table in by.values():
        assert table["set"][0] == "planted"
        assert table["p"][0] < 0.01
        rest = [p for name, p in zip(table["set"], table["p"], strict=True) if name != "planted"]
        assert stats.kstest(rest, "uniform").pvalue > 0.01
    one, other = ({row[2]: row[5] for row in by[how].rows} for how in (None, 500))
    assert max(abs(one[name] - other[name]) for name in one) < 0.12


def test_small_sets_of_heavy_tailed_loadings_are_seldom_found_by_default() -> None:
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(4, 200)) * (rng.random((4, 200)) < 0.15) * 1.5
    X = rng.normal(size=(120, 4)) @ loadings + rng.normal(size=(120, 200))
    model = latens.MultiViewFactorAnalysis(4, random_state=0, n_jobs=1).fit({"rna": X})
    names = model.layout_.features[0]
    sets = {str(i): list(rng.choice(names, 5, replace=False)) for i in range(1500)}
    p = np.array(model.enrich(sets)["p"])
    assert 0.035 < np.mean(p < 0.05) < 0.065
    assert np.mean(p < 0.001) < 0.003  # one in a hundred by Student's distribution
    assert min(model.enrich(sets)["adjusted p"]) > 0.01
    planted = {"planted": [name for name, w in zip(names, loadings[0], strict=True) if abs(w) > 1], **sets}
    assert model.enrich(planted)["set"][0] == "planted"


def test_a_fit_names_the_pathway_behind_a_factor(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=(150, 2)), np.zeros((2, 60))
    w[0, :12], w[1, 30:42] = 1.5, -1.5
    X = z @ w + rng.normal(size=(150, 60))
    model = latens.MultiViewFactorAnalysis(4, random_state=0, n_jobs=1).fit({"rna": X})
    names = model.layout_.features[0]
    path = tmp_path / "sets.gmt"
    lines = [("cycle", names[:12]), ("stress", names[30:42]), ("other", names[15:27]), ("tiny", names[:3])]
    path.write_text("".join(f"{name}\thttp://x\t" + "\t".join(s.upper() for s in own) + "\n" for name, own in lines))
    table = model.enrich(path)
    assert {row[2] for row in table.rows[:2]} == {"cycle", "stress"}
    assert len({row[0] for row in table.rows[:2]}) == 2
    assert max(table["adjusted p"][:2]) < 1e-6
    assert "tiny" not in table["set"]
    chance = model.enrich(read_sets(path), "rna", method="permutation", n_permutations=200)
    assert {row[2] for row in chance.rows[:2]} == {"cycle", "stress"}
    stress = next(row[0] for row in table.rows[:2] if row[2] == "stress")
    one_way = {row[:3]: row[4] for row in model.enrich(path, sign="positive").rows}
    assert one_way[stress, "rna", "stress"] > 5  # the strongest loading of a factor is positive


def test_sets_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    model = latens.MultiViewFactorAnalysis(2, random_state=0, n_jobs=1).fit({"rna": RNG.normal(size=(40, 8))})
    with pytest.raises(ValueError, match=r"no set has 5 features or more of a view; features are called 'rna_0'"):
        model.enrich({"a": ["TP53", "MYC"]})
    with pytest.raises(ValueError, match="set 'a' is no list of features"):
        model.enrich({"a": "TP53"})
    with pytest.raises(ValueError, match="there is no file"):
        model.enrich(tmp_path / "none.gmt")
    (tmp_path / "bad.gmt").write_text("a,b,c\n")
    with pytest.raises(ValueError, match=r"line 1 of bad\.gmt has no features"):
        model.enrich(tmp_path / "bad.gmt")
    with pytest.raises(ValueError, match="there are no sets"):
        model.enrich({})
    with pytest.raises(ValueError, match="sign='up' is not known"):
        model.enrich({"a": ["x"]}, sign="up")
