"""The page as a reader has it: in a browser, clicked on, typed into, printed without its script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.report.measures.plane import axes_of
from latens.report.subject import Entry
from tests.report.browser.chromium import Chromium

pytestmark = pytest.mark.extras  # a browser is as optional as a package

N = 120


@pytest.fixture(scope="package")
def factors(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, np.ndarray, dict[str, Any], Path]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 2))
    X = z @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(N, 6)) + [0, 5, -300, 2, 1e4, 7]
    metadata = {"sex": ["f" if v > 0 else "m" for v in z[:, 0]], "age": [float(v) for v in 40 + 9 * z[:, 1]]}
    model = latens.FactorAnalysis(2).fit(X)
    page = latens.report(model, X, tmp_path_factory.mktemp("page") / "page.html", metadata=metadata)  # type: ignore[operator]
    return model, X, metadata, page


def test_nothing_is_asked_for_and_nothing_complained_of(browser: Chromium, factors: Any) -> None:
    for width in (1280, 400):
        for dark in (False, True):
            browser.open(factors[3], width=width, dark=dark)
            assert browser.requests == [factors[3].as_uri()]
            assert browser.messages == []


def test_names_of_columns_are_not_broken_letter_by_letter_on_a_narrow_screen(browser: Chromium, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(8, size=400)
    X = rng.normal(size=(400, 4)) + 9.0 * np.stack([label, label % 2, label % 3, -label], axis=1)
    model = latens.GaussianMixture(8, covariance_type="diag", random_state=0).fit(X)
    model.feature_names_in_ = np.array(["species = versicolor", "species = virginica", "size = medium", "price"])
    browser.open(latens.report(model, X, tmp_path / "page.html"), width=400)
    assert browser.run("document.querySelector('table.heat td').getBoundingClientRect().width") >= 90
    assert browser.run("document.documentElement.scrollWidth") <= 400


def test_nothing_is_wider_than_a_narrow_screen(browser: Chromium, factors: Any) -> None:
    browser.open(factors[3], width=400)
    assert browser.run("document.documentElement.scrollWidth") <= 400


def test_what_scrolls_on_a_narrow_screen_says_so(browser: Chromium, factors: Any) -> None:
    browser.open(factors[3], width=400)
    wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)"
    assert browser.run(f"{wide}.length") > 0
    assert browser.run(f"{wide}.every(box => box.previousElementSibling.classList.contains('scrolls'))")
    browser.open(factors[3], width=1280)
    assert browser.run("document.querySelectorAll('.scrolls').length") == browser.run(f"{wide}.length")


def test_a_click_on_a_heading_sorts_a_table_by_its_numbers(browser: Chromium, factors: Any) -> None:
    browser.open(factors[3])
    read = "Array.from(document.querySelectorAll('#s1-columns tbody tr')).map(r => Number(r.cells[1].dataset.v))"
    before = browser.run(read)
    browser.run("document.querySelectorAll('#s1-columns th button')[1].click()")
    assert browser.run(read) == sorted(before, reverse=True)
    browser.run("document.querySelectorAll('#s1-columns th button')[1].click()")
    assert browser.run(read) == sorted(before)


def test_a_new_name_reaches_axes_tables_and_answers_and_is_kept(browser: Chromium, factors: Any) -> None:
    browser.open(factors[3])
    browser.run("localStorage.clear()")
    browser.open(factors[3])
    browser.run(
        "(() => { const i = document.querySelector('#s1-components input.name'); i.value = 'growth';"
        " i.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run("document.querySelector('.x-title').textContent") == "growth"
    assert browser.run("document.querySelectorAll('#s1-columns th')[1].textContent") == "growth"
    assert browser.run("document.querySelector('.answers td').textContent") == "growth"
    browser.open(factors[3])
    assert browser.run("document.querySelector('.x-title').textContent") == "growth"
    browser.run("localStorage.clear()")


def test_a_dragged_frame_counts_the_rows_inside_it_as_numpy_does(browser: Chromium, factors: Any) -> None:
    model, X, metadata, page = factors
    browser.open(page)
    browser.run("document.querySelector('#s1-rows .plane').scrollIntoView()")
    box = browser.run(
        "(() => { const r = document.querySelector('#s1-rows svg').getBoundingClientRect();"
        " return [r.left, r.top, r.width, r.height]; })()"
    )
    left, top, width, height = box
    ends = [(left + fx * width, top + fy * height) for fx, fy in ((0.31, 0.22), (0.77, 0.68))]
    browser.mouse("mouseMoved", *ends[0])
    browser.mouse("mousePressed", *ends[0])
    for step in (0.5, 1.0):
        place = [a + step * (b - a) for a, b in zip(*ends, strict=True)]
        browser.mouse("mouseMoved", *place, held=True)
    browser.mouse("mouseReleased", *ends[1])
    answer = browser.run("document.querySelector('#s1-rows .told').textContent")
    frame = browser.run(
        "(() => { const b = document.querySelector('.brush');"
        " return ['x', 'y', 'width', 'height'].map(n => Number(b.getAttribute(n))); })()"
    )
    dots = np.array(
        browser.run(
            "Array.from(document.querySelectorAll('#s1-rows circle'))"
            ".map(c => ['cx', 'cy'].map(n => Number(c.getAttribute(n))))"
        )
    )
    codes = model.transform(X)
    assert len(dots) == N
    for axis in (0, 1):  # dots stand where the model's codes are
        assert abs(np.corrcoef(dots[:, axis], codes[:, axis])[0, 1]) > 1 - 1e-6
    slope = [np.polyfit(dots[:, axis], codes[:, axis], 1) for axis in (0, 1)]
    low, high = np.array(frame[:2]), np.array(frame[:2]) + np.array(frame[2:])
    edges = [np.sort(np.polyval(slope[axis], [low[axis], high[axis]])) for axis in (0, 1)]
    inside = np.all([(codes[:, a] >= edges[a][0]) & (codes[:, a] <= edges[a][1]) for a in (0, 1)], axis=0)
    assert 5 < inside.sum() < N - 5
    assert answer.startswith(f"{inside.sum()} of {N} rows")
    sex = np.array(metadata["sex"])
    for level in ("f", "m"):
        assert re.search(rf"; {level} (\d+)", answer).group(1) == str(np.sum(inside & (sex == level)))  # type: ignore[union-attr]


def test_hovering_tells_a_row_and_colour_follows_the_choice(browser: Chromium, factors: Any) -> None:
    model, X, _, page = factors
    browser.open(page)
    browser.run("document.querySelector('#s1-rows .plane').scrollIntoView()")
    x, y = browser.run(
        "(() => { const r = document.querySelectorAll('#s1-rows circle')[7].getBoundingClientRect();"
        " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
    )
    browser.mouse("mouseMoved", x, y)
    shown = browser.run("document.querySelector('.bubble').hidden ? '' : document.querySelector('.bubble').textContent")
    assert shown.startswith("row ")
    row = int(re.match(r"row (\d+)", shown).group(1))  # type: ignore[union-attr]
    value = float(re.search(r"factor0 (\S+)", shown).group(1).replace("\N{MINUS SIGN}", "-"))  # type: ignore[union-attr]
    assert value == pytest.approx(model.transform(X)[row, 0], abs=1e-3)
    choose = (
        "(() => { const s = document.querySelectorAll('#s1-rows select')[2]; s.value = '%d';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    classes = "Array.from(document.querySelectorAll('#s1-rows circle')).map(c => c.getAttribute('class'))"
    browser.run(choose % 0)
    by_sex = browser.run(classes)
    browser.run(choose % 1)
    by_age = browser.run(classes)
    assert len(set(by_sex)) == 2
    assert len(set(by_age)) == 5
    browser.run(choose % 2)
    assert len(set(browser.run(classes))) == 1


def test_what_the_plane_draws_are_the_axes_of_the_sample(factors: Any) -> None:
    model, X, *_ = factors
    axes = axes_of(Entry(model, X))
    np.testing.assert_allclose(np.stack([axis.values for axis in axes], axis=1), model.transform(X))


def test_hostile_names_stay_names(browser: Chromium, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    evil = [
        '<img src=x onerror="document.title=1">',
        "</script><script>document.title=1</script>",
        "'\";&{{7*7}}",
        "${1}",
    ]
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(60, 4)), columns=evil, index=[f"<b>{i}</b>{evil[1]}" for i in range(60)])
    metadata = {evil[0]: [evil[i % 3] for i in range(60)]}
    model = latens.FactorAnalysis(2).fit(X).set_component_names([evil[1], evil[0]])
    page = latens.report(model, X, tmp_path / "page.html", metadata=metadata, title=evil[1], source=evil[0])  # type: ignore[operator]
    browser.open(page)
    assert browser.requests == [page.as_uri()]
    assert browser.messages == []
    assert browser.run("document.title") == evil[1]
    assert browser.run("document.querySelectorAll('script').length") == 2
    assert browser.run("document.querySelectorAll('img[src=x], b').length") == 0
    assert browser.run("document.querySelector('.x-title').textContent") == evil[1]


def test_without_its_script_the_page_still_tells_everything_but_the_calculator(browser: Chromium, factors: Any) -> None:
    browser.open(factors[3], scripts=False)
    assert browser.requests == [factors[3].as_uri()]
    text = browser.ask("Runtime.evaluate", expression="document.body.innerText", returnByValue=True)["result"]["value"]
    for words in ("explain", "Components", "factor0", "Columns by components", "Against what you know", "JavaScript"):
        assert words in text
    dots = browser.run("document.querySelectorAll('#s1-rows path.dots').length")
    assert dots == 2  # one for each sex


def test_all_text_stands_out_from_what_is_behind_it(browser: Chromium, factors: Any) -> None:
    for dark in (False, True):
        browser.open(factors[3], dark=dark)
        low = browser.run(CONTRAST)
        assert low == [], f"dark={dark}: {low[:5]}"


# The ratio of the guidelines for web content, of every element with text of its own against the colour behind it.
CONTRAST = r"""
(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data); };
  const linear = (v) => (v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = (c) => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] > 250) return c;
    }
    return [255, 255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (["SCRIPT", "OPTION"].includes(e.tagName) || e.closest("[hidden]")) continue;
    const style = getComputedStyle(e), front = rgba(e.closest("svg") ? style.fill : style.color), back = behind(e);
    const [a, b] = [light(front.slice(0, 3)), light(back.slice(0, 3))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.push([e.tagName, e.className.baseVal ?? e.className, e.textContent.slice(0, 30), ratio]);
  }
  return low;
})()
"""
