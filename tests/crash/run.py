"""How the crash tests run a crawl: no pause, short waits, one exit code to expect; in processes that can die, or in this one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from commands.stranger import Prompt, Said

from nephila.testing.groups import Crawl, Ended

QUICK: dict[str, float] = {
    "retry_wait_s": 0.1,
    "retry_wait_max_s": 0.5,
    "offline_after_s": 60,
    "drain_s": 2,
    "archive_bytes_max": 200_000,
}
"""Waits short enough for a test, archive files small enough to roll over."""

FULL_SPEED = ("--delay", "0", "--per-host", "8", "--workers", "2")

ONE_WORKER = ("--delay", "0", "--per-host", "8", "--workers", "1")

FINISHED, LIMIT, INTERRUPTED, NO_SEED = 0, 3, 4, 5
"""Exit codes of `nephila crawl`."""


def start(
    seeds: str | Iterable[str],
    folder: Path,
    *options: str,
    config: dict[str, float] | None = None,
    module: str = "nephila",
    env: dict[str, str] | None = None,
) -> Crawl:
    """`nephila crawl SEEDS -o FOLDER OPTIONS` in a process group of its own, in the folder's parent.

    `config` is laid over QUICK. The file lies outside the job folder; the same call starts and resumes.
    """
    return Crawl(_words(seeds, folder, options, config), cwd=folder.parent, module=module, env=env)


def run_here(
    seeds: str | Iterable[str],
    folder: Path,
    *options: str,
    code: int = FINISHED,
    config: dict[str, float] | None = None,
) -> Said:
    """The same to its end with this process as the front: quicker, for what no process has to die for."""
    said = Prompt(folder.parent).here("crawl", *_words(seeds, folder, options, config))
    assert said.code == code, said.text
    return said


def _words(
    seeds: str | Iterable[str], folder: Path, options: Iterable[str], config: dict[str, float] | None
) -> list[str]:
    file = folder.parent / f"{folder.name}.toml"
    file.write_text("".join(f"{key} = {value}\n" for key, value in {**QUICK, **(config or {})}.items()))
    given = [seeds] if isinstance(seeds, str) else list(seeds)
    return [*given, "-o", str(folder), "--config", str(file), *options]


def finish(crawl: Crawl, code: int = FINISHED, timeout_s: float = 60.0) -> Ended:
    """Wait for the end, which must have this exit code and leave no process behind."""
    with crawl:
        ended = crawl.wait(timeout_s)
        assert ended.code == code, f"exit code {ended.code}\n{ended.out}\n{ended.err}"
        crawl.wait_alone()
    return ended
