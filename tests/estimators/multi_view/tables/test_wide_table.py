"""Several tables become one: aligned by name, missing where absent, refused where they do not fit together."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from latens.errors import LooksTransposed, UnknownGroups
from latens.estimators.multi_view.tables.wide import Layout, lay_out
from latens.models.multi_view.view import GROUP

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))


def test_arrays_stand_side_by_side() -> None:
    table = lay_out({"rna": A, "mut": B})
    assert table.layout == Layout(("rna", "mut"), (("rna_0", "rna_1", "rna_2"), ("mut_0", "mut_1")))
    assert np.array_equal(table.rows.x, np.hstack([A, B]))
    assert table.rows.seen is None
    assert table.rows.weight is None
    assert table.row_names is None
    assert lay_out([A, B]).layout.views == ("view0", "view1")


def test_what_is_missing_is_masked_and_a_row_with_nothing_counts_for_nothing() -> None:
    a, b = A.copy(), B.copy()
    a[0, 1] = a[3] = b[3] = np.nan
    table = lay_out({"rna": a, "mut": b}, sample_weight=[1, 2, 3, 4, 5])
    seen = ~np.isnan(np.hstack([a, b]))
    assert np.array_equal(table.rows.seen, seen)
    assert np.array_equal(table.rows.x, np.where(seen, np.hstack([a, b]), 0))
    assert table.rows.weight.tolist() == [1, 2, 3, 0, 5]
    assert np.isnan(a[0, 1])  # the caller's own array is left alone
    assert lay_out({"rna": a, "mut": b}).rows.weight.tolist() == [1, 1, 1, 0, 1]


def test_single_precision_stays_only_where_all_views_have_it() -> None:
    half, single = A.astype(np.float16), B.astype(np.float32)
    assert lay_out([half, single]).rows.x.dtype == np.float32
    assert lay_out([A, single]).rows.x.dtype == np.float64
    assert lay_out([np.eye(5, dtype=int), np.eye(5, dtype=bool)]).rows.x.dtype == np.float64


def test_a_plain_array_is_one_view() -> None:
    table = lay_out(A)
    assert table.layout == Layout(("x",), (("x0", "x1", "x2"),))
    assert table.rows.x is A  # nothing was copied
    again = lay_out({"x": A[:2]}, layout=table.layout)
    assert np.array_equal(again.rows.x, A[:2])
    assert lay_out(A.tolist()).layout.n_columns == 3
    with pytest.raises(ValueError, match="X has 2 features, but _Anyone is expecting 3"):
        lay_out(B, layout=table.layout)


def test_arrays_of_other_libraries_stay_what_they_are() -> None:
    import array_api_strict as xp

    holed = np.where(B > 1, np.nan, B)
    strict = lay_out({"a": xp.asarray(A), "b": xp.asarray(holed)}, groups=list("uvuvu"))
    plain = lay_out({"a": A, "b": holed}, groups=list("uvuvu"))
    assert isinstance(strict.rows.x, type(xp.asarray(A)))
    assert np.array_equal(np.asarray(strict.rows.x), plain.rows.x)
    assert np.array_equal(np.asarray(strict.rows.seen), plain.rows.seen)
    part = lay_out({"b": xp.asarray(B)}, layout=plain.layout)
    assert not np.asarray(part.rows.seen)[:, :3].any()
    assert np.array_equal(np.asarray(part.rows.x)[:, 3:5], B)
    one = lay_out(xp.asarray(A), groups=list("uvuvu"))
    assert np.array_equal(np.asarray(one.rows.x), A)
    assert np.asarray(one.rows.aux["group"]).tolist() == [0, 1, 0, 1, 0]


def test_rows_know_their_group() -> None:
    table = lay_out({"rna": A, "mut": B}, groups=["b", "a", "b", "b", "a"])
    assert table.layout.groups == ("a", "b")
    assert table.rows.x.shape[1] == table.layout.n_columns == 5
    assert table.rows.aux["group"].tolist() == [1, 0, 1, 1, 0]
    assert table.rows.seen is None
    with pytest.warns(UnknownGroups, match="'new' were not there when the model was fitted; it has 'a', 'b'"):
        new = lay_out({"rna": A[:3]}, groups=["a", "new", None], layout=table.layout)
    assert np.isnan(new.rows.aux["group"]).tolist() == [False, True, True]
    assert np.isnan(lay_out({"rna": A[:3]}, layout=table.layout).rows.aux["group"]).all()
    assert lay_out(A, groups=[10, 9, 10, 9, 9.0]).layout.groups == ("9", "10")
    plain = lay_out(np.where(A > 1, np.nan, A), groups=[1, 1, 2, 2, 2])
    assert plain.rows.aux["group"].tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (list("ab"), "groups has 2 entries for 5 rows"),
        (["a", None, "b", float("nan"), "c"], r"2 row\(s\) have no group, the first being 1"),
        ("donor", "names a column of .obs, which only AnnData and MuData have"),
        (np.zeros((5, 2)), "groups has 2 dimensions"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lay_out({"rna": A}, groups=groups)


def test_groups_for_a_model_without_are_refused() -> None:
    with pytest.raises(ValueError, match="the model was fitted without"):
        lay_out(A, groups=list("aabbb"), layout=lay_out(A).layout)


def test_any_subset_of_the_views_will_do() -> None:
    layout = lay_out({"rna": A, "mut": B}).layout
    table = lay_out({"mut": B}, layout=layout)
    assert np.array_equal(table.rows.x, np.hstack([0 * A, B]))
    assert np.array_equal(table.rows.seen.any(axis=0), [False] * 3 + [True] * 2)
    assert np.array_equal(lay_out([None, B], layout=layout).rows.x, table.rows.x)
    assert np.array_equal(lay_out({"rna": None, "mut": B}, layout=layout).rows.seen, table.rows.seen)
    for views, message in [
        ({"dna": A}, r"view\(s\) 'dna' were not there when the model was fitted; it has 'rna', 'mut'"),
        ({"mut": A}, "view 'mut' has 3 columns; the model was fitted with 2"),
        ({"rna": A[:3].T[:, :2]}, r"fitted with 3\. This looks like features x samples; pass v.T"),
        ([B], "1 views were given as a list, and the model has 2"),
        (A, r"one table was given, but the model was fitted to the views 'rna', 'mut'; pass a dict"),
        ({}, "no views were given"),
    ]:
        with pytest.raises(ValueError, match=message):
            lay_out(views, layout=layout)


def test_what_looks_transposed_is_refused_with_the_remedy() -> None:
    views = {"rna": np.zeros((1000, 200)), "mut": np.zeros((500, 200))}
    message = (
        r"views have 1000 and 500 rows but 200 columns each: this looks like features x samples "
        r"\(as in R's MOFA2\); pass v.T"
    )
    with pytest.raises(ValueError, match=message):
        lay_out(views)
    with pytest.raises(ValueError, match="views have 4 and 5 rows; arrays must have equal row counts"):
        lay_out([A[:4], B])


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (np.where(B > 1, np.inf, B), "view 'mut' contains infinity, first in its row"),
        (B + 1j, "view 'mut' is complex"),
        (B.astype(str), "view 'mut' holds values that are no numbers"),
        (np.full((5, 2), "x", dtype=object), "view 'mut' holds values that are no numbers"),
        (B[:, 0], r"view 'mut' has 1 dimension\(s\); expected 2"),
        (B[:, :0], r"view 'mut' is empty, of shape \(5, 0\)"),
        (None, "view 'mut' is None; leave it out"),
    ],
)
def test_values_that_are_no_data_are_refused_by_view(view: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lay_out({"rna": A, "mut": view})


def test_one_row_is_not_enough_to_fit_but_can_be_asked_about() -> None:
    with pytest.raises(ValueError, match="the views have 1 row; a fit needs at least 2"):
        lay_out({"rna": A[:1]})
    assert len(lay_out({"rna": A[:1]}, layout=lay_out({"rna": A}).layout).rows) == 1


def test_weights_are_checked() -> None:
    with pytest.raises(ValueError, match="sample_weight has 2 entries for 5 rows"):
        lay_out({"rna": A}, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="at least one non-zero"):
        lay_out({"rna": A}, sample_weight=np.zeros(5))
    assert lay_out({"rna": A}, sample_weight=2.0).rows.weight.tolist() == [2.0] * 5


def test_sparse_and_masked_views_are_read() -> None:
    dense = np.where(A > 0, A, 0)
    masked = np.ma.MaskedArray(B, mask=B > 1)
    table = lay_out({"rna": csr_array(dense), "mut": masked})
    assert np.array_equal(table.rows.x[:, :3], dense)
    assert np.array_equal(~table.rows.seen[:, 3:], B > 1)


def test_nothing_but_the_wide_array_and_its_mask_is_formed() -> None:
    rng = np.random.default_rng(0)
    views = {"rna": rng.normal(size=(1000, 3000)), "mut": rng.normal(size=(1000, 1500))}
    size = sum(view.nbytes for view in views.values())
    for holes in (False, True):
        for view in views.values():
            view[::7, ::3] = np.nan if holes else 0.0
        tracemalloc.start()
        table = lay_out(views)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (table.rows.seen is not None) == holes
        assert peak < (1.25 if holes else 1.1) * size


def annotated(x: Any, rows: list[str], columns: list[str], **var: list[Any]) -> Any:
    """What AnnData looks like from outside."""

    class Column(dict[str, Any]):
        def __init__(self, index: list[str], columns: dict[str, Any]) -> None:
            super().__init__(columns)
            self.index, self.columns = index, list(columns)

    obs = Column(rows, {"donor": ["d" + row[-1] for row in rows]})
    return SimpleNamespace(
        X=x, layers={"raw": 10 * x}, obs=obs, var=Column(columns, var), obs_names=rows, var_names=columns, shape=x.shape
    )


def test_annotated_tables_are_known_by_their_parts() -> None:
    one = annotated(A, list("abcde"), ["g1", "g2", "g3"], hv=[True, False, True])
    two = annotated(csr_array(B[:3]), list("edc"), ["m1", "m2"], hv=[True, True])
    table = lay_out({"rna": one, "mut": two}, groups="donor", use_var="hv", layer={"rna": "raw"})
    assert table.layout.features == (("g1", "g3"), ("m1", "m2"))
    assert table.row_names == tuple("abcde")
    assert np.array_equal(table.rows.x[:, :2], 10 * A[:, [0, 2]])
    assert np.array_equal(table.rows.x[[4, 3, 2], 2:4], B[:3])
    assert table.rows.seen[:, 2].tolist() == [False, False, True, True, True]
    assert table.layout.groups == ("da", "db", "dc", "dd", "de")
    new = annotated(A[:, ::-1], list("vwxyz"), ["g3", "g2", "g1"])
    again = lay_out({"rna": new}, layout=table.layout, use_var="hv")
    assert np.array_equal(again.rows.x[:, :2], A[:, [0, 2]])
    assert lay_out(one).layout.views == ("x",)
    with pytest.raises(ValueError, match="view 'rna' has no layer 'counts'; it has 'raw'"):
        lay_out({"rna": one}, layer="counts")
    with pytest.raises(ValueError, match=r"use_var='top' is no column of \.var of view 'rna'; it has 'hv'"):
        lay_out({"rna": one}, use_var="top")
    with pytest.raises(ValueError, match=r"groups='city' is no column of \.obs; it has 'donor'"):
        lay_out({"rna": one}, groups="city")


def test_several_annotated_tables_in_one_keep_its_order_of_rows() -> None:
    mod = {
        "rna": annotated(A[:3], list("abc"), ["g1", "g2", "g3"]),
        "mut": annotated(B[:2], list("ed"), ["m1", "m2"]),
    }
    obs = annotated(A, list("edcba"), ["g1", "g2", "g3"]).obs
    table = lay_out(SimpleNamespace(mod=mod, obs=obs, obs_names=list("edcba")), groups="donor")
    assert table.row_names == tuple("edcba")
    assert np.array_equal(table.rows.x[[4, 3, 2], :3], A[:3])
    assert np.array_equal(table.rows.x[:2, 3:5], B[:2])


@pytest.mark.extras
class TestFrames:
    def test_rows_are_matched_by_name(self) -> None:
        import pandas as pd

        rna = pd.DataFrame(A, index=list("abcde"), columns=["g1", "g2", "g3"])
        mut = pd.DataFrame(B[:3], index=list("fda"), columns=["g1", "g2"])
        table = lay_out({"rna": rna, "mut": mut}, groups=pd.Series(list("uuvvvu"), index=list("fedcba")))
        assert table.row_names == tuple("abcdef")
        assert table.layout.features == (("g1", "g2", "g3"), ("g1", "g2"))
        assert np.array_equal(table.rows.x[[5, 3, 0], 3:5], B[:3])
        assert np.array_equal(table.rows.seen[:, 0], [True] * 5 + [False])
        assert table.rows.aux["group"].tolist() == [0, 1, 1, 1, 0, 0]
        with pytest.raises(ValueError, match=r"groups has 5 entries for 6 rows; .* Give a Series with row names"):
            lay_out({"rna": rna, "mut": mut}, groups=list("abcde"))
        with pytest.raises(ValueError, match=r"groups has no entry for the row\(s\) 'f'"):
            lay_out({"rna": rna, "mut": mut}, groups=pd.Series(list("uuvvv"), index=list("edcba")))

    def test_columns_are_matched_by_name_or_the_lack_of_them_is_named(self) -> None:
        import pandas as pd

        rna = pd.DataFrame(A, index=list("abcde"), columns=["g1", "g2", "g3"])
        layout = lay_out({"rna": rna, "mut": B}).layout
        assert np.array_equal(lay_out({"rna": rna[["g3", "g1", "g2"]]}, layout=layout).rows.x[:, :3], A)
        assert np.array_equal(lay_out({"rna": A}, layout=layout).rows.x[:, :3], A)
        with pytest.raises(ValueError, match=r"view 'rna' lacks the column\(s\) 'g1' and has the unknown .* 'g9'"):
            lay_out({"rna": rna.rename(columns={"g1": "g9"})}, layout=layout)
        with pytest.raises(ValueError, match=r"the rows of view 'rna' carry the names of its features; pass v.T"):
            lay_out({"rna": rna.T}, layout=layout)

    def test_two_levels_of_columns_are_views(self) -> None:
        import pandas as pd

        parts = {"rna": pd.DataFrame(A, columns=list("abc")), "mut": pd.DataFrame(B, columns=list("ab"))}
        wide = pd.concat(parts, axis=1)
        table = lay_out(wide)
        assert table.layout == Layout(("rna", "mut"), (("a", "b", "c"), ("a", "b")))
        assert np.array_equal(table.rows.x, np.hstack([A, B]))
        assert np.array_equal(lay_out(wide.iloc[[3, 1]], layout=table.layout).rows.x, np.hstack([A, B])[[3, 1]])
        assert np.array_equal(lay_out(wide[["mut"]], layout=table.layout).rows.x[:, 3:], B)

    def test_a_plain_frame_is_one_view_and_keeps_its_names(self) -> None:
        import pandas as pd

        frame = pd.DataFrame(A, index=list("abcde"), columns=list("xyz"))
        table = lay_out(frame)
        assert table.layout == Layout(("x",), (("x", "y", "z"),))
        assert table.row_names == tuple("abcde")

    def test_default_numbers_are_no_names(self) -> None:
        import pandas as pd

        with pytest.raises(ValueError, match="views have 5 and 3 rows; arrays must have equal row counts"):
            lay_out({"rna": pd.DataFrame(A), "mut": pd.DataFrame(B[:3])})
        assert lay_out({"rna": pd.DataFrame(A), "mut": B}).layout.features[0] == ("rna_0", "rna_1", "rna_2")
        named = pd.DataFrame(A, index=list("abcde"))
        assert lay_out({"rna": named, "mut": B}).row_names == tuple("abcde")
        with pytest.raises(ValueError, match="view 'mut' has no row name in common with 'rna'"):
            lay_out({"rna": named, "mut": pd.DataFrame(B)})
        with pytest.raises(ValueError, match="'a' and 'b' have different row names, and 'c' has none"):
            lay_out({"a": named, "b": named.iloc[::-1], "c": B})

    def test_names_given_twice_are_refused(self) -> None:
        import pandas as pd

        with pytest.raises(ValueError, match="view 'rna' has duplicated row names: 'a'"):
            lay_out({"rna": pd.DataFrame(A, index=list("aabcd"))})
        with pytest.raises(ValueError, match="view 'rna' has duplicated column names: 'g'"):
            lay_out({"rna": pd.DataFrame(A, columns=list("ggh"))})
        with pytest.raises(ValueError, match="the names of the views are not unique"):
            lay_out({1: A, "1": B})

    def test_transposed_frames_are_refused_or_doubted(self) -> None:
        import pandas as pd

        samples = [f"s{i}" for i in range(4)]
        rna = pd.DataFrame(RNG.normal(size=(30, 4)), index=[f"g{i}" for i in range(30)], columns=samples)
        mut = pd.DataFrame(RNG.normal(size=(9, 4)), index=[f"m{i}" for i in range(9)], columns=samples)
        with pytest.raises(
            ValueError, match=r"30 and 9 rows with no name in common, such as .*, but their columns share names"
        ):
            lay_out({"rna": rna, "mut": mut})
        with pytest.raises(ValueError, match="the columns of view 'mut' carry row names of the other views"):
            lay_out({"rna": rna.T, "mut": mut})
        with pytest.warns(LooksTransposed, match="share 2.6 % of their row names but 100 % of their column names"):
            lay_out({"rna": rna, "mut": mut.rename(index={"m0": "g0"})})

    def test_missing_values_of_their_own_kind(self) -> None:
        import pandas as pd
        import polars as pl

        frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [0.5, 1.5, np.nan]})
        table = lay_out({"rna": frame})
        assert table.rows.seen.tolist() == [[True, True], [False, True], [True, False]]
        table = lay_out({"rna": pl.DataFrame({"a": [1, None, 3], "b": [0.5, 1.5, None]})})
        assert table.rows.seen.tolist() == [[True, True], [False, True], [True, False]]
        assert table.layout.features == (("a", "b"),)
        text = pd.DataFrame({"a": [1.0, 2.0], "site": ["here", "there"]})
        with pytest.raises(ValueError, match="view 'rna' holds values that are no numbers in column 'site'"):
            lay_out({"rna": text, "mut": B[:2]})
        with pytest.raises(ValueError, match="view 'rna' holds values that are no numbers"):
            lay_out({"rna": pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])})})
        with pytest.raises(ValueError, match="view 'rna' is complex"):
            lay_out({"rna": pd.DataFrame({"a": [1j, 2j]})})

    def test_mudata_and_its_rows_in_any_order(self) -> None:
        import anndata as ad
        import mudata as md
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            rna = ad.AnnData(A, obs=pd.DataFrame(index=list("abcde")), var=pd.DataFrame(index=["g1", "g2", "g3"]))
            mut = ad.AnnData(
                csr_array(B[:3]), obs=pd.DataFrame(index=list("eda")), var=pd.DataFrame(index=["m1", "m2"])
            )
            mdata = md.MuData({"rna": rna, "mut": mut})
            mdata.obs["site"] = list("uvuvu")
            part = mdata[np.array([4, 0, 2])]
        table = lay_out(mdata, groups="site")
        order = [list("abcde").index(name) for name in table.row_names or ()]
        assert np.array_equal(table.rows.x[:, :3], A[order])
        assert table.layout.groups == ("u", "v")
        assert tuple(part.obs_names) == lay_out(part, layout=table.layout).row_names

    def test_real_tables_as_they_lie(self, data_file: Callable[[str], Path]) -> None:
        import pandas as pd

        names = ["RNASeq2GeneNorm", "gistict", "RPPAArray", "miRNASeqGene", "Mutations"]
        views = {n: pd.read_csv(data_file(f"multiomics/miniACC_{n}.csv"), index_col=0) for n in names}
        table = lay_out(views)
        assert table.rows.x.shape == (92, 997)
        assert table.rows.weight is None  # every patient has something
        for name, bounds in zip(table.layout.views, table.layout.bounds, strict=True):
            ours = np.where(table.rows.seen[:, bounds], table.rows.x[:, bounds], np.nan)
            assert np.array_equal(ours, views[name].loc[list(table.row_names or ())].to_numpy(float), equal_nan=True)
        with pytest.raises(ValueError, match="this looks like features x samples"):
            lay_out({name: view.T for name, view in views.items()})
        breast = {
            n: pd.read_csv(data_file(f"multiomics/breastTCGA_{n}.csv"), index_col=0)
            for n in ["mrna", "mirna", "protein", "subtype"]
        }
        with pytest.raises(ValueError, match="view 'subtype' has no row name in common with 'mrna', 'mirna', 'prot"):
            lay_out(breast)
        subtype = breast.pop("subtype")
        table = lay_out(breast, groups=subtype["subtype"].to_numpy())
        assert table.rows.x.shape == (220, 526)
        assert table.rows.aux[GROUP].shape == (220,)
        assert int((~table.rows.seen[:, table.layout.bounds[2]]).all(axis=1).sum()) == 70


@pytest.mark.extras
def test_how_many_rows_views_lack_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    import pandas

    names = [f"s{i}" for i in range(5)]
    rna, mut = pandas.DataFrame(A, index=names), pandas.DataFrame(B, index=names).iloc[1:]
    with caplog.at_level("INFO", logger="latens"):
        lay_out({"rna": rna, "mut": mut})
    assert "of 5 rows by name, 'mut' lacks 1: missing there." in caplog.messages
