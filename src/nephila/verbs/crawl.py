"""`nephila crawl`: from what was written to a job that runs, with its progress, its window and its summary."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nephila import hints, job, settings, ui
from nephila.config import Config
from nephila.display import Screen, summary
from nephila.errors import ConfigError, NephilaError
from nephila.terminal import conclude, fail, say
from nephila.types import Outcome
from nephila.ui.beside import Beside
from nephila.url.parse import seed as parse_seed
from nephila.values import nearest


def crawl(args: argparse.Namespace) -> int:
    seeds = [*args.url, *(line for name in args.input or [] for line in _lines(name))]
    if not seeds and args.output is None:
        raise ConfigError("give an address to start from (nephila crawl https://example.com/) or -o DIR to carry on")
    hints.check_seeds(args.url)
    retry = _outcomes(args.retry)
    folder = args.output or default_folder(seeds[0])
    given = {name.removeprefix("key_"): value for name, value in vars(args).items() if name.startswith("key_")}
    stored = None if args.fresh else folder / "crawl.toml"
    config = settings.load(given | {"seeds": seeds}, os.environ, args.config, stored, require_secrets=True)
    settings.check(config)
    if not config.seeds:
        raise ConfigError(f"{folder} holds no crawl to carry on: give an address to start from")
    return _dry_run(config, args.json) if args.dry_run else _crawl_in(folder, config, args, retry, seeds)


def _lines(name: str) -> Iterator[str]:
    """Addresses of a list: one per line, empty lines and lines starting with # do not count."""
    try:
        # Descriptor 0 and not sys.stdin: bytes that are not UTF-8 are an error with a name, whatever the locale.
        with open(0 if name == "-" else name, encoding="utf-8-sig", closefd=name != "-") as lines:
            yield from (text for line in lines if (text := line.strip()) and not text.startswith("#"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"--input {name} cannot be read: {why}") from error


def _outcomes(text: str | None) -> list[str]:
    names = [name.strip().upper() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in Outcome.__members__:
            near = nearest(name, Outcome.__members__)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(Outcome)}"
            raise ConfigError(f"--retry {name}: no such outcome; {hint}")
    return names


def default_folder(seed: str) -> Path:
    """`./HOST` of an address, `HOST_PORT` when it names a port that is not its scheme's. Raises ConfigError."""
    parts = urlsplit(parse_seed(seed)[0])
    host = re.sub(r"[^a-z0-9._\-]", "_", (parts.hostname or "crawl").strip("[]").lower()).lstrip(".") or "crawl"
    return Path(f"{host}_{parts.port}" if parts.port else host)


def _dry_run(config: Config, as_json: bool) -> int:
    lines = job.dry_run(config)
    return conclude(True, {"lines": [*lines]}, ()) if as_json else conclude(False, {}, lines)


def _crawl_in(folder: Path, config: Config, args: argparse.Namespace, retry: list[str], given: list[str]) -> int:
    screen = Screen.on(sys.stderr, dict(os.environ), quiet=args.quiet, as_json=args.json)
    beside = _window(args, screen.note) if args.ui else None
    try:
        ending = job.crawl(
            folder,
            config,
            given=given,
            fresh=args.fresh,
            retry=retry,
            observe=None if args.quiet else screen.update,
            observe_s=screen.observe_s,
            note=screen.note,
            beside=beside,
        )
    finally:
        screen.close()
    try:
        status = job.status(folder)
    except NephilaError as error:  # on a full disk not even this; how it ended is known all the same
        return fail(f"{ending.text} ({error})", int(ending.code), args.json)
    told = [] if args.quiet else summary(status, ending.code, ending.reason, ending.text).split("\n")
    return conclude(args.json, status | {"reason": ending.reason, "text": ending.text}, told, int(ending.code))


def _window(args: argparse.Namespace, note: Callable[[str], object]) -> Callable[[Path], Any]:
    """What opens the window beside the crawl; its address is said even with --quiet."""
    ui.token(None, os.environ)  # a wrong one is told now; the window takes it from there, too
    window = Beside(args.ui_port)
    sentence = f"the window is at {window.address}"
    say(sentence, 0) if args.quiet else note(sentence)
    return window.open
