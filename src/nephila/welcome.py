"""`nephila` alone: what lies in this folder, and the commands that fit.

It has to answer at once, so a job is asked for its state only, and of many jobs the last ones are shown.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from nephila.errors import NephilaError
from nephila.hints import jobs_in

JOBS_MAX = 3


def lines(place: Path) -> list[str]:
    """What to say in `place`; nothing when no job lies in or under it."""
    jobs = jobs_in(place)
    found = [line for folder in jobs[:JOBS_MAX] for line in [*_told(folder), ""]]
    if len(jobs) > JOBS_MAX:
        found += [f"{len(jobs) - JOBS_MAX} more crawls lie here.", ""]
    return [*found, "nephila --help shows all commands."] if found else []


def _told(folder: Path) -> list[str]:
    from nephila import job
    from nephila.display import next_commands, safe

    try:
        state = job.state(folder)
    except NephilaError as error:
        return [safe(f"{folder}  {error}")]
    at = shlex.quote(safe(str(folder)))
    steering = {
        "running": [(f"nephila status {at}", "where it stands"), (f"nephila pause {at}", "ask for no more pages"),
                    (f"nephila stop {at}", "end it so that it can be carried on")],
        "paused": [(f"nephila resume {at}", "go on"), (f"nephila status {at}", "where it stands")],
    }  # fmt: skip
    commands = steering.get(state) or next_commands(state, str(folder))
    commands = [*commands, (f"nephila serve {at}", "look at its pages in a browser")]
    widest = max(len(command) for command, _ in commands)
    return [f"{safe(str(folder))}  {state}", *(f"  {command:<{widest}}  {why}" for command, why in commands)]
