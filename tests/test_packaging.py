"""A fresh clone works: versions are pinned, the Makefile says what it does, and it refuses an old Python in a clear sentence."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nephila import native

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = (ROOT / "constraints.txt").read_text().splitlines()
TARGETS = ["help", "setup", "crawl", "test", "conformance", "test-long", "lint", "format", "bench", "clean"]


def needed() -> set[str]:
    """All that running and testing installs here, what is needed by the needed included."""
    todo = [Requirement(text) for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]]
    found: set[str] = set()
    while todo:
        requirement = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            todo += [Requirement(text) for text in importlib.metadata.requires(name) or []]
    return found


def make(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make as a fresh shell would: without what a make around this test passes down."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", *words, *(f"{name}={value}" for name, value in variables.items())]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_constraints_are_plain_pins_in_order() -> None:
    assert [line for line in PINS if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []
    names = [line.partition("==")[0] for line in PINS]
    assert names == sorted(names)
    assert len(names) == len(set(names))


def test_everything_needed_is_pinned() -> None:
    assert needed() - {line.partition("==")[0] for line in PINS} == set()


def test_nothing_else_is_pinned() -> None:
    assert {line.partition("==")[0] for line in PINS} - needed() == set()


def test_python_is_old_enough_for_the_pins() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)


def test_help_is_the_default_and_lists_every_target() -> None:
    done = make()
    assert done.returncode == 0
    assert [re.match(r"  make ([a-z-]+) +\S", line) and line.split()[1] for line in done.stdout.splitlines()] == TARGETS


def test_an_old_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = make("setup", PYTHON=str(old), VENV=str(tmp_path / "venv"))
    assert done.returncode == 2
    assert f"Nephila needs Python 3.11 or newer; found: {old} (Python 3.9.2)." in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("https://example.com", "out/example.com"),
        ("https://example.com/a/b?c=d&e#f", "out/example.com"),
        ("example.com/a", "out/example.com"),
        ("http://user:secret@example.com:8080/", "out/example.com-8080"),
    ],
)
def test_a_crawl_goes_into_a_folder_named_by_its_host(tmp_path: Path, url: str, folder: str) -> None:
    done = make("-n", "crawl", URL=url, VENV=str(tmp_path))
    assert f"nephila crawl '{url}' -o '{folder}' " in done.stdout


def test_the_check_script_is_executable_bash() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    bash = shutil.which("bash")
    assert bash
    assert subprocess.run([bash, "-n", script], check=False).returncode == 0


def test_no_lock_file_lies_about() -> None:
    names = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt"}
    assert names & {path.name for path in ROOT.iterdir()} == set()


def test_the_licence_is_the_one_that_is_named() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert [(ROOT / name).is_file() for name in PROJECT["license-files"]] == [True]
    assert (ROOT / "LICENSE").read_text().split()[:5] == ["Apache", "License", "Version", "2.0,", "January"]
    assert (ROOT / "src" / "nephila" / "py.typed").is_file()


@pytest.mark.parametrize(
    ("no_skip", "code", "counts"),
    [("", 0, "1 passed, 3 skipped, 1 deselected"), ("1", 1, "1 failed, 1 passed, 1 skipped, 1 deselected, 1 error")],
)
def test_skips_fail_where_nothing_may_be_missing(tmp_path: Path, no_skip: str, code: int, counts: str) -> None:
    """Skips inside tests and of whole files; only the public test data may be absent."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  long: asked for only\n")
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_skipped():\n    pytest.skip('system: nothing there')\n"
        "def test_corpora(corpora):\n    pass\n"
        "def test_fine():\n    pass\n"
        "@pytest.mark.long\ndef test_long():\n    raise AssertionError\n"
    )
    (tmp_path / "test_file.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "tests"),
        "NEPHILA_NO_SKIP": no_skip,
        "NEPHILA_CORPORA": str(tmp_path / "absent"),
        "NEPHILA_LONG": "",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
    ]
    done = subprocess.run([*command, "."], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, counts in done.stdout) == (code, True), done.stdout + done.stderr
    assert "corpora: folder absent" in done.stdout


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler")
@pytest.mark.parametrize("source", sorted((ROOT / "src" / "nephila").rglob("*.c")), ids=lambda path: path.name)
def test_what_is_in_c_is_compiled_where_a_compiler_is(source: Path) -> None:
    """Else the slower way would be taken, and nobody would notice."""
    assert native.library(source) is not None
