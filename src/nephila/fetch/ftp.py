"""FTP through the door: an `ftp://` URL is a file, or, with a slash at its end, the listing of a folder.

Not libcurl's: its FTP waits for the last reply of every transfer, and for the goodbye of every connection, while nothing else
of the process moves: up to a minute for a server that keeps silent (docs/decisions/0034). So the few commands that a crawl
needs are spoken here, on the event loop; names, guard, budget of memory and rate are the client's.

A name without a slash may be a folder all the same: that is found out when the server has no such file, and the visit ends as
MOVED to the name with the slash, as a web server would say it. So do the folders that list what a folder above them lists:
a tree that contains itself, through links that the server follows silently, would have no end.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from nephila import credentials
from nephila.clock import Clock
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.fetch.budget import Budget, Store
from nephila.fetch.control import ANONYMOUS, Control, Reply, Trouble, trouble
from nephila.fetch.target import UNSAFE, Target
from nephila.fetch.wanted import Wanted
from nephila.page import listing, media
from nephila.types import Failure, Kind, Lease, Outcome, Response, Timings
from nephila.url.guard import Guard
from nephila.url.parse import origin, path_of

KEPT_MAX = 64
"""Sessions kept open for the next file, and for how long: a server has few places, and somebody waits for them."""
KEPT_S = 30.0
LISTINGS_MAX = 16_384
"""Folders whose listing is remembered, to tell a tree that contains itself."""
PIECE = 64 << 10
PAUSE_S = 0.02
REFUSED = frozenset({"ftp_login", "ftp_not_found", "ftp_refused", "ftp_busy"})
"""What the server said no to; all else is trouble on the way."""
MENDABLE = frozenset({"conn_reset", "empty_reply", "ftp_data", "timeout.headers"})
"""Faults that can strike in the middle of a body: what came before is worth keeping when no try is left."""


class Place(NamedTuple):
    """What a URL names on its server, as bytes to be said. `name` is b"" for the folder itself."""

    folder: tuple[bytes, ...]
    name: bytes
    asked_as_folder: bool


def place_of(url: str) -> Place:
    """RFC 1738 section 3.2.2, but for the type: bytes are always fetched as they lie there. Raises ValueError for a path that
    cannot be said in one line, or whose meaning is in doubt (`%2F`)."""
    path = path_of(url)
    path, _, kind = path.partition(";type=")
    if kind.lower() not in ("", "a", "i", "d"):
        path = path_of(url)
    steps = [unquote_to_bytes(step) for step in path.split("/")[1:]]
    for step in steps:
        if b"/" in step or step in (b".", b"..") or any(byte < 0x20 or byte == 0x7F for byte in step):
            raise ValueError("an FTP path with %2F, dots or a control character in a name")
    *folder, name = steps
    return Place(tuple(step for step in folder if step), name, kind.lower() == "d")


class Ftp:
    """The FTP side of one `Client`."""

    def __init__(self, config: Config, clock: Clock, guard: Guard, budget: Budget, wanted: Wanted | None) -> None:
        self.config, self.clock, self.guard, self.budget = config, clock, guard, budget
        self._wanted = wanted
        self._kept: OrderedDict[Control, tuple[str, asyncio.TimerHandle]] = OrderedDict()
        self._listed: OrderedDict[tuple[str, bytes], str] = OrderedDict()
        self._members = _members(config)
        if UNSAFE.search(config.contact):
            raise ConfigError("contact: must be one line")

    def credentials(self, url: str) -> tuple[str, str]:
        """(user, password) for the server of a URL: what was given for its origin, else nobody in particular, who is asked for an
        address of ours as the password (RFC 1635)."""
        return self._members.get(origin(url)) or (ANONYMOUS, self.config.contact or "nephila@")

    async def __call__(
        self, lease: Lease, target: Target, addresses: Sequence[str], started: float, dns: float
    ) -> Response | Failure:
        """One answer; what goes wrong out there is a Failure. Raises OSError when a body finds no room on the disk."""
        url = lease.request.url
        try:
            place = place_of(url)
        except ValueError as error:
            return Failure(Outcome.BLOCKED, "unsafe_request", str(error), started)
        if self._wanted and (reason := self._wanted(lease, _headers(place))):
            return Failure(Outcome.SKIPPED, reason, "", started)
        visit = _Visit(self, lease, target, addresses, place)
        try:
            found = await visit.run()
        except Trouble as error:
            visit.body.drop()
            return _failure(error, started, visit.timings(dns), visit.ip)
        except BaseException:
            visit.body.drop()
            raise
        body = visit.body.body()
        response = Response(
            url,
            found.status,
            "ftp",
            visit.said,
            found.headers,
            body,
            body,
            b"",
            started,
            visit.timings(dns),
            visit.ip,
            found.cut,
        )
        self.budget.hold(response, visit.body.memory)
        return response

    def take(self, server: str) -> Control | None:
        """A session of this server that waits for work."""
        for control, (place, timer) in reversed(self._kept.items()):
            if place == server:
                del self._kept[control]
                timer.cancel()
                return control
        return None

    def keep(self, server: str, control: Control) -> None:
        """It may be of use for the next file."""
        timer = asyncio.get_running_loop().call_later(KEPT_S, self._leave, control)
        self._kept[control] = server, timer
        if len(self._kept) > KEPT_MAX:
            self._leave(next(iter(self._kept)))

    def folder_above(self, url: str, body: Store) -> str:
        """The folder above `url` that lists the very same, "" when there is none; this listing is remembered."""
        digest = blake2b(digest_size=16)
        for block in body.body().blocks():
            digest.update(block)
        key = origin(url), digest.digest()
        known = self._listed.get(key, url)
        if known != url and url.startswith(known):
            return known
        self._listed[key] = url
        if len(self._listed) > LISTINGS_MAX:
            self._listed.popitem(last=False)
        return ""

    def close(self) -> None:
        """End what waits."""
        for control in list(self._kept):
            self._leave(control)

    def _leave(self, control: Control) -> None:
        self._kept.pop(control)[1].cancel()
        control.leave()


def _members(config: Config) -> dict[str, tuple[str, str]]:
    """Origin → user and password, of those given by `--auth` or in a seed."""
    found = {}
    for place, some in credentials.by_origin(config).items():
        for one in some:
            if place.startswith("ftp:"):
                if UNSAFE.search(one.user + one.secret):
                    raise ConfigError(f"auth: {place}: user and password must be one line each")
                found[place] = one.user, one.secret
    return found


class _Found(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    cut: str = ""


class _Visit:
    """One URL asked for: its session, and what has come."""

    def __init__(self, ftp: Ftp, lease: Lease, target: Target, addresses: Sequence[str], place: Place) -> None:
        self._ftp, self._lease, self._target, self._addresses, self._place = ftp, lease, target, addresses, place
        self._config = ftp.config
        self.body = Store(ftp.budget)
        self.said, self.ip = b"", ""
        self._begun = ftp.clock.monotonic()
        self._connected = self._sent = self._first = 0.0
        self._go = asyncio.Event()

    async def run(self) -> _Found:
        """Raises Trouble. A session that was kept may have ended meanwhile: then another one is begun, once."""
        control = self._ftp.take(self._target.origin)
        if control is not None and not control.gone:
            try:
                return await self._over(control)
            except Trouble as error:
                stale = error.reason in ("conn_reset", "empty_reply") or error.code == 421
                if not stale or self.body.size:
                    raise
        return await self._over(await self._session())

    def timings(self, dns: float) -> Timings:
        total = self._ftp.clock.monotonic() - self._begun
        connected, sent, first = (t and dns + t for t in (self._connected, self._sent, self._first))
        return Timings(dns, connected, 0.0, sent, first, dns + total)

    async def _session(self) -> Control:
        target, guard = self._target, self._ftp.guard

        def refusal(address: str) -> str:
            return guard.refusal(target.host, target.port, address)

        control = await Control.opened(self._config, refusal, self._addresses, target.port)
        self.ip, self._connected = control.address, self._now()
        try:
            await control.login(*self._ftp.credentials(self._lease.request.url))
        except BaseException:
            control.drop()
            raise
        return control

    async def _over(self, control: Control) -> _Found:
        """Do it over this session, which is kept unless something is amiss with it."""
        self.ip, sound = control.address, False
        try:
            found = await (self._file(control) if self._place.name else self._listing(control))
            sound = not found.cut
            return found
        except Trouble as error:
            sound = error.reason in ("ftp_not_found", "ftp_refused")
            if error.reason == "ftp_not_found":
                return _Found(error.code, [])
            raise
        finally:
            self.said = control.take_said()
            if sound:
                self._ftp.keep(self._target.origin, control)
            else:
                control.drop()

    async def _file(self, control: Control) -> _Found:
        folder, name, as_folder = self._place
        _check(await control.enter(folder))
        try:
            if not as_folder:
                return await self._received(control, b"RETR " + name)
        except Trouble as error:
            if error.reason not in ("ftp_not_found", "ftp_refused") or self._lease.request.kind is Kind.ROBOTS:
                raise
            missing = error
        else:
            missing = Trouble("ftp_not_found", "no such folder", 550)
        reply = await control.enter((*folder, name))
        if reply is None or reply.code >= 300:
            raise missing
        path = path_of(self._lease.request.url).partition(";type=")[0].replace("?", "%3F")
        return _Found(reply.code, [("location", f"{path}/")])

    async def _listing(self, control: Control) -> _Found:
        _check(await control.enter(self._place.folder))
        try:
            found = await self._list(control)
        except Trouble as error:
            if not _NO_FILES.search(error.detail):
                raise
            found = _Found(error.code if error.code < 400 else 226, _headers(self._place))
        url = self._lease.request.url
        if self.body.size and not found.cut and (above := self._ftp.folder_above(url, self.body)):
            self.body.drop()
            return _Found(found.status, [("location", above)])
        return found

    async def _list(self, control: Control) -> _Found:
        """MLSD where the server knows it, else LIST; that, too, where MLSD names symbolic links without saying where they lead."""
        if await control.has(b"MLS"):
            try:
                found = await self._received(control, b"MLSD")
                if found.cut or not _UNTOLD.search(self.body.body().head(self._config.page_bytes_max)):
                    return found
                self.body.drop()
            except Trouble as error:
                if error.code not in (500, 501, 502, 504):
                    raise
        return await self._received(control, b"LIST")

    async def _received(self, control: Control, command: bytes) -> _Found:
        """Ask for data and take it. Of a body that breaks off, what came is kept when no try is left."""
        reply, (reader, writer) = await control.fetch(command, binary=command.startswith(b"RETR"))
        self._sent, status, headers = self._now(), reply.code, _headers(self._place)
        try:
            if cut := await self._take(reader):
                return _Found(status, headers, cut)
            writer.close()  # some servers say that they are done when both ends are
            closing = await control.closed()
            if closing.code >= 300:
                raise trouble(closing)
            return _Found(closing.code, headers)
        except Trouble as error:
            if self.body.size and error.reason == "timeout.body":
                return _Found(status, headers, "time")
            if self.body.size and self._lease.last and error.reason in MENDABLE:
                return _Found(status, headers, "disconnect")
            raise
        finally:
            writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader) -> str:
        """The body as it comes, within its limits; "length" when it is cut. Raises Trouble."""
        config, clock = self._config, self._ftp.clock
        mark, size = clock.monotonic(), 0
        try:
            async with asyncio.timeout(config.body_timeout_s):
                while data := await self._piece(reader):
                    self._first = self._first or self._now()
                    if await self._waited(len(data)):
                        mark, size = clock.monotonic(), self.body.size
                    room = config.body_bytes_max - self.body.size
                    self._ftp.budget.came(len(data))
                    self.body.add(data[:room])
                    if len(data) > room:
                        return "length"
                    passed = clock.monotonic() - mark
                    if passed >= config.low_speed_s:
                        if self.body.size - size < config.low_speed_bytes * passed:
                            raise TimeoutError
                        mark, size = clock.monotonic(), self.body.size
        except TimeoutError:
            raise Trouble("timeout.body") from None
        return ""

    async def _piece(self, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self._config.low_speed_s):
                return await reader.read(PIECE)
        except TimeoutError:
            raise
        except OSError as error:
            raise Trouble("conn_reset", str(error)) from None

    async def _waited(self, size: int) -> bool:
        """Wait until `size` more bytes may be taken; whether that was necessary."""
        waited = False
        while self._ftp.budget.must_wait(size):
            waited = True
            self._go.clear()
            self._ftp.budget.paused.add(self)
            with suppress(TimeoutError):  # a rate has nobody who says when it allows more
                await asyncio.wait_for(self._go.wait(), PAUSE_S)
        self._ftp.budget.paused.discard(self)
        return waited

    def resume(self) -> int:
        """Somebody gave memory back."""
        self._go.set()
        return 0

    def _now(self) -> float:
        return self._ftp.clock.monotonic() - self._begun


_UNTOLD = re.compile(rb"type=os\.unix=(?:symlink|slink):?;", re.I)
_NO_FILES = re.compile(r"\bno (?:such )?files?\b.*found|\bempty\b|no files", re.I)
"""How old servers say that a folder is empty."""


def _check(reply: Reply | None) -> None:
    if reply is not None and reply.code >= 300:
        raise trouble(reply)


def _headers(place: Place) -> list[tuple[str, str]]:
    """What is known of an answer before it comes."""
    if not place.name:
        return [("content-type", listing.MEDIA_TYPE)]
    kind = media.by_name(place.name.decode("latin-1"))
    return [("content-type", kind)] if kind else []


def _failure(error: Trouble, started: float, timings: Timings, ip: str) -> Failure:
    blocked = error.reason.startswith("blocked")
    outcome = Outcome.BLOCKED if blocked else Outcome.REFUSED if error.reason in REFUSED else Outcome.UNREACHABLE
    return Failure(outcome, error.reason, error.detail, started, timings, ip, error.code)
