"""What is kept: taken down, or sent to the store."""

from __future__ import annotations

import argparse
from typing import Any

from nephila import job
from nephila.terminal import INTERRUPTED, USAGE, conclude, say


def forget(args: argparse.Namespace) -> int:
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


def upload(args: argparse.Namespace) -> int:
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
