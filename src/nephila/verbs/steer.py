"""Orders to a running crawl: pause, resume, stop; other settings; what to do with one host."""

from __future__ import annotations

import argparse
from typing import Any

from nephila import job
from nephila.display import previewed
from nephila.errors import ConfigError
from nephila.terminal import conclude

PREVIEW_S_MAX = 30.0
SET_S_MAX = 600.0
"""Millions of stored URLs are looked at in that time."""


def pause(args: argparse.Namespace) -> int:
    return _ordered(args, {"verb": "pause"}, "paused")


def resume(args: argparse.Namespace) -> int:
    return _ordered(args, {"verb": "resume"}, "going on")


def stop(args: argparse.Namespace) -> int:
    order = {"verb": "stop"} | ({"now": True} if args.now else {})
    return _ordered(args, order, "stopping; nephila crawl -o DIR carries on")


def _ordered(args: argparse.Namespace, order: dict[str, Any], done: str) -> int:
    job.ask(args.dir, order)
    return conclude(args.json, {"folder": str(args.dir), "done": order["verb"], "text": done}, [done])


def set_(args: argparse.Namespace) -> int:
    values = dict[str, Any]()
    for change in args.change:
        key, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"{change}: KEY=VALUE is expected, such as max_depth=3")
        name, sign = (key[:-1], key[-1]) if key[-1:] in ("+", "-") else (key, "")
        key = name.strip().replace("-", "_") + sign
        values[key] = f"{values[key]}\n{value}" if key in values else value
    if args.preview:
        found = job.preview(args.dir, values, PREVIEW_S_MAX)
        lines = previewed(found)
        return conclude(args.json, {"folder": str(args.dir), "effect": found, "text": lines[0]}, lines)
    said = job.ask(args.dir, {"verb": "set", "values": values}, timeout_s=SET_S_MAX)
    told = {"folder": str(args.dir), "effect": said.get("effect"), "text": said["ok"]}
    return conclude(args.json, told, [said["ok"]])


def host(args: argparse.Namespace) -> int:
    asked = {"verb": "host", "host": args.host, "action": args.action, "value": args.seconds}
    said = job.ask(args.dir, asked)
    told = {"folder": str(args.dir), "host": args.host, "action": args.action, "text": said["ok"]}
    return conclude(args.json, told, [said["ok"]])
