"""The door: one request, one answer. Only here are sockets.

libcurl speaks HTTP; what is ours stands around it (and FTP, `ftp.py`): names and the guard before a connection, a deadline per phase,
bytes exactly as they came, limits, and a reason for everything that goes wrong. Nothing is followed, nothing is decoded.
"""

from __future__ import annotations

import asyncio
import errno
from collections import OrderedDict
from itertools import chain
from pathlib import Path
from typing import NoReturn

import pycurl  # type: ignore[import-untyped]

from nephila.clock import Clock, SystemClock
from nephila.config import Config
from nephila.errors import DiskFull
from nephila.fetch import faults, heads
from nephila.fetch.budget import Budget
from nephila.fetch.ftp import Ftp
from nephila.fetch.kept import Kept
from nephila.fetch.names import Names
from nephila.fetch.proxy import Door, fault, reachable
from nephila.fetch.setup import Setup
from nephila.fetch.target import Target, split
from nephila.fetch.transfer import Transfer
from nephila.fetch.wanted import Wanted
from nephila.fetch.wire import Ending, Wire
from nephila.types import Failure, Lease, Outcome, Resolution, Response, Timings
from nephila.url.guard import Guard
from nephila.url.ways import Proxy

SWEEP_S = 0.25
"""Deadlines are looked at this often; more often when one of them is very short."""
RATE_SWEEP_S = 0.02
TLS_KNOWN_MAX = 4096
BLOCKED = "blocked.private_address"
UNCONNECTED = ("connect.", "timeout.connect")
ABANDONED = Ending(pycurl.E_ABORTED_BY_CALLBACK, "abandoned")
NOTHING = Resolution()
PROTOCOLS = {1: "http/1.0", 2: "http/1.1", 3: "h2", 30: "h3"}


class Client:
    """`ports.Fetch` with libcurl behind it, for one event loop.

    `allowed`: host:port pairs of private seeds; `folder`: the job folder, whose `tmp` takes large bodies; `rate_share`:
    this client's part of `limit_rate`; `wanted`: asked when the headers of an answer are complete. Raises ConfigError for
    settings that cannot be used. Every Response must come back by `release`.
    """

    def __init__(
        self,
        config: Config,
        *,
        allowed: frozenset[tuple[str, int]] = frozenset(),
        folder: Path | None = None,
        clock: Clock | None = None,
        rate_share: float = 1.0,
        wanted: Wanted | None = None,
    ) -> None:
        self._config, self._wanted = config, wanted
        self._clock = clock = clock or SystemClock()
        self._setup = Setup(config, folder, clock)
        self._guard = Guard(config.allow_private, allowed, config.resolve)
        self._door = Door(config, self._setup.trust.insecure)
        rate = config.limit_rate * rate_share
        place = None if folder is None else folder / "tmp"
        self._budget = Budget(config.body_memory_max, config.body_spool_bytes, rate, place, clock)
        self._ftp = Ftp(config, clock, self._guard, self._budget, wanted)
        self._names = Names(config, clock)
        self._wire: Wire | None = None
        self._kept = Kept()
        self._idle: dict[str, list[Transfer]] = {"": []}
        """Handles at rest, by the origin whose credentials they hold; "": none."""
        self._active: set[Transfer] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._sweep_due = 0.0
        self._sweep_s = RATE_SWEEP_S if rate else _sweep_s(config)
        self._tls: OrderedDict[int, str] = OrderedDict()

    @property
    def user_agent(self) -> str:
        return self._setup.user_agent

    async def __call__(self, lease: Lease) -> Response | Failure:
        """Fetch it. Raises DiskFull when a large body finds no room on the disk; nothing for what the web does."""
        started, begun = self._clock.wall(), self._clock.monotonic()
        try:
            target = split(lease.request.url)
            headers = self._setup.headers(lease, target)
        except ValueError as error:
            return Failure(Outcome.BLOCKED, "unsafe_request", str(error), started)
        proxy = self._door.of(lease)
        if proxy is not None and target.scheme == "ftp":
            return Failure(Outcome.BLOCKED, "ftp_proxy", "FTP does not go through a proxy, nor past it", started)
        answer = self._known(target, lease.resolution, proxy) or await self._names.find(target.host)
        if proxy is not None:
            answer = reachable(proxy, self._for_proxy(target, answer))
        if answer.reason:
            outcome = Outcome.BLOCKED if answer.reason.startswith("blocked") else Outcome.UNREACHABLE
            waited = self._clock.monotonic() - begun
            return Failure(outcome, answer.reason, answer.detail, started, Timings(dns=waited, total=waited))
        dns = self._clock.monotonic() - begun
        if target.scheme == "ftp":
            return await self._over_ftp(lease, target, answer, started, dns)
        way = self._setup.way(target)
        got = await self._run(lease, target, proxy, headers, answer, started, dns)
        while isinstance(got, Failure) and way != (way := self._setup.way(target)):  # the failure taught another way
            got = await self._run(lease, target, proxy, headers, answer, started, dns)
        return got

    def release(self, response: Response) -> None:
        """The visit is done: files are closed, memory is free for others. Harmless when repeated."""
        self._budget.give_back(response)
        response.body.close()
        response.payload.close()
        self._resume()

    async def close(self) -> None:
        """End everything. Who still waits for an answer is cancelled."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._ftp.close()
        await asyncio.sleep(0)
        for transfer in chain(*self._idle.values()):
            transfer.handle.close()
        self._idle.clear()
        self._names.close()

    def _known(self, target: Target, given: Resolution | None, proxy: Proxy | None) -> Resolution | None:
        """What needs no look-up: a literal address, a pinned name, a name that the proxy resolves, what came with the lease,
        a fresh answer."""
        if target.literal or (proxy is not None and not proxy.names_are_ours):
            return NOTHING
        if pinned := self._guard.pinned.get((target.host, target.port)):
            return Resolution(pinned)
        return given or self._names.known(target.host)

    def _for_proxy(self, target: Target, answer: Resolution) -> Resolution:
        """The guard sees only the proxy's address being connected: so the target is judged here, as far as it is known."""
        guard = self._guard
        kind = guard.refusal_by_name(target.host, target.port)
        kinds = [guard.refusal(target.host, target.port, address) for address in answer.addresses]
        allowed = tuple(a for a, refused in zip(answer.addresses, kinds, strict=True) if not refused)
        if kind or (kinds and not allowed):
            return Resolution(reason=BLOCKED, detail=f"{target.host} is {kind or kinds[0]}")
        return Resolution(allowed)

    async def _over_ftp(
        self, lease: Lease, target: Target, answer: Resolution, started: float, dns: float
    ) -> Response | Failure:
        try:
            got = await self._ftp(lease, target, answer.addresses or (target.host,), started, dns)
        except OSError as error:
            _raise(error)
        if isinstance(got, Failure) and got.reason.startswith(UNCONNECTED):
            self._names.forget(target.host)
        return got

    async def _run(
        self,
        lease: Lease,
        target: Target,
        proxy: Proxy | None,
        headers: list[str],
        answer: Resolution,
        started: float,
        dns: float,
    ) -> Response | Failure:
        wire = self._wire or self._open()
        member = self._setup.auth.member(lease.request.url) if self._setup.auth else ""
        idle = self._idle.setdefault(member, [])
        transfer = idle.pop() if idle else self._new_transfer(member)
        try:
            transfer.begin(lease, target, headers, answer.addresses, self._clock.monotonic(), proxy)
            self._active.add(transfer)
            if self._sweeper is None:
                self._sweep_later()
            self._kept.begin(transfer.peer)
            ending = await wire.start(transfer.handle)
            if proxy is not None and self._door.asks(proxy, transfer):
                transfer.rest()
                transfer.begin(lease, target, headers, answer.addresses, self._clock.monotonic(), proxy)
                ending = await wire.start(transfer.handle)
            return self._answer(transfer, ending, target, started, dns)
        except BaseException:
            wire.stop(transfer.handle, ABANDONED)
            transfer.drop()
            raise
        finally:
            if transfer in self._active:
                self._active.discard(transfer)
                self._kept.end(transfer.peer)
            transfer.rest()
            idle.append(transfer)

    def _new_transfer(self, member: str) -> Transfer:
        return Transfer(self._setup, self._budget, self._guard, self._door, self._wanted, member)

    def _open(self) -> Wire:
        self._wire = Wire(self._config.connections)
        return self._wire

    def _answer(
        self, transfer: Transfer, ending: Ending, target: Target, started: float, dns: float
    ) -> Response | Failure:
        """From what the transfer noted and how libcurl ended it to a Response or a Failure."""
        transfer.read_head(last=True)
        if transfer.bug is not None:
            _raise(transfer.bug)
        transfer.told()
        outcome, reason, detail = self._verdict(transfer, ending)
        cut = transfer.cut
        if transfer.status and transfer.payload.size and outcome is Outcome.UNREACHABLE:
            if reason == "timeout.body":
                cut, reason = "time", ""
            elif reason in faults.MENDABLE and transfer.lease.last:
                cut, reason = "disconnect", ""
        if not reason:
            if ending.socket >= 0 and transfer.handle.getinfo(pycurl.INFO_HTTP_VERSION) <= pycurl.CURL_HTTP_VERSION_1_1:
                self._kept.note(transfer.peer, ending.socket, transfer.opened > 0)
            return self._response(
                transfer, target, started, dns, cut or heads.part_of(transfer.status, transfer.headers)
            )
        if reason == "bad_status_line" and not transfer.opened:
            reason = "late_answer"  # over a kept connection, where the rest of an earlier answer may still have come
        if reason.startswith(UNCONNECTED):
            self._names.forget(target.host)
        transfer.drop()
        self._setup.trust.learn(target, reason, detail, transfer.handle)
        if not transfer.status:
            self._setup.versions.learn(target, transfer.spoken, ending[0], reason)
        ip, timings = transfer.handle.getinfo(pycurl.PRIMARY_IP), transfer.timings(dns)
        return Failure(outcome, reason, detail, started, timings, ip, transfer.status)

    def _verdict(self, transfer: Transfer, ending: Ending) -> tuple[Outcome, str, str]:
        """(outcome, reason, detail); reason "" when there is an answer to hand on."""
        code, message, _ = ending
        if transfer.skip:
            return Outcome.SKIPPED, transfer.skip, ""
        if (proxy := transfer.proxy) is not None and (named := fault(proxy, transfer, code)):
            said = "it asks for credentials" if named == "proxy_auth" else message or _line(transfer)
            return Outcome.UNREACHABLE, named, f"{proxy.label}: {said}"
        if transfer.fault:
            return Outcome.UNREACHABLE, transfer.fault, _line(transfer)
        if transfer.status and (code == 0 or transfer.whole or transfer.cut):
            return Outcome.OK, "", ""
        if code == 0:
            return Outcome.UNREACHABLE, "conn_reset", "the header has no end"
        if code == faults.CONNECT and transfer.refused and not transfer.opened:
            return Outcome.BLOCKED, BLOCKED, transfer.refused
        number, verified = map(transfer.handle.getinfo, (pycurl.OS_ERRNO, pycurl.SSL_VERIFYRESULT))
        phase = transfer.phase()
        reason = faults.reason(code, number, message, verified, phase=phase)
        outcome = Outcome.REFUSED if reason == "redirect_ambiguous" else Outcome.UNREACHABLE
        return outcome, reason, message

    def _response(self, transfer: Transfer, target: Target, started: float, dns: float, cut: str) -> Response:
        body = transfer.body.body()
        chunked = transfer.payload is not transfer.body
        doubt = transfer.doubt and self._setup.trust.seen(target, transfer.doubt, transfer.handle)
        response = Response(
            transfer.lease.request.url,
            transfer.status,
            PROTOCOLS.get(transfer.handle.getinfo(pycurl.INFO_HTTP_VERSION), "http/1.1"),
            transfer.head,
            transfer.headers,
            body,
            transfer.payload.body() if chunked else body,
            heads.without_secrets(transfer.request_head),
            started,
            transfer.timings(dns),
            transfer.handle.getinfo(pycurl.PRIMARY_IP),
            cut,
            self._tls_of(transfer) if target.scheme == "https" else "",
            doubt,
        )
        self._budget.hold(response, transfer.body.memory + (transfer.payload.memory if chunked else 0))
        return response

    def _tls_of(self, transfer: Transfer) -> str:
        """libcurl tells the version and cipher once per connection: remembered by its number."""
        number = transfer.handle.getinfo(pycurl.CONN_ID)
        if transfer.tls:
            self._tls[number] = transfer.tls
            if len(self._tls) > TLS_KNOWN_MAX:
                self._tls.popitem(last=False)
        return self._tls.get(number, "")

    def _sweep(self) -> None:
        """Deadlines, and pauses that are over. One timer for all transfers, none without. When it comes late, because something
        kept us busy, that time is nobody's fault: what came meanwhile has not even been looked at."""
        now, wire = self._clock.monotonic(), self._wire
        late = now - self._sweep_due
        self._sweeper = None
        if wire is None or not self._active:
            return
        for transfer in list(self._active):
            if late > SWEEP_S:
                transfer.forgive(late)
            if phase := transfer.overdue(now):
                wire.stop(transfer.handle, Ending(faults.TIMED_OUT, f"deadline of {phase}"))
        self._resume()
        self._sweep_later()

    def _sweep_later(self) -> None:
        self._sweep_due = self._clock.monotonic() + self._sweep_s
        self._sweeper = asyncio.get_running_loop().call_later(self._sweep_s, self._sweep)

    def _resume(self) -> None:
        for transfer in list(self._budget.paused):
            if not self._budget.must_wait(0) and (code := transfer.resume()) and self._wire:
                self._wire.stop(transfer.handle, Ending(code, "ended while resuming"))


def _sweep_s(config: Config) -> float:
    shortest = min(
        config.connect_timeout_s,
        config.tls_timeout_s,
        config.header_timeout_s,
        config.body_timeout_s,
        config.low_speed_s,
    )
    return max(0.01, min(SWEEP_S, shortest / 4))


def _raise(bug: Exception) -> NoReturn:
    """A bug, or a disk without room (the two that are not the web's fault)."""
    if isinstance(bug, OSError) and bug.errno in (errno.ENOSPC, errno.EDQUOT):
        raise DiskFull(f"no room for a body: {bug}") from bug
    raise bug


def _line(transfer: Transfer) -> str:
    """The line at fault, readable."""
    return transfer.lines[-1][:200].decode("latin-1").strip() if transfer.lines else ""
