"""Lists of items, such as market baskets, in the layouts that files have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import latens
from latens.errors import TableRefused


def test_lines_of_an_order_and_an_item_are_put_together_by_order(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("order_id,item\n1,beer\n1,chips\n2,apple\n2,beer\n2,chips\n3,apple\n")
    table = latens.read(path, format="transactions").parts["x"].encoded()
    assert table.names == ("beer", "chips", "apple")
    assert table.row_names == ("1", "2", "3")
    np.testing.assert_array_equal(table.matrix.toarray(), [[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    path.write_text("milk,bread\nmilk,eggs\neggs,bread\nmilk,bread\n")  # lists that happen to have two items each
    assert latens.read(path, format="transactions").parts["x"].encoded().names == ("milk", "bread", "eggs")


@pytest.mark.parametrize("heading", ["order_id,item", "doc,word", "movie,genre"])
def test_pairs_of_a_list_and_an_item_need_no_certain_words_above_them(heading: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    pairs = [(f"{i}", item) for i in range(100) for item in ("milk", "bread")[: 1 + i % 2]]
    path.write_text("\n".join([heading, *map(",".join, pairs)]) + "\n")
    name = heading.split(",")[0]
    for index_col in (None, name):
        table = latens.read(path, format="transactions", index_col=index_col).parts["x"].encoded()
        assert table.names == ("milk", "bread")
        assert table.row_names == tuple(map(str, range(100)))
    with pytest.raises(TableRefused, match="there is no column 'shop'"):
        latens.read(path, format="transactions", index_col="shop")


@pytest.mark.parametrize("heading", ["order_id,item1,item2,item3", "film,first,second,third"])
def test_names_beside_a_column_for_each_item_are_no_items(heading: str, tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    lists = [("drama", "war", "short")[: 1 + i % 3] for i in range(20)]
    path.write_text("\n".join([heading, *(",".join([f"f{i}", *items]) for i, items in enumerate(lists))]) + "\n")
    table = latens.read(path, format="transactions").parts["x"].encoded()
    assert table.names == ("drama", "war", "short")
    np.testing.assert_array_equal(table.matrix.toarray().sum(axis=1), [len(items) for items in lists])


def test_lists_in_one_cell_are_split_however_often_each_occurs(tmp_path: Path) -> None:
    lists = ["milk, bread", "milk, beer, eggs", "bread", "beer, eggs", "milk, eggs"] * 20
    path = tmp_path / "repeated.csv"
    path.write_text("order,items\n" + "".join(f'{i},"{items}"\n' for i, items in enumerate(lists)))
    assert latens.read(path, format="transactions").parts["x"].encoded().names == ("milk", "bread", "beer", "eggs")


BASKETS = [["milk", "bread"], ["milk", "eggs", "tea"], ["eggs"], ["bread", "eggs"], ["milk", "bread", "eggs"], ["tea"]]
LAYOUTS = {
    "within braces": "items\n" + "".join(f'"{{{",".join(items)}}}"\n' for items in BASKETS),
    "within brackets": "items\n" + "".join(f'"{items}"\n' for items in BASKETS),
    "in a column each": "Item 1,Item 2,Item 3\n" + "".join(",".join([*items, "", ""][:3]) + "\n" for items in BASKETS),
    "beside their number": "Item(s),Item 1,Item 2,Item 3\n"
    + "".join(",".join([str(len(items)), *items, "", ""][:4]) + "\n" for items in BASKETS),
    "beside a name": "basket;items\n" + "".join(f"{i};{','.join(items)}\n" for i, items in enumerate(BASKETS)),
}


@pytest.mark.extras
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_are_the_same_however_they_are_laid_out(layout: str, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("".join(",".join(items) + "\n" for items in BASKETS))
    (tmp_path / "other.csv").write_text(LAYOUTS[layout])
    plain, other = (latens.read(tmp_path / name, format="transactions") for name in ("plain.csv", "other.csv"))
    assert other.encoded().names == plain.encoded().names == ("milk", "bread", "eggs", "tea")
    np.testing.assert_array_equal(other.matrix().toarray(), plain.matrix().toarray())
    if layout not in ("within braces", "within brackets"):  # which are nothing else
        with pytest.raises(TableRefused, match=r"looks like lists of items, one in each line, .*--format transactions"):
            latens.read(tmp_path / "other.csv")
