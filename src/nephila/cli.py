"""The front desk: reads the command line, starts what was asked for, says how it ended.

Nothing heavy is imported until a command needs it, and only the parser of the command in question is built, so that
`nephila --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nephila
from nephila import options
from nephila.errors import DiskFull, NephilaError
from nephila.terminal import bug, hush, put, put_json, say, soften

USAGE, BUG, INTERRUPTED, DISK = 2, 1, 4, 6


def main(argv: list[str] | None = None) -> int:
    """Run one command; `argv` without the program's name. Returns the exit code (docs/commands.md)."""
    argv = sys.argv[1:] if argv is None else argv
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy would start threads that spin, and nothing here uses them
    soften(sys.stdout, sys.stderr)
    try:
        return _run(argv)
    except SystemExit as end:
        put("", end="")
        return end.code if isinstance(end.code, int) else BUG
    except DiskFull as error:
        return say(error, DISK)
    except NephilaError as error:
        return say(error, USAGE if type(error).__name__ in ("ConfigError", "JobError") else BUG)
    except KeyboardInterrupt:
        return say("interrupted; the same command carries on", INTERRUPTED)
    except BrokenPipeError:
        hush()
        return 0
    except Exception as error:
        return bug(error, BUG)


class Command(NamedTuple):
    """One word after `nephila`: its line in the help, its options, what it does."""

    about: str
    build: Callable[[], argparse.ArgumentParser]
    run: Callable[[argparse.Namespace], int]


def _run(argv: list[str]) -> int:
    if sys.platform == "win32":
        return say("Nephila runs on Linux and macOS; on Windows please use WSL", USAGE)
    word = argv[0] if argv else "--help"
    if word in ("-h", "--help", "help"):
        put(_overview())
        return 0
    if word in ("-V", "--version"):
        put(f"nephila {nephila.__version__}")
        return 0
    if word not in COMMANDS:
        return say(_unknown(word), USAGE)
    command = COMMANDS[word]
    parser = command.build()
    args, rest = parser.parse_known_intermixed_args(argv[1:])
    if rest:
        parser.error(options.unknown_option(rest[0], parser))
    return command.run(args)


def _overview() -> str:
    lines = [f"  {word:<8} {command.about}" for word, command in COMMANDS.items()]
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


def _unknown(word: str) -> str:
    if "." in word or "/" in word or word.startswith("localhost"):
        return f"to crawl an address, say: nephila crawl {word}"
    from nephila.values import nearest

    near = nearest(word, COMMANDS, 0.65)
    hint = f"; did you mean nephila {near}?" if near else f"; there are: {', '.join(COMMANDS)}"
    return f"{word} is not a command{hint}"


def _crawl(args: argparse.Namespace) -> int:
    from nephila import settings
    from nephila.errors import ConfigError

    seeds = [*args.url, *(line for name in args.input or [] for line in _lines(name))]
    if not seeds and args.output is None:
        raise ConfigError("give an address to start from (nephila crawl https://example.com/) or -o DIR to carry on")
    retry = _outcomes(args.retry)
    folder = args.output or default_folder(seeds[0])
    given = {name.removeprefix("key_"): value for name, value in vars(args).items() if name.startswith("key_")}
    stored = None if args.fresh else folder / "crawl.toml"
    config = settings.load(given | {"seeds": seeds}, os.environ, args.config, stored, require_secrets=True)
    settings.check(config)
    if not config.seeds:
        raise ConfigError(f"{folder} holds no crawl to carry on: give an address to start from")
    return _dry_run(config) if args.dry_run else _crawl_in(folder, config, args, retry, seeds)


def _lines(name: str) -> Iterator[str]:
    """Addresses of a list: one per line, empty lines and lines starting with # do not count."""
    from nephila.errors import ConfigError

    try:
        # Descriptor 0 and not sys.stdin: bytes that are not UTF-8 are an error with a name, whatever the locale.
        with open(0 if name == "-" else name, encoding="utf-8-sig", closefd=name != "-") as lines:
            yield from (text for line in lines if (text := line.strip()) and not text.startswith("#"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--input {name} cannot be read: {error}") from error


def _outcomes(text: str | None) -> list[str]:
    from nephila.errors import ConfigError
    from nephila.types import Outcome
    from nephila.values import nearest

    names = [name.strip().upper() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in Outcome.__members__:
            near = nearest(name, Outcome.__members__)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(Outcome)}"
            raise ConfigError(f"--retry {name}: no such outcome; {hint}")
    return names


def default_folder(seed: str) -> Path:
    """`./HOST` of an address, `HOST_PORT` when it names a port that is not its scheme's. Raises ConfigError."""
    import re
    from urllib.parse import urlsplit

    from nephila.url.parse import seed as parse_seed

    parts = urlsplit(parse_seed(seed)[0])
    host = re.sub(r"[^a-z0-9._\-]", "_", (parts.hostname or "crawl").strip("[]").lower()).lstrip(".") or "crawl"
    return Path(f"{host}_{parts.port}" if parts.port else host)


def _dry_run(config: Any) -> int:
    from nephila import job
    from nephila.display import safe

    for line in job.dry_run(config):
        put(safe(line))
    return 0


def _crawl_in(folder: Path, config: Any, args: argparse.Namespace, retry: list[str], given: list[str]) -> int:
    from nephila import job
    from nephila.display import Screen, summary

    screen = Screen.on(sys.stderr, dict(os.environ), quiet=args.quiet, as_json=args.json)
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
        )
    finally:
        screen.close()
    try:
        status = job.status(folder)
    except NephilaError as error:  # on a full disk not even this; how it ended is known all the same
        return say(f"{ending.text} ({error})", int(ending.code))
    if args.json:
        put_json(status | {"exit_code": ending.code, "reason": ending.reason, "text": ending.text})
    elif not args.quiet:
        put(summary(status, ending.code, ending.reason, ending.text))
    return int(ending.code)


def _status(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import COLUMNS_MAX, frame

    status = job.status(args.dir)
    if args.json:
        put_json(status)
        return 0
    for line, _ in frame(status, COLUMNS_MAX):
        put(line)
    return 0


def _runner(verb: str, done: str) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        from nephila import job
        from nephila.errors import JobError

        answer = job.ask(args.dir, {"verb": verb} | ({"now": True} if getattr(args, "now", False) else {}))
        if "error" in answer:
            raise JobError(str(answer["error"]))
        put(done)
        return 0

    return run


def _export(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import safe
    from nephila.errors import ConfigError
    from nephila.values import nearest

    if args.view not in job.VIEWS:
        near = nearest(args.view, job.VIEWS)
        raise ConfigError(
            f"{args.view} is not a view; {f'did you mean {near}?' if near else 'there are: ' + ', '.join(job.VIEWS)}"
        )

    of_view = {
        name.removeprefix("of_view_"): value for name, value in vars(args).items() if name.startswith("of_view_")
    }
    chosen = {name: value for name, value in of_view.items() if value is not None}
    _either_way(args, "export VIEW")
    if args.archives:
        done = job.export_from(args.view, args.archives, args.to, chosen, lambda sentence: say(sentence, 0))
    else:
        done = job.export(args.view, args.dir, args.to, args.access, chosen)
    if args.to != "-":
        put(safe(done))
    elif remarks := done.partition("; ")[2]:  # standard output holds the view and nothing else
        say(remarks, 0)
    return 0


def _extract(args: argparse.Namespace) -> int:
    import json

    from nephila import job
    from nephila.display import safe

    rows, remarks = job.extract(args.dir, args.rules, args.access)
    for row in rows:
        put(safe(json.dumps(row, ensure_ascii=False)))
    for remark in remarks:
        say(remark, 0)
    return 0


def _either_way(args: argparse.Namespace, command: str) -> None:
    """A job or foreign archives."""
    from nephila.errors import ConfigError

    if (args.dir is None) == (not args.archives):
        raise ConfigError(f"give the folder of a crawl (nephila {command} DIR) or archives with --from, not both")
    if args.archives and args.access:
        raise ConfigError("--with belongs to a crawl of Nephila's: archives of --from name no credentials")


def _serve(args: argparse.Namespace) -> int:
    from nephila import job, ui

    _either_way(args, "serve")
    if args.archives:
        source = job.source_from(args.archives, lambda sentence: say(sentence, 0))
    else:
        source = job.source(args.dir, args.access)
    title = (args.dir or args.archives[0]).resolve().name
    ui.run(source, title, args.port, lambda address: put(f"Open {address} (Ctrl-C ends it)"), args.dir)
    return 0


def _search(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import found

    answer = job.search(
        args.dir, " ".join(args.query), limit=args.limit, access=args.access, with_noindex=args.with_noindex
    )
    if args.json:
        put_json(answer)
        return 0
    bright = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    for line in found(answer, bold=bright):
        put(line)
    return 0


def _forget(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import safe

    def really(meant: Any) -> bool:
        if meant.exact or args.yes:
            return True
        for url in meant.urls:
            put(safe(url))
        put(f"{meant.total:,} addresses, {meant.visits:,} visits: nothing is taken down without --yes")
        return False

    done = job.forget(args.dir, args.what, args.reason, really)
    if done is None:
        return USAGE
    put(f"{done.total:,} addresses are forgotten, with {done.visits:,} visits")
    if done.views:
        put(safe(f"Views made before still hold them; make them again: {', '.join(done.views)}"))
    return 0


def _upload(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import safe

    def note(event: str, **fields: Any) -> None:
        if event == "store.failed":
            say(f"{fields['file']}: {fields['reason']}", 0)

    done = job.upload(args.dir, {"store": args.store, "store_key": args.store_key}, note)
    put(safe(f"{done.files:,} archive files were sent to {done.store}"))
    return say(f"{done.left:,} could not be sent: the same command carries on", INTERRUPTED) if done.left else 0


COMMANDS = {
    "crawl": Command("start a crawl, or carry on where it stopped", options.build_crawl, _crawl),
    "status": Command("where a crawl stands", options.build_status, _status),
    "pause": Command("stop asking for pages until resume", options.build_steering("pause", "Pause a running crawl; it stays paused until resume, restarts included."), _runner("pause", "paused")),
    "resume": Command("go on after pause", options.build_steering("resume", "Let a paused crawl go on."), _runner("resume", "going on")),
    "stop": Command("end a running crawl so that it can be carried on", options.build_steering("stop", "End a running crawl; nephila crawl -o DIR carries on."), _runner("stop", "stopping; nephila crawl -o DIR carries on")),
    "forget": Command("take pages down, rows and records", options.build_forget, _forget),
    "extract": Command("show what rules for items find in the pages kept", options.build_extract, _extract),
    "upload": Command("send archive files that are not in the store yet", options.build_upload, _upload),
    "export": Command("make a mirror, a table or another view", options.build_export, _export),
    "serve": Command("show what was crawled in a browser, at any time it was kept", options.build_serve, _serve),
    "search": Command("find pages and files by their words, Chinese included", options.build_search, _search),
}  # fmt: skip
