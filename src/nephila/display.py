"""What a person sees of a crawl: live progress on standard error, the summary on standard output.

On a terminal the progress is redrawn in place; through a pipe it is one line per ten seconds, with `--json` one JSON
object per ten seconds. Whatever came from the web is escaped before it is printed, and a terminal that does not take
more output (Ctrl-S, a full pipe) costs a frame and never the crawl.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import unicodedata
from collections import deque
from collections.abc import Mapping
from typing import Any, TextIO

from nephila.events import UNSAFE
from nephila.figures import amount, duration, moment
from nephila.types import GOOD, KEPT

COLUMNS_MIN, COLUMNS_MAX = 20, 120
NOTES_MAX = 100
"""Sentences kept for a terminal that does not take them yet; older ones are dropped."""
_STYLES = {"": "", "bold": "\x1b[1m", "red": "\x1b[31m", "yellow": "\x1b[33m"}


class Screen:
    """Progress of one crawl. `mode`: live, lines, json or quiet; `observe_s`: how often `update` wants to be called."""

    def __init__(self, stream: TextIO, mode: str, *, colour: bool = False, columns: int | None = None) -> None:
        self._stream, self.mode, self._colour, self._columns = stream, mode, colour, columns
        self.observe_s = 1.0 if mode == "live" else 10.0
        self._drawn = 0
        self._notes: deque[str] = deque(maxlen=NOTES_MAX)
        self._gone = mode == "quiet"

    @classmethod
    def on(cls, stream: TextIO, env: dict[str, str], *, quiet: bool = False, as_json: bool = False) -> Screen:
        """The mode that fits `stream`: redrawing needs a terminal that knows how (not TERM=dumb)."""
        able = stream.isatty() and env.get("TERM", "") not in ("", "dumb")
        mode = "quiet" if quiet else "json" if as_json else "live" if able else "lines"
        return cls(stream, mode, colour=colours(stream, env))

    def update(self, status: dict[str, Any]) -> None:
        """Show where the crawl stands."""
        if self.mode == "live":
            columns, rows = self._size()
            self._show(frame(status, columns - 1)[: max(rows - 1, 1)])
        elif self.mode == "json":
            self._show([(json.dumps(status, ensure_ascii=True), "")])
        else:
            self._show([(one_line(status), "")])

    def note(self, sentence: str) -> None:
        """Tell the user something, once; it stays above the progress."""
        self._notes.append(json.dumps({"note": sentence}) if self.mode == "json" else f"nephila: {safe(sentence)}")
        self._show([])

    def close(self) -> None:
        """Take the progress away, so that the summary stands alone. The crawl is over: this may wait for the terminal."""
        self._show([], wait=True)

    def _show(self, lines: list[tuple[str, str]], wait: bool = False) -> None:
        if self._gone or not (wait or _ready(self._stream)):
            return
        notes = "".join(f"{note}\n" for note in self._notes)
        text = "".join(f"{self._paint(line, style)}\n" for line, style in lines)
        try:
            self._stream.write(self._erase() + notes + text)
            self._stream.flush()
        except (OSError, ValueError):
            self._gone = True
            return
        self._notes.clear()
        self._drawn = len(lines) if self.mode == "live" else 0

    def _erase(self) -> str:
        return f"\x1b[{self._drawn}F\x1b[J" if self._drawn else ""

    def _paint(self, line: str, style: str) -> str:
        return f"{_STYLES[style]}{line}\x1b[0m" if self._colour and _STYLES[style] else line

    def _size(self) -> tuple[int, int]:
        return (self._columns, 24) if self._columns else _size(self._stream)


def colours(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Whether to write to `stream` in colour: never with NO_COLOR, always with FORCE_COLOR or CLICOLOR_FORCE, else when it is a
    terminal that can and CLICOLOR is not 0 (no-color.org, force-color.org, bixense.com/clicolors)."""
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and env.get("TERM", "") not in ("", "dumb") and env.get("CLICOLOR") != "0"


def columns_for(stream: TextIO) -> int:
    """How wide a line on `stream` may be: as wide as the terminal, or COLUMNS_MAX."""
    return _size(stream)[0] if stream.isatty() else COLUMNS_MAX


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return min(max(size.columns or 80, COLUMNS_MIN), COLUMNS_MAX), size.lines or 24


def _ready(stream: TextIO) -> bool:
    """Whether a write would not block. A stream without a descriptor never does."""
    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (OSError, ValueError):
        return True


def frame(status: dict[str, Any], columns: int) -> list[tuple[str, str]]:
    """The live view: (line, style), each at most `columns` cells wide; the numbers take more lines where they must."""
    done = status["outcomes"]
    left = status["eta_seconds"]
    ahead = f" · about {duration(left)} left" if left and status["state"] == "running" else ""
    spent = f"{'for' if status['state'] in ('running', 'paused') else 'after'} {duration(status['seconds'])}"
    workers = f" · {_many(status['workers'], 'worker')}" if status["workers"] else ""
    state = f"  {status['state']} {spent}"
    lines = [
        (f"{_end_of(safe(status['folder']), columns - len(state))}{state}{workers}{ahead}", "bold"),
        (
            f"  found {status['found']:,} · kept {kept(status):,} · queued {status['queued']:,} · in flight {status['in_flight']:,}",
            "",
        ),
        (
            f"  {amount(status['bytes'])} · {status['pages_per_second']:,.1f} pages/s · {_many(status['archive_files'], 'archive file')}",
            "",
        ),
    ]
    if status["offline_since"]:
        lines.append((f"  no network since {moment(status['offline_since'])}; waiting for it", "yellow"))
    if down := [proxy for proxy in status["proxies"] if proxy["resting_since"]]:
        lines.append((f"  proxies: {_ways(status['proxies'], down)}", "yellow"))
    if errors := [f"{name} {n:,}" for name, n in _ranked(done) if name not in GOOD]:
        lines.append((f"  not kept: {' · '.join(errors)}", "red"))
    if status["reasons"]:
        lines.append((f"  because: {' · '.join(f'{r} {n:,}' for r, n in _ranked(status['reasons']))}", "red"))
    lines += [(f"  trap: {_trap(trap)}", "yellow") for trap in status["traps"][:3]]
    lines += [(f"  slowest: {_host(host)}", "") for host in status["hosts"][:3]]
    lines += [(f"  parked: {p['origin']} until {moment(p['until'])}", "yellow") for p in status["parked"][:3]]
    if status.get("unknown"):
        lines.append((f"  not counted, because it takes too long: {', '.join(status['unknown'])}", "yellow"))
    return [(part, style) for line, style in lines for part in _wrapped(safe(line), columns)]


def _wrapped(line: str, columns: int) -> list[str]:
    """Broken at its dots, each part cut where it is still too long."""
    lines: list[str] = []
    for part in line.split(" · "):
        if lines and columns_of(joined := f"{lines[-1]} · {part}") <= columns:
            lines[-1] = joined
        else:
            lines.append(f"    {part}" if lines else part)
    return [cut(part, columns) for part in lines]


def _end_of(folder: str, columns: int) -> str:
    """The end of a path says more than its beginning."""
    while columns_of(folder) > max(columns, 8):
        folder = "…" + folder.lstrip("…")[1:]
    return folder


def _ways(proxies: list[dict[str, Any]], down: list[dict[str, Any]]) -> str:
    """Which do not work, and since when none does."""
    said = ", ".join(f"{proxy['proxy']} ({proxy['reason']})" for proxy in down[:3])
    if len(down) == len(proxies):
        return f"none works since {moment(max(proxy['resting_since'] for proxy in down))}, waiting: {said}"
    return f"{len(down)} of {len(proxies)} rest: {said}"


def _host(host: dict[str, Any]) -> str:
    failures = f", {_many(host['failures'], 'failure')} in a row" if host["failures"] else ""
    return f"{host['origin']} {host['queued']:,} queued, pause {host['delay']:.3g} s, answers in {host['ms']:.0f} ms{failures}"


def _trap(trap: dict[str, Any]) -> str:
    example = f", such as {trap['examples'][0]}" if trap["examples"] else ""
    return f"{trap['rule'].removeprefix('trap:')} refused {trap['count']:,}{example}"


def one_line(status: dict[str, Any]) -> str:
    """The same in one line, for logs and pipes."""
    bad = sum(n for name, n in status["outcomes"].items() if name not in GOOD)
    parts = [
        f"{status['state']} {duration(status['seconds'])}",
        f"found {status['found']:,}, kept {kept(status):,}, queued {status['queued']:,}, in flight {status['in_flight']:,}",
        f"not kept {bad:,}, {amount(status['bytes'])}, {status['pages_per_second']:,.1f} pages/s",
    ]
    if status["offline_since"]:
        parts.append(f"no network since {moment(status['offline_since'])}")
    if down := [proxy for proxy in status["proxies"] if proxy["resting_since"]]:
        parts.append(f"proxies: {_ways(status['proxies'], down)}")
    return safe(f"nephila: {'; '.join(parts)}")


def summary(status: dict[str, Any], code: int, reason: str, text: str) -> str:
    """What was kept, what was not and why, where it is, how it ended, and what makes sense next."""
    folder = status["folder"]
    lines = [
        f"{safe(text)} (exit code {code}, {reason})",
        "",
        f"  kept       {kept(status):,} pages, {amount(status['bytes'])}, in {duration(status['seconds'])} ({status['pages_per_second']:,.1f} pages/s)",
        f"  found      {status['found']:,} addresses, {status['queued']:,} still queued",
        f"  in         {safe(folder)} ({_many(status['archive_files'], 'archive file')})",
    ]
    lines += _table("outcomes", status["outcomes"]) + _table("because", status["reasons"])
    lines += [f"  {'traps' if not n else '':<9}  {safe(_trap(trap))}" for n, trap in enumerate(status["traps"])]
    lines += [f"  parked     {safe(p['origin'])} until {moment(p['until'])}" for p in status["parked"][:10]]
    if len(status["parked"]) > 10:
        lines.append(f"             and {len(status['parked']) - 10} more")
    commands = next_commands(reason, folder, text)
    widest = max(len(command) for command, _ in commands)
    lines += ["", "Next:", *(f"  {command:<{widest}}  {why}" for command, why in commands)]
    return "\n".join(lines)


def _table(title: str, counts: dict[str, int]) -> list[str]:
    rows = [(safe(name), f"{n:,}") for name, n in _ranked(counts)]
    names = max((columns_of(name) for name, _ in rows), default=0)
    numbers = max((len(n) for _, n in rows), default=0)
    heads = [title] + [""] * len(rows)
    return [
        f"  {head:<9}  {name}{' ' * (names - columns_of(name))}  {n:>{numbers}}"
        for head, (name, n) in zip(heads, rows, strict=False)
    ]


def next_commands(reason: str, folder: str, text: str = "") -> list[tuple[str, str]]:
    """The three commands that make sense after an ending, each with what it does. `text` may name the limit reached."""
    limit = re.search(r"\b(max_(?:pages|bytes|time|depth)|site_(?:pages|hosts))\b", text)
    higher = f"--{limit[1].replace('_', '-') if limit else 'max-pages'} N"
    at = shlex.quote(safe(folder))
    on = f"nephila crawl -o {at}"
    status = (f"nephila status {at}", "where it stands")
    jsonl = (f"nephila export jsonl {at}", "one line per page, for other tools")
    return {
        "finished": [(f"nephila export mirror {at}", "files to browse offline"), jsonl, status],
        "limit": [(f"{on} {higher}", "go on with a higher limit"), jsonl, status],
        "interrupted": [(on, "carry on where it stopped"), status, jsonl],
        "parked": [(on, "carry on when the hosts may be asked again"), (f"nephila status {at}", "which hosts, and until when"), jsonl],
        "offline": [(on, "carry on when the network, or a proxy, is back"), status, jsonl],
        "no_seed": [(f"{on} --dry-run", "what each seed answers"), (f"{on} --retry UNREACHABLE,REFUSED,DENIED", "try the seeds again"), status],
        "disk": [(on, "carry on once there is room"), (f"{on} --min-free 100MB", "keep a smaller reserve"), status],
    }.get(reason, [(on, "carry on"), status, jsonl])  # fmt: skip


def kept(status: dict[str, Any]) -> int:
    """Pages that are in the archive as of now."""
    return sum(int(status["outcomes"].get(outcome, 0)) for outcome in KEPT)


def _ranked(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def found(answer: dict[str, Any], *, bold: bool) -> list[str]:
    """The answer of a search: what was found, best first, with the words that were asked for marked (`*word*` without `bold`)."""
    on, off = ("\x1b[1m", "\x1b[0m") if bold else ("*", "*")
    lines = list[str]()
    for number, hit in enumerate(answer["hits"], 1):
        facts = [hit["date"], hit["language"], amount(hit["size"]) if hit["size"] >= 0 and not hit["snippet"] else ""]
        lines += [
            f"{number}. {safe(hit['title'] or hit['name'] or hit['url'])}",
            f"   {safe(hit['url'])}",
            f"   {safe(' · '.join(fact for fact in facts if fact))}",
        ]
        if hit["snippet"]:
            lines.append(f"   {_marked(hit['snippet'], hit['marks'], on, off)}")
        lines.append("")
    many = _many(answer["count"], "document")
    return [*lines, f"{many} found in {answer['ms']:.0f} ms" if answer["count"] else "nothing found"]


def explained(answer: dict[str, Any]) -> list[str]:
    """The answer of `explain` as lines, not escaped yet: the sentence, the steps, what would change it."""
    lines = [answer["sentence"]]
    if answer["steps"]:
        lines += ["", *(f"  {step['name']:<8} {step['text']}" for step in answer["steps"])]
    if answer["would"]:
        lines += ["", *(f"  {would['sentence']}" for would in answer["would"])]
    return lines + _unasked(answer)


def refused(answer: dict[str, Any]) -> list[str]:
    """What was refused as lines, not escaped yet: by rule, how many, why, a few of them."""
    lines: list[str] = []
    for rule in answer["rules"]:
        counted = rule["count"] - rule["stored"]
        also = f", {counted:,} of them only counted" if counted else ""
        lines += [f"{rule['count']:>10,}  {rule['rule']}{also}", f"            {rule['sentence']}"]
        lines += [f"              {url}" for url in rule["examples"]]
    lines = lines or ["nothing was refused"]
    return lines + _unasked(answer)


def _unasked(answer: dict[str, Any]) -> list[str]:
    return ["", f"not known in time: {', '.join(answer['unknown'])}"] if answer["unknown"] else []


def _marked(text: str, marks: list[tuple[int, int]], on: str, off: str) -> str:
    parts, at = list[str](), 0
    for start, end in marks:
        parts += [safe(text[at:start]), on, safe(text[start:end]), off]
        at = end
    return "".join([*parts, safe(text[at:])])


def safe(text: str) -> str:
    """`text` with every character that a terminal would obey shown as an escape (`\\x1b`, `\\u202e`)."""
    return UNSAFE.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text)


def columns_of(text: str) -> int:
    """Terminal cells that `text` takes: wide East Asian characters two, combining and joining marks none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, columns: int) -> str:
    """`text` in at most `columns` cells, with … where something was cut off."""
    if columns_of(text) <= columns:
        return text
    used = 0
    for i, character in enumerate(text):
        used += _cells(character)
        if used > columns - 1:
            return text[:i] + "…"
    return text


PREVIEWED = {
    "back": "refused URLs would be queued",
    "gone": "queued ones would be refused",
    "near": "would be near enough",
    "far": "queued ones would be too deep",
}


def previewed(found: dict[str, Any]) -> list[str]:
    """What a change of the rules would do: a sentence, then examples."""
    least = "at least " if found["at_least"] else ""
    lines = [", ".join(f"{least}{found[key]:,} {text}" for key, text in PREVIEWED.items())]
    if found["counted"]:
        lines.append(
            f"{found['counted']:,} more were only counted: kept pages are read again for them, without a request"
        )
    lines += [f"  {key}: {url}" for key, urls in found["examples"].items() for url in urls]
    return lines
