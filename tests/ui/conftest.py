"""A job folder as a crawl leaves it, and its window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ui.asking import PORT, Browser
from views.conftest import job  # noqa: F401  (a fixture)

from nephila.job import source
from nephila.ui.crawl import Crawl
from nephila.ui.library import Library
from nephila.ui.serve import Server


@pytest.fixture
def server(job: Any) -> Iterator[Server]:  # noqa: F811
    with Library(source(job.folder)) as library, Crawl(job.folder) as crawl:
        yield Server(library, "a.example", PORT, crawl)


@pytest.fixture
def browser(server: Server) -> Browser:
    """One that has come in."""
    found = Browser(server)
    assert found.enter().status == 204
    return found
