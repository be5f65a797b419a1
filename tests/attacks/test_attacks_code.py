"""No data becomes code: what touched the network, or lies in a job folder, is never unpickled, evaluated, imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import nephila
from nephila.views.registry import VIEWS

SOURCE = Path(nephila.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "yaml", "code", "codeop"}
MODULES |= {"xml", "lxml", "xmlrpc", "runpy", "ctypes"}
"""Not imported anywhere: each turns bytes into code, or resolves entities (xml.*, lxml)."""
CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
ALLOWED = {
    ("worker.py", "ctypes"): "prctl(2) has no other way in: a worker dies with its front",
    ("native.py", "ctypes"): "our own compiled parts, at a fixed place in the package",
    ("page/plain.py", "ctypes"): "the same",
    ("frontier/seen/keytree_kernel.py", "ctypes"): "the same",
    ("views/tags.py", "ctypes"): "the same",
    ("page/sitemap.py", "xml"): "expat says whether a file is whole, and is never shown one with a document type",
    ("frontier/seen/maps.py", "ctypes"): "memory maps that the compiled parts read",
}
IMPORTS_BY_NAME = {"corridor.py", "worker.py", "views/registry.py", "views/copyist.py", "testing/torture/cases.py"}
"""Where a module is imported by a name that is no literal: one of our own table, or of the program that runs the crawl."""


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def uses(tree: ast.AST) -> Iterator[str]:
    """Forbidden modules and calls in a source file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield f"{node.func.id}()"
        elif isinstance(node, ast.Call) and any(k.arg == "shell" for k in node.keywords):
            yield "shell="
        elif isinstance(node, ast.Attribute) and node.attr in ("system", "popen") and ast.unparse(node.value) == "os":
            yield f"os.{node.attr}"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nothing_turns_data_into_code(path: Path) -> None:
    found = {
        use
        for use in uses(ast.parse(path.read_text()))
        if use in MODULES or use.endswith((")", "=", "system", "popen"))
    }
    assert {use for use in found if (named(path), use) not in ALLOWED} == set()  # fmt: skip


def test_what_is_allowed_is_still_used() -> None:
    assert [pair for pair in ALLOWED if pair[1] not in set(uses(ast.parse((SOURCE / pair[0]).read_text())))] == []


def test_modules_are_imported_by_a_given_name_in_few_places() -> None:
    assert {named(path) for path in FILES if "import_module(" in path.read_text()} <= IMPORTS_BY_NAME


def test_the_check_sees_what_it_forbids() -> None:
    text = "import pickle\nfrom lxml import etree\neval(x)\nsubprocess.run(x, shell=True)\nos.system(x)\n"
    assert list(uses(ast.parse(text))) == ["pickle", "lxml", "eval()", "shell=", "os.system"]


def test_no_view_writes_cells_that_a_spreadsheet_would_run() -> None:
    """A table of comma-separated cells comes with the option that escapes formulas (`=`, `+`, `-`, `@`, tab)."""
    assert not {"tsv", "xlsx"} & set(VIEWS)
    assert "safe_cells" in VIEWS["csv"].takes
