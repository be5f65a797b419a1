from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from look.made import Made

from nephila.look.look import Look


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    found = Made(tmp_path / "out")
    yield found
    found.con.close()


@pytest.fixture
def look(made: Made) -> Iterator[Look]:
    found = Look(made.folder)
    yield found
    found.close()
