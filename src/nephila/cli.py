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
from nephila import hints, options
from nephila.errors import DiskFull, JobError, NephilaError
from nephila.terminal import bug, conclude, fail, hush, put, say, soften

USAGE, BUG, INTERRUPTED, DISK = 2, 1, 4, 6
PREVIEW_SECONDS_MAX = 30.0
SET_SECONDS_MAX = 600.0
"""Millions of stored URLs are looked at in that time."""


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
    """One word after `nephila`: its line in the help, its options, what it does."""

    about: str
    build: Callable[[], argparse.ArgumentParser]
    run: Callable[[argparse.Namespace], int]


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


def _crawl(args: argparse.Namespace) -> int:
    from nephila import settings
    from nephila.errors import ConfigError

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
    from nephila.errors import ConfigError

    try:
        # Descriptor 0 and not sys.stdin: bytes that are not UTF-8 are an error with a name, whatever the locale.
        with open(0 if name == "-" else name, encoding="utf-8-sig", closefd=name != "-") as lines:
            yield from (text for line in lines if (text := line.strip()) and not text.startswith("#"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"--input {name} cannot be read: {why}") from error


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


def _dry_run(config: Any, as_json: bool) -> int:
    from nephila import job

    lines = job.dry_run(config)
    return conclude(True, {"lines": [*lines]}, ()) if as_json else conclude(False, {}, lines)


def _crawl_in(folder: Path, config: Any, args: argparse.Namespace, retry: list[str], given: list[str]) -> int:
    from nephila import job
    from nephila.display import Screen, summary

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
    from nephila import ui
    from nephila.ui.beside import Beside

    ui.token(None, os.environ)  # a wrong one is told now; the window takes it from there, too
    window = Beside(args.ui_port)
    sentence = f"the window is at {window.address}"
    say(sentence, 0) if args.quiet else note(sentence)
    return window.open


def _status(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import columns_for, frame

    status = job.status(args.dir)
    return conclude(args.json, status, (line for line, _ in frame(status, columns_for(sys.stdout))))


def _runner(verb: str, done: str) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        from nephila import job

        said = job.ask(args.dir, {"verb": verb} | ({"now": True} if getattr(args, "now", False) else {}))
        if "error" in said:
            raise JobError(str(said["error"]))
        return conclude(args.json, {"folder": str(args.dir), "done": verb, "text": done}, [done])

    return run


def _set(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import previewed
    from nephila.errors import ConfigError

    values = dict[str, Any]()
    for change in args.change:
        key, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"{change}: KEY=VALUE is expected, such as max_depth=3")
        name, sign = (key[:-1], key[-1]) if key[-1:] in ("+", "-") else (key, "")
        key = name.strip().replace("-", "_") + sign
        values[key] = f"{values[key]}\n{value}" if key in values else value
    if args.preview:
        found = job.preview(args.dir, values, PREVIEW_SECONDS_MAX)
        lines = previewed(found)
        return conclude(args.json, {"folder": str(args.dir), "effect": found, "text": lines[0]}, lines)
    said = job.ask(args.dir, {"verb": "set", "values": values}, timeout_s=SET_SECONDS_MAX)
    told = {"folder": str(args.dir), "effect": said.get("effect"), "text": said["ok"]}
    return conclude(args.json, told, [said["ok"]])


def _host(args: argparse.Namespace) -> int:
    from nephila import job

    asked = {"verb": "host", "host": args.host, "action": args.action, "value": args.seconds}
    said = job.ask(args.dir, asked)
    told = {"folder": str(args.dir), "host": args.host, "action": args.action, "text": said["ok"]}
    return conclude(args.json, told, [said["ok"]])


def _export(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.errors import ConfigError

    if args.view not in job.VIEWS:
        raise ConfigError(hints.view(args.view, args.dir, job.VIEWS))
    if args.to == "-" and args.json:
        raise ConfigError("with --to - standard output is the view and nothing else: leave --json or --to - out")
    of_view = {
        name.removeprefix("of_view_"): value for name, value in vars(args).items() if name.startswith("of_view_")
    }
    chosen = {name: value for name, value in of_view.items() if value is not None}
    _either_way(args, "export VIEW")
    heard, hear = _remarks(args)
    if args.archives:
        done = job.export_from(args.view, args.archives, args.to, chosen, hear)
    else:
        done = job.export(args.view, args.dir, args.to, args.access, chosen)
    text, _, remarks = done.partition("; ")
    if args.to == "-":
        return say(remarks, 0) if remarks else 0
    place = (args.dir / "views" if args.dir else Path()) / job.VIEWS[args.view].default
    told = {"view": args.view, "to": args.to or str(place), "text": text}
    return conclude(args.json, told | {"remarks": heard + [r for r in remarks.split("; ") if r]}, [done])


def _remarks(args: argparse.Namespace) -> tuple[list[str], Callable[[str], object]]:
    """Where remarks go: to standard error at once, or with --json into a list."""
    heard: list[str] = []
    return heard, heard.append if args.json else lambda sentence: say(sentence, 0)


def _extract(args: argparse.Namespace) -> int:
    import json

    from nephila import job

    rows, remarks = job.extract(args.dir, args.rules, args.access)
    if not args.json:
        for remark in remarks:
            say(remark, 0)
    return conclude(
        args.json, {"rows": rows, "remarks": remarks}, (json.dumps(row, ensure_ascii=False) for row in rows)
    )


def _either_way(args: argparse.Namespace, command: str) -> None:
    """A job or foreign archives."""
    from nephila.errors import ConfigError

    if (args.dir is None) == (not args.archives):
        here = hints.crawls_here() if args.dir is None else ""
        raise ConfigError(
            f"give the folder of a crawl (nephila {command} DIR) or archives of another program with --from, not both{here}"
        )
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

    def tell(address: str, token: str) -> None:
        origin = address.partition("/#")[0]
        value = {"address": address, "api": f"{origin}/api/v1", "metrics": f"{origin}/metrics", "token": token}
        conclude(args.json, value, [f"Open {address} (Ctrl-C ends it)"])

    ui.run(source, title, args.port, tell, args.dir, ui.token(args.token_file, os.environ))
    return 0


def beside(folder: str, descriptor: str) -> None:
    """The process of `crawl --ui`; see `ui.beside`, which starts it."""
    from nephila import job, ui
    from nephila.ui import serve

    place, token = Path(folder), ui.token(None, os.environ)
    serve.run_beside(job.source(place), place.resolve().name, place, int(descriptor), token)


def _search(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import colours, found

    said = job.search(
        args.dir, " ".join(args.query), limit=args.limit, access=args.access, with_noindex=args.with_noindex
    )
    if args.json:
        return conclude(True, said, ())
    for line in found(said, bold=colours(sys.stdout, os.environ)):
        put(line)
    return 0


def _explain(args: argparse.Namespace) -> int:
    from nephila import job
    from nephila.display import explained, refused
    from nephila.errors import ConfigError

    if bool(args.url) == args.refused:
        raise ConfigError("give an address (nephila explain DIR URL) or --refused")
    answer = job.explain(args.dir, args.url, args.given, args.access, refused=args.refused)
    return conclude(args.json, answer, refused(answer) if args.refused else explained(answer))


def _forget(args: argparse.Namespace) -> int:
    from nephila import job

    meant: Any = None

    def really(what: Any) -> bool:
        nonlocal meant
        meant = what
        return bool(what.exact or args.yes)

    done = job.forget(args.dir, args.what, args.reason, really) is not None
    value = {"done": done, "urls": meant.urls, "total": meant.total, "visits": meant.visits, "views": meant.views}
    if not done:
        told = f"{meant.total:,} addresses, {meant.visits:,} visits: nothing is taken down without --yes"
        return conclude(args.json, value, [*meant.urls, told], USAGE)
    lines = [f"{meant.total:,} addresses are forgotten, with {meant.visits:,} visits"]
    if meant.views:
        lines.append(f"Views made before still hold them; make them again: {', '.join(meant.views)}")
    return conclude(args.json, value, lines)


def _upload(args: argparse.Namespace) -> int:
    from nephila import job

    failed: list[dict[str, str]] = []

    def note(event: str, **fields: Any) -> None:
        if event == "store.failed":
            failed.append({"file": fields["file"], "reason": fields["reason"]})
            if not args.json:
                say(f"{fields['file']}: {fields['reason']}", 0)

    done = job.upload(args.dir, {"store": args.store, "store_key": args.store_key}, note)
    code = INTERRUPTED if done.left else 0
    value = {"store": done.store, "files": done.files, "left": done.left, "failed": failed}
    conclude(args.json, value, [f"{done.files:,} archive files were sent to {done.store}"], code)
    return (
        code
        if args.json or not done.left
        else say(f"{done.left:,} could not be sent: the same command carries on", code)
    )


def _completion(args: argparse.Namespace) -> int:
    from nephila import completion

    script = completion.script(args.shell)
    if args.json:
        return conclude(True, {"shell": args.shell, "script": script}, ())
    put(script)  # as it is: tabs count, and nothing in it comes from outside
    return 0


COMMANDS = {
    "crawl": Command("start a crawl, or carry on where it stopped", options.build_crawl, _crawl),
    "status": Command("where a crawl stands", options.build_status, _status),
    "explain": Command("why a page is there or not, and what would change it", options.build_explain, _explain),
    "pause": Command("stop asking for pages until resume", options.build_steering("pause", "Pause a running crawl; it stays paused until resume, restarts included."), _runner("pause", "paused")),
    "resume": Command("go on after pause", options.build_steering("resume", "Let a paused crawl go on."), _runner("resume", "going on")),
    "stop": Command("end a running crawl so that it can be carried on", options.build_steering("stop", "End a running crawl; nephila crawl -o DIR carries on."), _runner("stop", "stopping; nephila crawl -o DIR carries on")),
    "set": Command("change rules, budgets and manners of a running crawl", options.build_set, _set),
    "host": Command("pause, resume, slow or drop one host of a running crawl", options.build_host, _host),
    "forget": Command("take pages down, rows and records", options.build_forget, _forget),
    "extract": Command("show what rules for items find in the pages kept", options.build_extract, _extract),
    "upload": Command("send archive files that are not in the store yet", options.build_upload, _upload),
    "export": Command("make a mirror, a table or another view", options.build_export, _export),
    "serve": Command("show what was crawled in a browser, at any time it was kept", options.build_serve, _serve),
    "search": Command("find pages and files by their words, Chinese included", options.build_search, _search),
    "completion": Command("a script that lets a shell complete all this", options.build_completion, _completion),
}  # fmt: skip
