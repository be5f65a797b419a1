"""What is made of a job, or of archives of other programs: views, items, the window."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

from nephila import hints, job, ui
from nephila.errors import ConfigError
from nephila.terminal import conclude, say


def export(args: argparse.Namespace) -> int:
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


def extract(args: argparse.Namespace) -> int:
    rows, remarks = job.extract(args.dir, args.rules, args.access)
    if not args.json:
        for remark in remarks:
            say(remark, 0)
    return conclude(
        args.json, {"rows": rows, "remarks": remarks}, (json.dumps(row, ensure_ascii=False) for row in rows)
    )


def serve(args: argparse.Namespace) -> int:
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
    from nephila.ui.serve import run_beside

    place, token = Path(folder), ui.token(None, os.environ)
    run_beside(job.source(place), place.resolve().name, place, int(descriptor), token)


def _either_way(args: argparse.Namespace, command: str) -> None:
    """A job or foreign archives."""
    if (args.dir is None) == (not args.archives):
        here = hints.crawls_here() if args.dir is None else ""
        raise ConfigError(
            f"give the folder of a crawl (nephila {command} DIR) or archives of another program with --from, not both{here}"
        )
    if args.archives and args.access:
        raise ConfigError("--with belongs to a crawl of Nephila's: archives of --from name no credentials")


def _remarks(args: argparse.Namespace) -> tuple[list[str], Callable[[str], object]]:
    """Where remarks go: to standard error at once, or with --json into a list."""
    heard: list[str] = []
    return heard, heard.append if args.json else lambda sentence: say(sentence, 0)
