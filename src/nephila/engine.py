"""The corridor: the life of one URL, from lease to settlement.

A number of connections do the same: take a lease, ask permission, fetch, judge, read, admit the links, keep, settle. All
waiting happens in `take`; *finished*, *stopped* and *limit reached* come out of it as None.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from xxhash import xxh3_64_intdigest

from nephila.ports import Fetch, Frontier, Keep, Read
from nephila.types import (
    COSTLY_MS,
    ERRANDS,
    LOGIN_REQUIRED,
    Failure,
    Found,
    Kind,
    Lease,
    Links,
    LoginForm,
    Outcome,
    Page,
    Request,
    Response,
    RobotsFile,
    Settlement,
    Visit,
)
from nephila.verdict import judge, max_age

HTML = ("text/html", "application/xhtml+xml")
SOFT = "trap:soft_404"
SLOW_MAX = 4_096
"""Origins with costly pages that a worker remembers."""


class Permission(Protocol):
    def learn(self, origin: str, robots: RobotsFile) -> None: ...
    def denial(self, origin: str, url: str) -> str: ...


class Admit(Protocol):
    def admit(self, links: Links, rule: str = "") -> Found: ...
    def admit_urls(self, pairs: list[tuple[str, Kind]]) -> Found: ...


class Logins(Protocol):
    def turned_away(self, visit: Visit) -> bool: ...
    def asks(self, lease: Lease, response: Response, content: bytes) -> bool: ...
    def form(self, lease: Lease, response: Response, content: bytes) -> LoginForm | None: ...


class Decode(Protocol):
    def __call__(self, response: Response, kind: Kind) -> tuple[bytes, str]:
        """(decoded content, what was wrong with it or "")."""
        ...


class Sketch(Protocol):
    def __call__(self, content: bytes, url: str) -> bytes:
        """Which texts stand on a page, packed."""
        ...


class Hooks:
    """What a program may do at each moment of a URL's life. All optional; one that raises never changes an outcome."""

    def on_request(self, lease: Lease) -> bool | None:
        """Before anything is sent. False refuses the request (SKIPPED `on_request`)."""

    def on_response(self, lease: Lease, response: Response) -> None:
        """A final answer came; nothing is decoded yet."""

    def on_page(self, lease: Lease, response: Response, page: Page) -> list[Any] | None:
        """A page was read. What it returns (JSON types) is stored with the visit; a `Request` among it is a link to
        follow (absolute URL), judged by the scope like any other."""
        return None

    def on_outcome(self, visit: Visit) -> None:
        """The visit is final and kept."""


class Engine:
    """Everything behind a door is given; the engine only knows the order of the steps."""

    def __init__(
        self,
        *,
        frontier: Frontier,
        permission: Permission,
        fetch: Fetch,
        decode: Decode,
        read: Read,
        read_robots: Read,
        admission: Admit,
        keep: Keep,
        fingerprint: Callable[[str], int],
        redirects_max: int,
        robots_redirects_max: int,
        ignore_nofollow: bool = False,
        release: Callable[[Response], None] = lambda response: None,
        slot: Callable[[int], None] = lambda lease: None,
        hooks: Hooks | None = None,
        logins: Logins | None = None,
        abroad: Callable[[Links], list[str]] | None = None,
        sketch: Sketch = lambda content, url: b"",
        on_close: Callable[[], Any] = lambda: None,
    ) -> None:
        self.frontier, self.permission, self.fetch, self.decode = frontier, permission, fetch, decode
        self.read, self.read_robots, self.admission, self.keep = read, read_robots, admission, keep
        self._fingerprint, self._redirects_max, self._robots_redirects_max = (
            fingerprint,
            redirects_max,
            robots_redirects_max,
        )
        self.ignore_nofollow, self._release, self._slot = ignore_nofollow, release, slot
        self._hooks, self._on_close, self._abroad = hooks, on_close, abroad
        self._sketch, self._logins = sketch, logins
        self.effort = Effort()

    async def run(self, connections: int) -> None:
        async with asyncio.TaskGroup() as crew:
            for _ in range(connections):
                crew.create_task(self._work())

    async def _work(self) -> None:
        while lease := await self.frontier.take():  # None: drained, stopped or out of budget
            await self._live(lease)

    async def _live(self, lease: Lease) -> None:
        """The life of one URL. A function of its own, so that page and tree are gone before the next lease is waited for."""
        visit = await self._visit(lease)  # trouble out there becomes an Outcome
        visit = self._keep(visit)  # in the archive before the frontier forgets it
        done = settlement(visit, 0 if self._hooks else self.effort.ms(visit.lease.origin))
        await self.frontier.settle(done)  # its batch commits outcome + links + clock together
        if visit.response is not None:
            self._release(visit.response)

    async def close(self) -> None:
        closing = self._on_close()
        if closing is not None:
            await closing

    async def _visit(self, lease: Lease) -> Visit:
        self.effort.begin(lease.origin)
        if denial := self._denial(lease):
            return denial
        answer = await self.fetch(lease)
        self.effort.begin(lease.origin)
        if isinstance(answer, Failure):
            return Visit(lease, answer.outcome, answer.reason, failure=answer)
        visit = self._judged(lease, answer)
        if lease.gate is not None and self._at_the_gate(visit):
            return _turned_away(visit)
        return visit if visit.retryable else self._read(visit)

    def _at_the_gate(self, visit: Visit) -> bool:
        """A page, and no login, met the login."""
        login = visit.lease.request.kind is Kind.LOGIN
        return self._logins is not None and not login and self._logins.turned_away(visit)

    def _denial(self, lease: Lease) -> Visit | None:
        """Permission of the site, then of the program's hook. A login is the user's own errand."""
        if lease.robots is not None:
            self.permission.learn(lease.origin, lease.robots)
        if lease.request.kind in ERRANDS:
            return None
        if reason := self.permission.denial(lease.origin, lease.request.url):
            return Visit(lease, Outcome.DENIED, reason)
        if self._hooks is not None and self._hooked(lease, self._hooks.on_request, lease)[0] is False:
            return Visit(lease, Outcome.SKIPPED, "on_request")
        return None

    def _judged(self, lease: Lease, response: Response) -> Visit:
        outcome, reason, target = judge(
            lease,
            response,
            self._fingerprint,
            hops_max=self._redirects_max,
            robots_hops_max=self._robots_redirects_max,
        )
        return Visit(lease, outcome, reason, response=response, moved_to=target)

    def _read(self, visit: Visit) -> Visit:
        """Bytes become meaning, links become what the front needs. The slot says whose page it is, should we die of it."""
        lease, response = visit.lease, visit.response
        assert response is not None
        if lease.request.kind is Kind.PROBE and not lease.unread:
            return self._slotted(visit, response, self._probed)
        if visit.outcome is Outcome.MOVED:
            moved = [] if lease.request.kind in ERRANDS else [(visit.moved_to, Kind.REDIRECT)]
            return msgspec.structs.replace(visit, found=self.admission.admit_urls(moved))
        if lease.unread:
            return msgspec.structs.replace(visit, outcome=Outcome.UNREADABLE, reason=lease.unread)
        if lease.request.kind is not Kind.ROBOTS and visit.outcome is not Outcome.OK:
            return visit
        return self._slotted(visit, response, self._understood)

    def _slotted(self, visit: Visit, response: Response, read: Callable[[Visit, Response], Visit]) -> Visit:
        self._slot(visit.lease.id)
        try:
            return read(visit, response)
        finally:
            self._slot(0)

    def _understood(self, visit: Visit, response: Response) -> Visit:
        lease, errors = visit.lease, visit.errors
        if lease.request.kind is Kind.LOGIN and self._logins is not None:
            page = Page(login=self._logins.form(lease, response, self.decode(response, lease.request.kind)[0]))
            return msgspec.structs.replace(visit, page=page)
        content, problem = self.decode(response, lease.request.kind)
        if problem == "decode" and lease.attempt == 1 and not (lease.last or response.truncated):
            return msgspec.structs.replace(
                visit, outcome=Outcome.UNREADABLE, reason="damaged"
            )  # once more, uncompressed
        if self._hooks is not None:
            errors = errors + self._hooked(lease, self._hooks.on_response, lease, response)[1]
        if problem and not content and visit.outcome is Outcome.OK:
            return msgspec.structs.replace(visit, outcome=Outcome.UNREADABLE, reason=problem)
        if lease.gate is not None and self._logins is not None and self._logins.asks(lease, response, content):
            return _turned_away(visit)
        page = (self.read_robots if lease.request.kind is Kind.ROBOTS else self.read)(lease, response, content)
        if problem in ("decode", "bomb") and not response.truncated:
            response = msgspec.structs.replace(response, truncated="decode")
        if self._hooks is not None:
            items, failed = self._hooked(lease, self._hooks.on_page, lease, response, page)
            page, errors = msgspec.structs.replace(page, items=items or []), errors + failed
        if (lease.sketch or lease.soft) and page.media_type in HTML:
            visit = self._compared(visit, content)
        found = self._admitted(page, unfollowed(page, visit.reason, self.ignore_nofollow))
        reason = visit.reason or (page.flaw if visit.outcome is Outcome.OK else "")
        return msgspec.structs.replace(visit, reason=reason, response=response, page=page, found=found, errors=errors)

    def _compared(self, visit: Visit, content: bytes) -> Visit:
        """The page says what the host says for names that nobody has: then it was not found, whatever its status."""
        lease = visit.lease
        texts = self._sketch(content, lease.request.url)
        soft = bool(texts) and not visit.reason and xxh3_64_intdigest(texts) in lease.soft
        return msgspec.structs.replace(
            visit, sketch=texts if lease.sketch else b"", reason="soft_404" if soft else visit.reason
        )

    def _probed(self, visit: Visit, response: Response) -> Visit:
        """An answer for a name that nobody has is no page, whatever it is."""
        content = self.decode(response, visit.lease.request.kind)[0] if visit.outcome is Outcome.OK else b""
        texts = self._sketch(content, visit.lease.request.url)
        return msgspec.structs.replace(visit, outcome=Outcome.SKIPPED, reason="probe", sketch=texts)

    def _admitted(self, page: Page, rule: str) -> Found:
        """The page's links, and those that a hook asked for (requests among its items). `rule`: why they are not followed."""
        found = Found()
        if page.links is not None:
            found = self.admission.admit(page.links, rule)
        asked = [(item.url, item.kind) for item in page.items if isinstance(item, Request)]
        if asked:
            more = self.admission.admit_urls(asked)
            cut, more_cut = found.flat * 8, more.flat * 8
            flat = found.edges[:cut] + more.edges[:more_cut]
            edges = flat + found.edges[cut:] + more.edges[more_cut:]
            found = Found(edges, len(flat) // 8, found.new + more.new, epoch=more.epoch)
        if self._abroad is not None and page.links is not None and "nofollow" not in page.robots:
            found = msgspec.structs.replace(found, sites=self._abroad(page.links))
        return found

    def _keep(self, visit: Visit) -> Visit:
        kept = msgspec.structs.replace(visit, record=self.keep(visit))
        if self._hooks is not None and not kept.retryable and kept.lease.request.kind is not Kind.LOGIN:
            failed = self._hooked(kept.lease, self._hooks.on_outcome, kept)[1]
            kept = msgspec.structs.replace(kept, errors=kept.errors + failed)
        return kept

    def _hooked(self, lease: Lease, hook: Callable[..., Any], *values: Any) -> tuple[Any, list[str]]:
        """A hook's answer; what it raises is written down and changes nothing."""
        try:
            return hook(*values), []
        except Exception as error:
            return None, [f"{type(error).__name__}: {error}"]


def unfollowed(page: Page, reason: str, ignore_nofollow: bool) -> str:
    """The rule by which no link of a page is followed, or "". `reason`: of its visit."""
    if reason == "soft_404":
        return SOFT
    return "nofollow" if "nofollow" in page.robots and not ignore_nofollow else ""


def _turned_away(visit: Visit) -> Visit:
    return msgspec.structs.replace(visit, outcome=Outcome.REFUSED, reason=LOGIN_REQUIRED, moved_to="")


class Effort:
    """What pages take of the processor. Nothing is awaited between an answer and its settlement, so that one pair of clocks does
    for all connections. The processor's own is a system call, and asked only about origins whose last page took long; that page
    may have waited for the processor, and counts for nothing. A program's hooks are its own affair, and not the site's."""

    def __init__(self) -> None:
        self.passed_s: Callable[[], float] = time.perf_counter
        self.worked_s: Callable[[], float] = time.thread_time
        self._clock, self._begun_s = self.passed_s, 0.0
        self._slow: set[str] = set()

    def begin(self, origin: str) -> None:
        self._clock = self.worked_s if origin in self._slow else self.passed_s
        self._begun_s = self._clock()

    def ms(self, origin: str) -> int:
        took_ms = int(1000 * (self._clock() - self._begun_s))
        if took_ms <= COSTLY_MS:
            self._slow.discard(origin)
            return took_ms
        if len(self._slow) >= SLOW_MAX:
            self._slow.pop()
        self._slow.add(origin)
        return took_ms if self._clock is self.worked_s else 0


def settlement(visit: Visit, cost_ms: int = 0) -> Settlement:
    """The flat form of a visit, for the frontier. `cost_ms`: processor time that it took here."""
    response, failure, page = visit.response, visit.failure, visit.page
    if response is None and failure is None:
        return Settlement(visit.lease.id, visit.outcome, visit.reason, errors=visit.errors, cost_ms=cost_ms)
    if response is None:
        assert failure is not None
        return Settlement(
            visit.lease.id,
            visit.outcome,
            visit.reason,
            requested=visit.outcome is not Outcome.BLOCKED,
            started=failure.started,
            ms=round(failure.timings.total * 1000),
            status=failure.status,
            ip=failure.ip,
            errors=visit.errors,
            cost_ms=cost_ms,
        )
    timings = response.timings
    media_type = page.media_type if page else response.header("content-type").partition(";")[0].strip().lower()
    return Settlement(
        visit.lease.id,
        visit.outcome,
        visit.reason,
        True,
        response.started,
        round(timings.total * 1000),
        max(timings.first_byte - max(timings.sent, timings.connect), 0.0),
        response.status,
        response.protocol,
        response.ip,
        media_type,
        page.charset if page else "",
        response.payload.size,
        response.truncated,
        visit.moved_to,
        page.title if page else "",
        page.language if page else "",
        visit.found,
        visit.record,
        response.header("retry-after") if response.status in (429, 503) else "",
        response.header_all("set-cookie"),
        page.robots_file if page else None,
        max_age(response) if page and page.robots_file else 0.0,
        visit.lease.access,
        items=[item for item in page.items if not isinstance(item, Request)] if page else [],
        errors=visit.errors,
        sketch=visit.sketch,
        cost_ms=cost_ms,
        login=page.login if page else None,
    )
