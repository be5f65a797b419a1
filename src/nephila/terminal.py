"""What the front desk prints: nothing that a terminal obeys, and no trouble when nobody reads it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


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
    import json

    put(json.dumps(value, ensure_ascii=True, indent=2))


def hush() -> None:
    """Nobody reads standard output: send the rest nowhere, or the interpreter complains when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(what: object, code: int) -> int:
    from nephila.display import safe

    with suppress(OSError, ValueError):
        print(f"nephila: {safe(str(what))}", file=sys.stderr, flush=True)
    return code


def bug(error: Exception, code: int) -> int:
    """A traceback holds addresses, so it is escaped like everything else that may come from the web."""
    import traceback

    from nephila.display import safe

    with suppress(OSError, ValueError):
        for line in "".join(traceback.format_exception(error)).splitlines():
            print(safe(line), file=sys.stderr)
    return say("this is a bug in Nephila, please report it with the lines above; the same command carries on", code)
