"""A model to report on, and a reader of pages that shares no code with their writer."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np


class Switches:
    """A stand-in that has what a fitted estimator of on/off causes publishes."""

    def __init__(self, components: np.ndarray, *, n_iter: int = 30, names: list[str] | None = None) -> None:
        k = len(components)
        history = -1000.0 - 5000.0 * 0.6 ** np.arange(n_iter)
        self.components_ = components
        self.n_components_ = k
        self.usage_ = np.linspace(0.4, 0.2, k)
        self.share_ = np.full(k, 1 / max(k, 1))
        self.noise_variance_ = 0.01
        self.elbo_history_ = history
        self.elbo_ = float(history[-1])
        self.n_iter_ = n_iter
        self.converged_ = True
        self.trace_ = tuple(
            SimpleNamespace(
                step=i,
                restart=0,
                elbo=float(value),
                terms={"likelihood": float(value) + 200.0, "code_entropy": -200.0},
                n_components=k + (i < 5),
                seconds=0.01,
            )
            for i, value in enumerate(history)
        )
        self.names = names or [f"cause{i}" for i in range(k)]

    def get_feature_names_out(self) -> list[str]:
        return self.names

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X) @ np.linalg.pinv(self.components_)

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.components_


class Page(HTMLParser):
    """All tags with their attributes, and all text outside style sheet and scripts."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "line", "rect", "circle", "polyline", "image", "path"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text += data + " "

    @property
    def images(self) -> list[np.ndarray]:
        addresses = [a.get("src") or a.get("href") for tag, a in self.tags if tag in {"img", "image"}]
        return [decode(str(address)) for address in addresses]


def decode(address: str) -> np.ndarray:
    """The pixels of a PNG data address, every checksum verified; independent of the encoder."""
    kind, _, content = address.partition(",")
    assert kind == "data:image/png;base64"
    data = b64decode(content, validate=True)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 2)
    assert b"IEND" in chunks
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)
