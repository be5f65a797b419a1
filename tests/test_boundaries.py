"""Who may import whom: rooms meet in the corridor (`engine`), and only `job` names concrete classes.

The table below is the rule; the package's import statements, read without running them, are held against it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "nephila"

WORDS = {"types", "errors", "ports", "config", "clock", "figures", "native"}
"""Everyone may use these, `url` (how a URL is spelled is a word, too), `credentials` (so is who we are where) and the package's
own name and version."""

ROOT = {
    "job",
    "plan",
    "corridor",
    "front",
    "premises",
    "notices",
    "gauges",
    "worker",
    "resume",
    "forget",
    "rehearsal",
    "reread",
    "rereader",
}
ROOT |= {"storing", "trouble"}
"""The composition root: what names concrete classes, for the front process, a worker, a resume, a dry run. One room: job."""

DESK = {"cli", "completion", "hints", "options", "terminal", "welcome"}
"""The front desk: commands, what may be written after them, what is printed. One room: cli."""

ALLOWED: dict[str, set[str]] = {
    "words": set(),
    "url": set(),
    "credentials": set(),
    "db": set(),
    "packed": {"db"},
    "events": set(),
    "page": set(),
    "robots": set(),
    "frontier": {"db"},
    "fetch": {"page"},
    "archive": set(),
    "verdict": set(),
    "wanted": set(),
    "engine": {"verdict"},
    "store": set(),
    "views": {"page", "robots", "archive", "db", "packed", "store", "verdict"},
    "stats": {"db"},
    "look": {"db", "packed", "stats"},
    "explain": {"robots", "changes", "db", "look", "packed", "settings", "values", "views", "wanted"},
    "lock": set(),
    "control": {"lock"},
    "values": set(),
    "checks": {"page", "store", "values"},
    "stored": {"values"},
    "settings": {"values", "checks", "stored"},
    "changes": {"settings", "values"},
    "display": {"events"},
    "hand": {"job"},
    "crew": {"hand", "frontier", "job"},
    "job": {"page", "robots", "frontier", "fetch", "archive", "engine", "crew", "hand", "control", "lock"}
    | {"changes", "db", "events", "explain", "stats", "settings", "store", "views", "wanted"},
    "api": {"job", "engine", "settings", "fetch", "page", "views"},
    "ui": {"control", "db", "stats", "look", "views", "explain", "display", "changes", "settings"},
    "cli": {"job", "settings", "values", "display"},
    "verbs": {"cli", "job", "settings", "values", "display", "ui"},
    "__main__": {"cli"},
    "": {"api"},
}
"""Room → other rooms it may import, besides itself and the words; "" is the package itself (`nephila/__init__.py`).
`testing` is not listed: it may import everything, and nothing may import it. `cli` imports other rooms inside functions only, so
that `--help` answers at once."""


class Import(NamedTuple):
    where: str
    source: str
    target: str
    eager: bool


def room_of(module: str) -> str:
    """`nephila.url.parse` → url, `nephila.types` → words, `nephila.worker` → job, `nephila` → ""."""
    name = module.removeprefix("nephila").removeprefix(".").partition(".")[0]
    return "words" if name in WORDS else "job" if name in ROOT else "cli" if name in DESK else name


def imports(package: Path) -> Iterator[Import]:
    """Every import of a part of the package by a part of the package, those inside functions too."""
    for path in sorted(package.rglob("*.py")):
        module = ".".join(("nephila", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_bytes(), str(path))
        eager = {id(node) for node in _at_module_level(tree)}
        for node in ast.walk(tree):
            for target in _targets(node, module, package, path.name == "__init__.py"):
                yield Import(f"{path.relative_to(package.parent)}:{node.lineno}", module, target, id(node) in eager)  # type: ignore[attr-defined]


def _at_module_level(tree: ast.AST) -> Iterator[ast.AST]:
    """All that runs when the module is imported; what stands below `if TYPE_CHECKING` does not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _at_module_level(node)


def _targets(node: ast.AST, module: str, package: Path, is_package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "nephila")
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = module.split(".")[: len(module.split(".")) - node.level + is_package]
            base = ".".join([*above, base]).rstrip(".")
        if base == "nephila":  # `from nephila import job` names a module, `from nephila import __version__` does not
            for alias in node.names:
                is_module = (package / f"{alias.name}.py").exists() or (package / alias.name).is_dir()
                yield f"nephila.{alias.name}" if is_module else "nephila"
        elif base.startswith("nephila."):
            yield base


def violations(package: Path) -> list[str]:
    return [f"{found.where}: {said}" for found in imports(package) if (said := complaint(found))]


def complaint(found: Import) -> str:
    """What is wrong with an import, or ""."""
    here, there = room_of(found.source), room_of(found.target)
    if here == "cli" and found.eager and there not in ("cli", "words", ""):
        return f"cli imports {found.target} before it is needed; move the import into the function"
    if (
        here == "testing"
        or there in (here, "words", "")
        or (there in ("url", "credentials") and here not in ("words", "url"))
    ):
        return ""
    if there == "testing":
        return f"nothing but testing imports testing (it imports {found.target})"
    if here not in ALLOWED:
        return f"the room {here} is new: give it a row in tests/test_boundaries.py"
    if there not in ALLOWED[here]:
        may = ", ".join(sorted(ALLOWED[here])) or "only words, url and credentials"
        return f"{here} must not import {there} ({found.target}); it may import: {may}"
    return ""


def test_nothing_is_allowed_that_nobody_needs() -> None:
    used = {(room_of(found.source), room_of(found.target)) for found in imports(PACKAGE)}
    assert [(room, other) for room, may in ALLOWED.items() for other in sorted(may) if (room, other) not in used] == []


def test_every_import_is_allowed() -> None:
    assert not (found := violations(PACKAGE)), "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("frontier/order.py", "from nephila.fetch.client import Client", "frontier must not import fetch"),
        ("frontier/order.py", "def f():\n    import nephila.archive.warc", "frontier must not import archive"),
        ("page/html.py", "from nephila import db", "page must not import db"),
        ("page/html.py", "from .. import db", "page must not import db"),
        ("page/html.py", "from ..frontier.host import Host", "page must not import frontier"),
        ("types.py", "from nephila.url.parse import origin", "words must not import url"),
        ("engine.py", "from nephila.frontier.sqlite import SqliteFrontier", "engine must not import frontier"),
        ("views/mirror.py", "from nephila.fetch import guard", "views must not import fetch"),
        ("job.py", "from nephila.testing import FakeWeb", "nothing but testing imports testing"),
        ("novel.py", "from nephila.db import reader", "the room novel is new"),
        ("cli.py", "from nephila import job", "cli imports nephila.job before it is needed"),
    ],
)
def test_a_wrong_import_is_named(tmp_path: Path, path: str, text: str, expected: str) -> None:
    package = _package(tmp_path, {path: text})
    assert [expected in line and path in line for line in violations(package)] == [True]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("frontier/order.py", "from nephila.db import TABLES\nfrom nephila.url.key import key\nfrom .host import Host"),
        ("page/html.py", "from nephila import __version__\nfrom nephila.types import Page"),
        ("testing/server.py", "from nephila.fetch.client import Client\nfrom nephila.testing import sites"),
        ("cli.py", "import nephila\nfrom nephila.errors import DiskFull\ndef run():\n    from nephila import job"),
        ("clock.py", "from nephila.errors import NephilaError"),
    ],
)
def test_a_right_import_is_not(tmp_path: Path, path: str, text: str) -> None:
    assert violations(_package(tmp_path, {path: text})) == []


def _package(tmp_path: Path, files: dict[str, str]) -> Path:
    package = tmp_path / "nephila"
    for name, text in ({"db.py": "", "job.py": "", "fetch/guard.py": ""} | files).items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package
