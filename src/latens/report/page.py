"""Sections to one HTML file that needs nothing else: style, charts, images and one small script are all inside.

What the script knows of the models stands in a block of JSON that no browser runs; the policy of the page lets this
one script run, by its hash, and nothing be fetched.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from latens.report.content import Section
from latens.system.atomic_write import replacing

__all__ = ["render", "style_sheet", "write_page"]


def style_sheet(name: str) -> Markup:
    """A part of the style, by name: the palette, or the charts that pages and pictures in files share."""
    return Markup(_template(f"{name}.css"))


def render(sections: Sequence[Section], title: str) -> str:
    """The page as text; every plain string of the sections is escaped.

    Examples
    --------
    >>> "&lt;b&gt;" in render([Section("<b>")], "A page")
    True
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style = {name: style_sheet(name) for name in ("palette", "charts", "page")}
    script = _template("page.js")
    # only sections with data: without any the page has no script
    chapters = [chapter for chapter in map(_chapter, sections, range(1, len(sections) + 1)) if chapter["parts"]]
    return environment.from_string(_template("page.html")).render(
        sections=sections,
        title=title,
        script=Markup(script) if chapters else None,
        script_hash=b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii"),
        data=embedded_json(chapters),
        **style,
    )


def embedded_json(value: Any) -> Markup:
    """Plain values as JSON that cannot end the block it stands in.

    Examples
    --------
    >>> embedded_json({"name": "</script>"})
    Markup('{"name":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _chapter(section: Section, number: int) -> dict[str, Any]:
    """The data that the page's script computes with in one section, by the anchor of the part they belong to."""
    parts = {part.anchor: part.data for part in section.parts if part.data is not None}
    return {"id": f"s{number}", "parts": parts}


def write_page(sections: Sequence[Section], path: str | os.PathLike[str], title: str) -> Path:
    """Write one self-contained HTML page.

    The file appears complete or not at all: a failure leaves an older page as it was.

    Parameters
    ----------
    sections : sequence of Section
        The content, from top to bottom.
    path : path-like
        Where to write; its folder must exist.
    title : str
        Heading, and title of the browser's window.

    Returns
    -------
    Path
        The absolute path of the page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_page([Section("Bound")], f"{folder}/page.html", "A fit").name
    'page.html'
    """
    target = Path(path).expanduser()
    text = render(sections, title)
    with replacing(target) as file:
        file.write(text.encode("utf-8", errors="backslashreplace"))  # names may hold half a surrogate pair
    return target.resolve()


def _template(name: str) -> str:
    return files("latens.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")
