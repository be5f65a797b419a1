"""The scripts for shells, run by the shells themselves where they are installed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from nephila import completion
from nephila.cli import COMMANDS

WANTED = [
    ("nephila cr", ["crawl"]),
    ("nephila st", ["status", "stop"]),
    ("nephila export m", ["markdown", "mirror"]),
    ("nephila crawl https://a.example/ --max-pa", ["--max-pages"]),
    ("nephila crawl https://a.example/ --scope n", ["name"]),
    ("nephila status n", ["news", "notes"]),
    ("nephila stop notes --no", ["--now"]),
    ("nephila completion z", ["zsh"]),
]
"""What is typed, and what the shell has to offer."""

IN_BASH = r"""
source ./script
words=($1) last="${1##* }"
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE="$1" COMP_POINT=${#1}
_shtab_nephila nephila "$last"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two crawls in it and a file, and a `nephila` to be completed."""
    monkeypatch.chdir(tmp_path)
    for name in ("news", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "nothing.txt").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def written(place: Path, shell: str) -> None:
    (place / "script").write_text(completion.script(shell))


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_command_and_option_is_in_the_script(shell: str) -> None:
    text = completion.script(shell)
    for word, command in COMMANDS.items():
        assert word in text
        for option in command.build()._option_string_actions:
            shown = not option.startswith("--") or f" {option[2:]}" in text or option in text
            assert shown or option.startswith("--no-") or option in ("--robots",), option


@needs("bash")
def test_bash(place: Path) -> None:
    written(place, "bash")
    for line, offers in WANTED:
        done = subprocess.run(
            ["bash", "-c", IN_BASH, "bash", line], capture_output=True, text=True, timeout=20, check=True
        )
        assert (line, sorted(done.stdout.split())) == (line, offers)


@needs("fish")
def test_fish(place: Path) -> None:
    written(place, "fish")
    for line, offers in WANTED:
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source ./script; complete -C $argv[1]", line],
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
        found = sorted(offer.partition("\t")[0].rstrip("/") for offer in done.stdout.splitlines())
        assert (line, found) == (line, offers)


@needs("zsh")
def test_zsh(place: Path) -> None:
    """Typed into a terminal, with a tabulator; one shell for all lines."""
    (place / "_nephila").write_text(completion.script("zsh"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "dumb", "PS1": ""}
        os.execlp("zsh", "zsh", "-f", "-i")
    try:
        ask(terminal, "unsetopt zle_bracketed_paste promptcr promptsp; PS1='' LISTMAX=999; fpath=($PWD $fpath)")
        ask(
            terminal,
            "autoload -U compinit && compinit -u -D; zstyle ':completion:*' list-colors ''; echo ready",
            "ready\r\n",
        )
        for line, offers in WANTED:
            ask(
                terminal, f"{line}\t\t", *(offer[2:] for offer in offers), enter=""
            )  # of one offer the rest is filled in
            os.write(terminal, b"\x15")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def ask(terminal: int, text: str, *expected: str, enter: str = "\n") -> None:
    """Type, and wait until all that is expected has been shown."""
    os.write(terminal, (text + enter).encode())
    shown, end = "", time.monotonic() + 10
    while not all(word in shown for word in expected) and (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            shown += os.read(terminal, 1 << 16).decode(errors="replace")
    assert all(word in shown for word in expected), (text, shown)
