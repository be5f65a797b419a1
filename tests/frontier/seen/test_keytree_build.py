"""The build: a kernel where there is a compiler, a package that works where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from nephila.frontier.seen import keytree_kernel
from nephila.frontier.seen.keytree import KeyTree

ROOT = Path(__file__).parents[3]
SEEN = "nephila/frontier/seen"
ASK = "from nephila.frontier.seen.keytree import KeyTree; import numpy as np; t = KeyTree(); print(t.kernel, t.add_many(np.zeros(2, np.uint64)).tolist())"


def wheel(tmp_path: Path, **environment: str) -> Path:
    """Built from a copy, in which an earlier build left a library."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "lib*.so"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    (copy / "src" / SEEN / "libkeytree.so").write_bytes(b"stale")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=copy, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = tmp_path.glob("*.whl")
    return made


def asked(made: Path, to: Path) -> str:
    zipfile.ZipFile(made).extractall(to)
    command = [sys.executable, "-c", ASK]
    environment = os.environ | {"PYTHONPATH": str(to)}
    return subprocess.run(command, cwd=to, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.long
@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="system: no C compiler")
def test_with_a_compiler_the_wheel_has_the_kernel(tmp_path: Path) -> None:
    made = wheel(tmp_path, CC="")
    assert "-py3-none-" in made.name
    assert not made.name.endswith("-any.whl")
    assert asked(made, tmp_path / "unpacked") == "True [True, False]"


def test_without_a_compiler_the_wheel_is_for_all_and_works(tmp_path: Path) -> None:
    made = wheel(tmp_path, CC="/bin/false")
    assert made.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(made).namelist()
    assert [name for name in names if name.endswith(".so")] == []
    assert f"{SEEN}/keytree.c" in names
    assert asked(made, tmp_path / "unpacked") == "False [True, False]"


@pytest.mark.long
def test_a_compiler_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert wheel(tmp_path, CC="/no/such/compiler").name.endswith("-py3-none-any.whl")


def test_a_kernel_from_another_source_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not keytree_kernel.available():
        pytest.skip("system: the kernel was not compiled")
    changed = tmp_path / "keytree.c"
    changed.write_bytes(keytree_kernel.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(keytree_kernel, "SOURCE", changed)
    assert keytree_kernel._library.__wrapped__() is None


def test_asked_for_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keytree_kernel, "_library", lambda: None)
    assert KeyTree().kernel is False
    with pytest.raises(RuntimeError, match="was not compiled"):
        KeyTree(kernel=True)


def test_the_kernel_stays_small() -> None:
    assert len(keytree_kernel.SOURCE.read_text().splitlines()) <= 300
