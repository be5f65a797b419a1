"""Section A: bodies that are slow, endless, cut, mislabelled or packed, and answers that are not what HTTP says."""

from __future__ import annotations

from typing import Any

from nephila.testing.torture.cases import case, says
from nephila.testing.torture.server import Talk, answer

TRIES = 3

CUT: dict[str, Any] = {"reason": "truncated.disconnect", "attempts": TRIES}
"""Tried again, and what came kept in the end."""

# --- A4, A5: Content-Length is wrong ------------------------------------------------------------------------------------


@case("A4", "body-shorter", **CUT, body=b"half", requests=TRIES, quick=True)
async def _shorter(talk: Talk) -> None:
    await talk.say(answer(b"half", length=8))
    talk.hang_up()


@case("A5", "body-longer", body=b"five!", quick=True)
async def _longer(talk: Talk) -> None:
    await talk.say(answer(b"five!HTTP/1.1 200 OK\r\n\r\n", length=5))


# --- A24: nothing at all ------------------------------------------------------------------------------------------------

says("A24", "empty", answer(), body=b"", quick=True)
