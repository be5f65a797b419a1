"""How the crash tests start a crawl: no pause, short waits, one exit code to expect."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

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
    file = folder.parent / f"{folder.name}.toml"
    file.write_text("".join(f"{key} = {value}\n" for key, value in {**QUICK, **(config or {})}.items()))
    given = [seeds] if isinstance(seeds, str) else list(seeds)
    return Crawl(
        [*given, "-o", str(folder), "--config", str(file), *options], cwd=folder.parent, module=module, env=env
    )


def finish(crawl: Crawl, code: int = FINISHED, timeout_s: float = 60.0) -> Ended:
    """Wait for the end, which must have this exit code and leave no process behind."""
    with crawl:
        ended = crawl.wait(timeout_s)
        assert ended.code == code, f"exit code {ended.code}\n{ended.out}\n{ended.err}"
        crawl.wait_alone()
    return ended
