"""Questions to a job: where it stands, why an address is there or not, which pages have these words."""

from __future__ import annotations

import argparse
import os
import sys

from nephila import job
from nephila.display import colours, columns_for, explained, found, frame, refused
from nephila.errors import ConfigError
from nephila.terminal import conclude, put


def status(args: argparse.Namespace) -> int:
    status = job.status(args.dir)
    return conclude(args.json, status, (line for line, _ in frame(status, columns_for(sys.stdout))))


def explain(args: argparse.Namespace) -> int:
    if bool(args.url) == args.refused:
        raise ConfigError("give an address (nephila explain DIR URL) or --refused")
    answer = job.explain(args.dir, args.url, args.given, args.access, refused=args.refused)
    return conclude(args.json, answer, refused(answer) if args.refused else explained(answer))


def search(args: argparse.Namespace) -> int:
    said = job.search(
        args.dir, " ".join(args.query), limit=args.limit, access=args.access, with_noindex=args.with_noindex
    )
    if args.json:
        return conclude(True, said, ())
    for line in found(said, bold=colours(sys.stdout, os.environ)):
        put(line)
    return 0
