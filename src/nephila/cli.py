"""The front desk: which commands there are, who does what was asked for, and how every end is told.

A command is a row of `COMMANDS`; what it does is a function in `verbs`, imported when it is called for. Only the parser of the command
in question is built, so that `nephila --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nephila
from nephila import hints, options
from nephila.errors import DiskFull, JobError, NephilaError
from nephila.terminal import BUG, DISK, INTERRUPTED, USAGE, bug, fail, hush, put, say, soften


def main(argv: list[str] | None = None) -> int:
    """Run one command; `argv` without the program's name. Returns the exit code (docs/commands.md)."""
    argv = sys.argv[1:] if argv is None else argv
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy would start threads that spin, and nothing here uses them
    soften(sys.stdout, sys.stderr)
    as_json = "--json" in argv
    try:
        return _run(argv)
    except SystemExit as end:
        put("", end="")
        return end.code if isinstance(end.code, int) else BUG
    except DiskFull as error:
        return fail(error, DISK, as_json)
    except NephilaError as error:
        return fail(error, USAGE if type(error).__name__ in ("ConfigError", "JobError") else BUG, as_json)
    except KeyboardInterrupt:
        return fail("interrupted; the same command carries on", INTERRUPTED, as_json)
    except BrokenPipeError:
        hush()
        return 0
    except Exception as error:
        return bug(error, BUG, as_json)


class Command(NamedTuple):
    """One word after `nephila`: its line in the help, its options, and the function that does it (`module:name`)."""

    about: str
    build: Callable[[], argparse.ArgumentParser]
    verb: str

    def run(self, args: argparse.Namespace) -> int:
        import pkgutil

        verb: Callable[[argparse.Namespace], int] = pkgutil.resolve_name(self.verb)
        return verb(args)


def _run(argv: list[str]) -> int:
    if sys.platform == "win32":
        return say("Nephila runs on Linux and macOS; on Windows please use WSL", USAGE)
    if not argv:
        return _welcome()
    word = argv[0]
    if word == "help" and argv[1:2] and argv[1] in COMMANDS:
        argv = [word := argv[1], "--help"]
    if word in ("-h", "--help", "help"):
        put(_overview())
        return 0
    if word in ("-V", "--version"):
        put(f"nephila {nephila.__version__}")
        return 0
    if word not in COMMANDS:
        return fail(hints.command(word, COMMANDS), USAGE, "--json" in argv)
    command = COMMANDS[word]
    parser = command.build()
    args, rest = parser.parse_known_intermixed_args(argv[1:])
    if rest:
        parser.error(options.unknown_option(rest[0], parser))
    try:
        return command.run(args)
    except JobError as error:
        folder = getattr(args, "dir", None)
        raise JobError(f"{error}{hints.crawls_here() if folder and not hints.is_job(folder) else ''}") from error


def _overview() -> str:
    lines = [f"  {word:<10} {command.about}" for word, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: nephila COMMAND …",
            "",
            "A web spider that loses nothing, explains itself, and crawls once for many views.",
            "",
            *lines,
            "",
            "nephila COMMAND --help explains a command. Start with:",
            "",
            "  nephila crawl https://example.com/ --max-pages 100",
        ]
    )


def _welcome() -> int:
    """`nephila` alone: what to do next, by what lies here."""
    from nephila import welcome

    found = welcome.lines(Path())
    put("\n".join(found) if found else _overview())
    return 0


COMMANDS = {
    "crawl": Command("start a crawl, or carry on where it stopped", options.build_crawl, "nephila.verbs.crawl:crawl"),
    "status": Command("where a crawl stands", options.build_status, "nephila.verbs.ask:status"),
    "explain": Command("why a page is there or not, and what would change it", options.build_explain, "nephila.verbs.ask:explain"),
    "pause": Command("stop asking for pages until resume", options.build_steering("pause", "Pause a running crawl; it stays paused until resume, restarts included."), "nephila.verbs.steer:pause"),
    "resume": Command("go on after pause", options.build_steering("resume", "Let a paused crawl go on."), "nephila.verbs.steer:resume"),
    "stop": Command("end a running crawl so that it can be carried on", options.build_steering("stop", "End a running crawl; nephila crawl -o DIR carries on."), "nephila.verbs.steer:stop"),
    "set": Command("change rules, budgets and manners of a running crawl", options.build_set, "nephila.verbs.steer:set_"),
    "host": Command("pause, resume, slow or drop one host of a running crawl", options.build_host, "nephila.verbs.steer:host"),
    "forget": Command("take pages down, rows and records", options.build_forget, "nephila.verbs.keep:forget"),
    "extract": Command("show what rules for items find in the pages kept", options.build_extract, "nephila.verbs.views:extract"),
    "upload": Command("send archive files that are not in the store yet", options.build_upload, "nephila.verbs.keep:upload"),
    "export": Command("make a mirror, a table or another view", options.build_export, "nephila.verbs.views:export"),
    "serve": Command("show what was crawled in a browser, at any time it was kept", options.build_serve, "nephila.verbs.views:serve"),
    "search": Command("find pages and files by their words, Chinese included", options.build_search, "nephila.verbs.ask:search"),
    "completion": Command("a script that lets a shell complete all this", options.build_completion, "nephila.completion:show"),
}  # fmt: skip
