"""What the front desk prints: nothing that a terminal obeys, and no trouble when nobody reads it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

BUG, USAGE, INTERRUPTED, DISK = 1, 2, 4, 6
"""Exit codes of commands (docs/commands.md); how a crawl ended has its own in `plan`."""


def soften(*streams: Any) -> None:
    """An address that the terminal's encoding lacks is shown escaped; it must not end a crawl."""
    for stream in streams:
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")


def put(text: str, end: str = "\n") -> None:
    """Print to standard output; whoever read it may have left (`| head`), and that is no trouble."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        hush()


def put_json(value: Any) -> None:
    """One object; what a terminal would obey is escaped as JSON escapes it."""
    import json

    put(json.dumps(value, ensure_ascii=True, indent=2, default=str).replace("\x7f", "\\u007f"))


def conclude(as_json: bool, value: dict[str, Any], lines: Iterable[str], code: int = 0) -> int:
    """What a command says at its end: `value` and the exit code as one JSON object, or `lines`. Returns the code."""
    if as_json:
        put_json(value | {"exit_code": code})
        return code
    from nephila.display import safe

    for line in lines:
        put(safe(line))
    return code


def fail(what: object, code: int, as_json: bool = False) -> int:
    """Why nothing came of a command: a sentence on standard error, or with --json an object on standard output."""
    return conclude(True, {"error": str(what)}, (), code) if as_json else say(what, code)


def hush() -> None:
    """Nobody reads standard output: send the rest nowhere, or the interpreter complains when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(what: object, code: int) -> int:
    from nephila.display import safe

    with suppress(OSError, ValueError):
        print(f"nephila: {safe(str(what))}", file=sys.stderr, flush=True)
    return code


def bug(error: Exception, code: int, as_json: bool = False) -> int:
    """A traceback holds addresses, so it is escaped like everything else that may come from the web."""
    import traceback

    from nephila.display import safe

    with suppress(OSError, ValueError):
        for line in "".join(traceback.format_exception(error)).splitlines():
            print(safe(line), file=sys.stderr)
    sentence = "this is a bug in Nephila, please report it with the lines above; the same command carries on"
    return fail(sentence, code, as_json)
