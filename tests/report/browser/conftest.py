"""One browser for the tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.browser.chromium import Chromium, find_browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    path = find_browser()
    if path is None:
        pytest.skip("needs a browser: install chromium, or name one by LATENS_BROWSER")
    with Chromium(path, tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium
