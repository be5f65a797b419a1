"""Section D: hosts that ask for silence, fail, die, come back, or are slow."""

from __future__ import annotations

import time
from email.utils import formatdate
from itertools import pairwise
from typing import Any

from nephila.testing.torture.cases import case, says
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk, answer, html

TRIES = 3
WAITING: dict[str, Any] = {"settings": {"retry_wait_s": 0.4, "retry_wait_max_s": 3.0, "retry_after_max_s": 10.0}}
"""Our own wait before the second try is 0.2 to 0.6 s."""
OWN_S = 0.2


def refusal(status: int = 429, retry_after: str = "") -> bytes:
    return answer(b"later", *([f"Retry-After: {retry_after}"] if retry_after else []), status=f"{status} Later")


def _silent(seconds: float) -> Any:
    """Nobody of the host was asked anything for so long after the first refusal."""

    def check(seen: Observed) -> list[str]:
        times = [hit.time for hit in seen.place.hits]
        refused = next(talk for talk in seen.place.talks if talk.path == "/a")
        at = next(hit.time for hit in seen.place.hits if hit.path == refused.path)
        after = [moment - at for moment in times if moment > at]
        return (
            []
            if min(after, default=seconds) >= seconds - 0.05
            else [f"asked again {min(after):.2f} s after the refusal"]
        )

    return check


@case("D1", "seconds", also={"/a": "OK", "/b": "OK"}, check=_silent(1.0), **WAITING)
@case("D1", "seconds-with-503", also={"/a": "OK", "/b": "OK"}, check=_silent(1.0), **WAITING)
@case("D1", "fraction", also={"/a": "OK", "/b": "OK"}, check=_silent(2.0), **WAITING)
@case("D1", "date", also={"/a": "OK", "/b": "OK"}, check=_silent(1.0), **WAITING)
@case("D1", "date-in-the-past", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
@case("D1", "below-zero", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
@case("D1", "zero", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
@case("D1", "nonsense", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
@case("D1", "nothing-said", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
@case("D1", "longer-than-we-wait", also={"/a": "queued", "/b": "queued"}, check=_silent(9.0), exits=4, **WAITING)
@case("D1", "for-ever", also={"/a": "queued", "/b": "queued"}, check=_silent(9.0), exits=4, **WAITING)
@case("D1", "too-many-digits", also={"/a": "OK", "/b": "OK"}, check=_silent(OWN_S), **WAITING)
async def _silence(talk: Talk) -> None:
    """The first request for /a is refused; /b is a page of the same host."""
    if talk.path == "/":
        return await talk.say(html("/a", "/b"))
    if talk.path == "/b" or talk.n > 1:
        return await talk.say(answer(b"there"))
    name = talk.place.case.name
    said = {
        "seconds": "1",
        "seconds-with-503": "1",
        "fraction": "1.5",
        "date": formatdate(time.time() + 2.5, usegmt=True),
        "date-in-the-past": formatdate(time.time() - 3600, usegmt=True),
        "below-zero": "-5",
        "zero": "0",
        "nonsense": "soon",
        "nothing-said": "",
        "longer-than-we-wait": "11",
        "for-ever": "1000000000000",
        "too-many-digits": "9" * 40,
    }
    await talk.say(refusal(503 if name.endswith("503") else 429, said[name]))


REFUSALS_MAX = 5


def _slower(seen: Observed) -> list[str]:
    """Each wait is longer than a third of what doubling would give, and the host is left alone in the end."""
    times = [hit.time for hit in seen.place.hits if hit.path not in ("/", "/robots.txt")]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    found = [] if len(times) == REFUSALS_MAX else [f"asked {len(times)} times, not {REFUSALS_MAX}"]
    short = [f"wait {n} is {gap:.2f} s" for n, gap in enumerate(gaps) if gap < 0.05 * 2**n]
    waits = {row[0] for row in seen.query("SELECT parked_until > 0 FROM host WHERE origin = ?", seen.place.url(""))}
    return found + short + ([] if waits == {1} else ["the host is not parked"])


@case(
    "D2",
    "everything",
    check=_slower,
    exits=4,
    settings={"retry_wait_s": 0.1, "retry_wait_max_s": 5.0, "host_refusals_max": REFUSALS_MAX, "tries": 9},
)
async def _refuses_all(talk: Talk) -> None:
    await talk.say(html(*(f"/{n}" for n in range(60))) if talk.path == "/" else refusal())


@case("D3", "twice", attempts=3, requests=3, body=b"there", visit={"status": 200}, quick=True)
async def _twice(talk: Talk) -> None:
    await talk.say(refusal(503) if talk.n < 3 else answer(b"there"))


# --- D4: final, or worth another try ------------------------------------------------------------------------------------

for _status in (400, 401, 403, 404, 405, 407, 410, 418, 451, 501, 505, 599, 600, 999):
    says(
        "D4",
        f"{_status}",
        answer(b"no", status=f"{_status} No"),
        outcome="REFUSED",
        reason=f"status.{_status}",
        attempts=1,
        requests=1,
    )
for _status in (408, 425, 429, 500, 502, 503, 504):
    _often: dict[str, Any] = {"outcome": "REFUSED", "reason": f"status.{_status}", "attempts": TRIES, "requests": TRIES}
    says("D4", f"{_status}-that-stays", answer(b"no", status=f"{_status} No"), **_often)


@case("D4", "flapping", also={f"/{n}": "OK" for n in range(9)})
async def _flapping(talk: Talk) -> None:
    """Every other answer is a failure of another kind."""
    if talk.path == "/":
        return await talk.say(html(*(f"/{n}" for n in range(9))))
    status = (500, 502, 504)[len(talk.path + str(talk.n)) % 3]
    await talk.say(answer(b"there") if talk.n > 1 else answer(status=f"{status} Oops"))


@case("D4", "wants-credentials", outcome="REFUSED", reason="status.401", requests=1)
async def _unauthorised(talk: Talk) -> None:
    await talk.say(answer(b"who?", 'WWW-Authenticate: Basic realm="x", Negotiate, Digest nonce="1"', status="401 Who"))


# --- D5 to D7: hosts that are not there, or slow ------------------------------------------------------------------------


@case("D5", "silent-for-a-while", also={f"/{n}": "OK" for n in range(1, 6)}, attempts=1)
async def _away(talk: Talk) -> None:
    """Behind its first page the host says nothing to three requests, then is back."""
    if talk.path == "/":
        return await talk.say(html(*(f"/{n}" for n in range(1, 6))))
    if sum(1 for hit in talk.place.hits if hit.path not in ("/", "/robots.txt")) <= 2:
        return await talk.sleep(60)
    await talk.say(answer(b"there"))


DEAD_URLS = 2000


def _dead(host: str, reasons: set[str]) -> Any:
    def check(seen: Observed) -> list[str]:
        rows = seen.query(
            "SELECT outcome, reason, count(*) FROM visit JOIN url u ON u.id = visit.url WHERE u.url GLOB ? GROUP BY 1, 2",
            f"{host}/*",
        )
        total = sum(row[2] for row in rows if row[0] == "UNREACHABLE")
        tried = seen.query(
            "SELECT count(*) FROM attempt JOIN url u ON u.id = attempt.url WHERE u.url GLOB ?", f"{host}/*"
        )[0][0]
        found = [] if total >= DEAD_URLS and {row[1] for row in rows} <= reasons else [f"{host}: {rows}"]
        return found + ([f"{tried} requests were tried again"] if tried > 8 else [])

    return check


@case("D6", "refused", check=_dead("http://127.99.0.1:1", {"host_unreachable", "connect.refused"}), links=DEAD_URLS)
async def _links_to_the_dead(talk: Talk) -> None:
    await talk.say(html(*(f"http://127.99.0.1:1/{n}" for n in range(DEAD_URLS))))


def _alone(seen: Observed) -> list[str]:
    """The quick host is through before the slow one has given three pages."""
    slow, quick = seen.place.addresses
    third = [hit.time for hit in seen.place.hits if hit.address == slow and hit.path != "/robots.txt"][2]
    last = [hit.time for hit in seen.place.hits if hit.address == quick][-1]
    return [] if last < third else [f"the quick host was held up for {last - third:.2f} s"]


@case("D7", "slow-among-quick", hosts=2, also={f"/{n}": "OK" for n in range(5)}, check=_alone)
async def _slow(talk: Talk) -> None:
    if talk.host == 1:
        return await talk.say(html(*(f"/{n}" for n in range(40))))
    await talk.sleep(0.8)
    await talk.say(html(talk.url("/", 1), *(f"/{n}" for n in range(5))))
