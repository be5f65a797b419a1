"""A web in memory, behind the same door as the real one: pages from a dict or a site function, trouble on demand, fake time.

It hands out real `Response` and `Failure` objects and keeps a log of who was asked when, so that manners can be asserted.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from nephila.clock import Clock
from nephila.testing import sites
from nephila.testing.sites import Answer, Site
from nephila.types import Body, Failure, Kind, Lease, Outcome, Response, Timings

PHRASES = {status.value: status.phrase for status in HTTPStatus}

Pages = Mapping[str, "Answer | bytes | str | list[Answer]"]


class Access(msgspec.Struct, frozen=True):
    """One request in the log. Times are the clock's; `in_flight` counts the host's requests, this one included."""

    url: str
    host: str
    start: float
    end: float
    in_flight: int
    status: int
    reason: str
    kind: Kind
    cookie: str


class FakeWeb:
    """`ports.Fetch` in memory. Unknown URLs are 404, so is robots.txt unless one is given.

    `pages`: URL → body, Answer, or a list of answers given one by one (the last for ever). `site`: asked for what `pages`
    does not know, on every host. `latency_s`: fake seconds per request.
    """

    def __init__(
        self, clock: Clock, pages: Pages | None = None, site: Site | None = None, latency_s: float = 0.05
    ) -> None:
        self._clock, self._site, self._latency_s = clock, site, latency_s
        self._answers: dict[str, list[Answer]] = {}
        self._asked: dict[str, int] = {}
        self._running: dict[str, int] = {}
        self._ips: dict[str, str] = {}
        self._outages: list[tuple[str, float, float, str]] = []
        self._born = clock.monotonic()
        self.log: list[Access] = []
        for url, answer in (pages or {}).items():
            self.answer(url, *(answer if isinstance(answer, list) else [answer]))

    async def __call__(self, lease: Lease) -> Response | Failure:
        """One request, one answer, after its latency."""
        url, start, wall = lease.request.url, self._clock.monotonic(), self._clock.wall()
        host = urlsplit(url).netloc
        self._running[host] = in_flight = self._running.get(host, 0) + 1
        status, reason = 0, "cancelled"
        try:
            answer = self._choose(url, host, lease)
            await self._wait(answer)
            came = self._come(url, host, answer, wall, self._clock.monotonic() - start, lease)
            status, reason = came.status, came.reason if isinstance(came, Failure) else ""
            return came
        finally:
            self._running[host] -= 1
            end = self._clock.monotonic()
            self.log.append(Access(url, host, start, end, in_flight, status, reason, lease.request.kind, lease.cookie))

    def _choose(self, url: str, host: str, lease: Lease) -> Answer:
        since = self._clock.monotonic() - self._born
        for where, from_s, to_s, reason in self._outages:
            if where in ("*", host) and from_s <= since < to_s:
                return Answer(failure=reason)
        n = self._asked[url] = self._asked.get(url, 0) + 1
        if given := self._answers.get(url):
            answer = given[min(n, len(given)) - 1]
        elif self._site:
            parts = urlsplit(url)
            answer = self._site(host, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), n)
        else:
            answer = sites.NOT_FOUND
        etag = dict(answer.headers).get("ETag", "")
        return Answer(b"", 304, headers=answer.headers) if etag and etag == lease.request.validators[0] else answer

    async def _wait(self, answer: Answer) -> None:
        if answer.silent:
            await asyncio.Event().wait()
        await asyncio.sleep(self._latency_s if answer.delay_s < 0 else answer.delay_s)

    def _come(self, url: str, host: str, answer: Answer, wall: float, took: float, lease: Lease) -> Response | Failure:
        ip = answer.ip or self._ips.setdefault(host, f"9.9.{len(self._ips) // 256}.{len(self._ips) % 256}")
        timings = Timings(0.0, 0.0, 0.0, 0.0, took, took)
        if answer.failure:
            return Failure(failed(answer.failure), answer.failure, "as told", wall, timings, ip)
        pairs = [("Content-Type", answer.media_type), ("Content-Length", str(len(answer.body))), *answer.headers]
        body = Body(answer.body)
        request = f"{lease.request.method} {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        return Response(
            url=url,
            status=answer.status,
            protocol="http/1.1",
            head=head(answer.status, pairs),
            headers=[(name.lower(), value) for name, value in pairs],
            body=body,
            payload=body,
            request_head=request,
            started=wall,
            timings=timings,
            ip=ip,
            truncated=answer.truncated,
        )

    # what the web is made of

    def answer(self, url: str, *answers: Answer | bytes | str) -> None:
        """What `url` answers, one by one; the last for ever."""
        plain = (a.encode() if isinstance(a, str) else a for a in answers)
        self._answers[url] = [Answer(a) if isinstance(a, bytes) else a for a in plain]

    def page(self, url: str, links: Iterable[str] = (), title: str = "", more: str = "") -> None:
        self.answer(url, sites.page(links, title, more))

    def redirect(self, url: str, to: str, status: int = 301) -> None:
        self.answer(url, sites.redirect(to, status))

    def robots(self, origin: str, text: str) -> None:
        """The robots.txt of `http://host[:port]`."""
        self.answer(origin + "/robots.txt", Answer(text.encode(), media_type="text/plain"))

    def fail(self, url: str, reason: str, times: int = 0) -> None:
        """`url` fails with `reason` the first `times` times (0: always), then answers what it answered before."""
        failure = Answer(failure=reason)
        after = self._answers.get(url, [sites.NOT_FOUND])
        self._answers[url] = [failure] * times + after if times else [failure]

    def down(self, host: str, from_s: float, to_s: float, reason: str = "connect.refused") -> None:
        """Every request to `host` (`*`: to all) fails between these fake seconds since the web was made."""
        self._outages.append((host, from_s, to_s, reason))

    # what was asked of it

    def times(self, url: str) -> int:
        """How often `url` was asked for."""
        return sum(access.url == url for access in self.log)

    def urls(self, host: str = "") -> list[str]:
        """Every URL asked for (of one host), in order of the answers."""
        return [access.url for access in self.log if host in ("", access.host)]

    def max_in_flight(self, host: str) -> int:
        return max((access.in_flight for access in self.log if access.host == host), default=0)

    def gaps(self, host: str) -> list[float]:
        """Seconds from the end of one request of a host to the start of its next (negative where they overlap)."""
        mine = sorted((a for a in self.log if a.host == host), key=lambda access: access.start)
        return [after.start - before.end for before, after in itertools.pairwise(mine)]


def failed(reason: str) -> Outcome:
    """The outcome that goes with a reason when there was no response."""
    if reason.startswith("private") or reason in ("blocked", "bad_port", "bad_scheme"):
        return Outcome.BLOCKED
    return Outcome.TOO_LARGE if reason == "too_large" else Outcome.UNREACHABLE


def head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Status line and header lines as sent, with the empty line."""
    lines = [f"HTTP/1.1 {status} {PHRASES.get(status, 'Unknown')}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
