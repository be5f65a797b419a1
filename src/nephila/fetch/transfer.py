"""One request and what comes over the wire for it: a libcurl handle and the callbacks that collect an answer.

Handles are used again and again: what stays the same is set once, and a request sets only what differs from the one
before. libcurl's callbacks may neither raise nor touch the handle; they note why the transfer should end (`skip`,
`fault`, `cut`, `whole`, `bug`) and return a number that makes libcurl end it. Who awaits the transfer reads the notes.
"""

from __future__ import annotations

import socket
from typing import Any

import pycurl  # type: ignore[import-untyped]

from nephila.fetch import heads, tls
from nephila.fetch.budget import Budget, Store
from nephila.fetch.chunked import Dechunker
from nephila.fetch.proxy import Door
from nephila.fetch.setup import Setup
from nephila.fetch.target import Target
from nephila.fetch.versions import SPOKEN
from nephila.fetch.wanted import Wanted
from nephila.types import Lease, Timings
from nephila.url.guard import Guard
from nephila.url.ways import Proxy

LINE_MAX = 64 << 10
"""A longer header line is an attack; readers of archives do not take it either."""
INTERIM_MAX = 20
"""More 1xx answers than this before the final one are an attack."""
END = -1
END_BODY = 0
PAUSE: int = pycurl.WRITEFUNC_PAUSE
TLS_TEXT = b"SSL connection using "
STREAM = len(next(iter(SPOKEN)))
OUT, TEXT, TLS_OUT = pycurl.INFOTYPE_HEADER_OUT, pycurl.INFOTYPE_TEXT, pycurl.INFOTYPE_SSL_DATA_OUT


class Transfer:
    """Made once per simultaneous request; `begin` starts it anew. `member`: the one origin whose credentials it holds."""

    def __init__(
        self, setup: Setup, budget: Budget, guard: Guard, door: Door, wanted: Wanted | None, member: str = ""
    ) -> None:
        self._setup, self._budget, self._guard, self._door, self._wanted = setup, budget, guard, door, wanted
        self._headers_set: list[str] = []
        self._pinned: list[str] = []
        self._way: tuple[Proxy | None, int] = (None, 0)
        self._verified, self._method_set, self._version = True, "GET", setup.versions.newest
        self.handle = handle = pycurl.Curl()
        setup.prepare(handle)
        setup.auth.prepare(handle, member)
        self._challenged = setup.auth.challenged(member)
        self.lines: list[bytes] = []
        # Without a rule to ask, lines are understood when the first byte behind them comes: no call of ours for each.
        handle.setopt(pycurl.HEADERFUNCTION, self._on_header if wanted else self.lines.append)
        handle.setopt(pycurl.WRITEFUNCTION, self._on_body)
        handle.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open)
        handle.setopt(pycurl.DEBUGFUNCTION, self._on_debug)
        handle.setopt(pycurl.VERBOSE, 1)
        self._verbose = True
        self.rest()

    def begin(
        self,
        lease: Lease,
        target: Target,
        headers: list[str],
        addresses: tuple[str, ...],
        now: float,
        proxy: Proxy | None = None,
    ) -> None:
        """Get ready. `addresses`: what the target's name resolves to, empty when nobody asked; `proxy`: where it goes through."""
        self.lease, self.begun, self.head_at = lease, now, 0.0
        self.target, self.proxy, self.scheme = target, proxy, self._door.scheme(proxy)
        self.peer = (target.host, target.port) if proxy is None else (proxy.host, proxy.port)
        self.status = self.opened = self.spoken = 0
        self.refused = self.skip = self.fault = self.cut = self.tls = ""
        self.whole = self._shut = False
        self.bug: Exception | None = None
        self._dechunker: Dechunker | None = None
        self._mark = 0.0, 0
        self.tls_begun, self._tls_at = False, 0.0
        self._set(lease, target, headers, addresses)

    def rest(self) -> None:
        """Let go of what came: it belongs to somebody else now."""
        self._budget.paused.discard(self)
        self.body = self.payload = Store(self._budget)
        self.lines.clear()
        self.head = b""
        self.headers: list[tuple[str, str]] = []
        self._sockets: list[_Socket] = []

    def connected(self) -> bool:
        """Whether the proxy's machine took the connection (of a kept one only the request is told)."""
        return bool(self.request_head) or any(map(_is_connected, self._sockets))

    def overdue(self, now: float) -> str:
        """The phase whose deadline has passed, or ""."""
        self.read_head()
        config, phase = self._setup.config, self.phase()
        if phase == "body":
            return self._overdue_body(now)
        age = now - self.begun
        if phase == "headers":
            late = age - self.handle.getinfo(pycurl.PRETRANSFER_TIME) > config.header_timeout_s
        elif phase == "tls":
            self._tls_at = self._tls_at or now
            late = now - self._tls_at > config.tls_timeout_s
        else:
            late = age > config.connect_timeout_s
        return phase if late else ""

    def forgive(self, seconds: float) -> None:
        """We were busy elsewhere for so long: no deadline counts it."""
        self.begun += seconds
        self.head_at += seconds if self.head_at else 0.0
        self._tls_at += seconds if self._tls_at else 0.0
        self._mark = self._mark[0] + seconds, self._mark[1]

    def phase(self) -> str:
        """Where it stands: connect, tls, headers or body."""
        if self.status:
            return "body"
        if self.handle.getinfo(pycurl.PRETRANSFER_TIME) > 0:
            return "headers"
        return "tls" if self.tls_begun else "connect"

    def resume(self) -> int:
        """Go on after a pause. Returns libcurl's error, 0 when there is none."""
        self._budget.paused.discard(self)
        try:
            self.handle.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:
            return int(error.args[0])
        return 0

    def timings(self, dns: float) -> Timings:
        """Phases that a kept connection did not need are 0. `dns`: seconds that our own look-up took."""
        ask = self.handle.getinfo
        connect = tls = 0.0
        if self.opened:
            connect, tls = ask(pycurl.CONNECT_TIME), ask(pycurl.APPCONNECT_TIME)
        sent, first, total = ask(pycurl.PRETRANSFER_TIME), ask(pycurl.STARTTRANSFER_TIME), ask(pycurl.TOTAL_TIME)
        return Timings(
            dns, connect and dns + connect, tls and dns + tls, sent and dns + sent, first and dns + first, dns + total
        )

    def drop(self) -> None:
        """Nobody wants what came."""
        self.body.drop()
        self.payload.drop()

    def _set(self, lease: Lease, target: Target, headers: list[str], addresses: tuple[str, ...]) -> None:
        put = self.handle.setopt
        self._listen(lease, target, headers)
        put(pycurl.URL, lease.request.url)
        if headers != self._headers_set:
            put(pycurl.HTTPHEADER, headers)
            self._headers_set = headers
        self._pin(target, addresses)
        if self._version != (version := self._setup.versions.of(target, proxied=self.proxy is not None)):
            put(pycurl.HTTP_VERSION, version)
            self._version = version
        if (way := (self.proxy, self.scheme)) != self._way:
            self._door.put(self.handle, *way)
            self._way = way
        self.doubt = self._setup.trust.doubt(target)
        if self._verified != (self.doubt is None):
            self._verified = not self._verified
            tls.set_verified(self.handle, self._verified)
        if lease.request.method != "GET" or self._method_set != "GET":
            self._set_method(lease.request.method, lease.request.body)

    def _listen(self, lease: Lease, target: Target, headers: list[str]) -> None:
        """libcurl tells what it sends, in a dozen calls per request. Over plain HTTP it sends the same to an origin every time
        but for the path: told once, the rest is known."""
        request = lease.request
        plain = target.scheme == "http" and self.proxy is None and request.method == "GET" and not self._challenged
        self.request_head = self._setup.sent.predict(target.origin, headers, request.url) if plain else b""
        if self._verbose == bool(self.request_head):
            self._verbose = not self._verbose
            self.handle.setopt(pycurl.VERBOSE, int(self._verbose))
        self._learns = (target.origin, headers) if plain and self._verbose else None

    def told(self) -> None:
        """The transfer is over: remember how its request was spelled."""
        if self._learns is not None and self.status:
            self._setup.sent.learn(*self._learns, self.lease.request.url, self.request_head)

    def _pin(self, target: Target, addresses: tuple[str, ...]) -> None:
        """Give libcurl all addresses (both families: it tries them side by side); with `+` they age in its cache like answers
        of its own, and every request puts the answer of today in the place of an older one."""
        places = [(target.host, target.port, addresses)] if addresses else []
        if self.proxy and (given := self._guard.pinned.get((self.proxy.host, self.proxy.port))):
            places.append((self.proxy.host, self.proxy.port, given))
        entries = [
            f"+{host}:{port}:{','.join([f'[{a}]' if ':' in a else a for a in found])}" for host, port, found in places
        ]
        if entries == self._pinned:
            return
        if entries:
            self.handle.setopt(pycurl.RESOLVE, entries)
        else:
            self.handle.unsetopt(pycurl.RESOLVE)
        self._pinned = entries

    def _set_method(self, method: str, body: bytes) -> None:
        put = self.handle.setopt
        put(pycurl.HTTPGET, 1)
        self.handle.unsetopt(pycurl.CUSTOMREQUEST)
        put(pycurl.NOBODY, int(method == "HEAD"))
        if method not in ("GET", "HEAD"):
            put(pycurl.POST, 1)
            put(pycurl.POSTFIELDS, body)
            put(pycurl.CUSTOMREQUEST, method)
        elif method == "GET":
            put(pycurl.HTTPGET, 1)
        self._method_set = method

    def _on_open(self, _purpose: int, address: Any) -> Any:
        """A connection is about to be made: the guard's moment."""
        ip = str(address.addr[0])
        # The user named the proxy, wherever it lies; what it connects was judged by name (`Client._for_proxy`).
        kind = "" if self.proxy else self._guard.refusal(*self.peer, ip)
        if kind:
            self.refused = f"{ip} is {kind}"
            return pycurl.SOCKET_BAD
        try:
            opened = _Socket(address.family, address.socktype, address.protocol)
        except OSError:  # no IPv6 here, or no descriptor left: libcurl tries the next address
            return pycurl.SOCKET_BAD
        self.opened += 1
        if self.proxy:
            self._sockets.append(opened)
        return opened

    def read_head(self, *, last: bool = False) -> None:
        """Understand the header lines that have come: when the body begins, when the transfer ends (`last`: no other head
        follows), and for its deadlines."""
        if self.status or self.fault or not self.lines:
            return
        try:
            self._read_head(last)
        except Exception as error:
            self.bug = error

    def _on_header(self, line: bytes) -> int | None:
        """The rule is asked before the body comes."""
        self.lines.append(line)
        if line in (b"\r\n", b"\n"):
            self.read_head()
        return END if self.fault or self.skip or self.bug else None

    def _read_head(self, last: bool) -> None:
        """The last complete block is the answer's. 1xx is not an answer yet (RFC 9110 section 15.2), nor is a 401 that libcurl
        may answer by itself: it is one when its body is handed over, or nothing else comes.

        libcurl ends a head beyond 300 kB or 5,000 lines by itself, so no more than that waits here.
        """
        interim = begin = 0
        while (end := _block_end(self.lines, begin)) and not self.fault:
            block = self.lines[begin:end]
            status = heads.status_of(block[0])
            size = sum(map(len, block))
            if size > self._setup.config.header_bytes_max or (size > LINE_MAX and max(map(len, block)) > LINE_MAX):
                self.fault = "header_too_large"
            elif interim < INTERIM_MAX and self._goes_on(status):
                interim, begin = interim + 1, end
            elif status == 401 and self._challenged and not (last and end == len(self.lines)):
                begin = end
            elif status < 200:
                self.fault = "bad_header" if interim else "bad_status_line"
            else:
                self._answered(status, block)
                return

    def _goes_on(self, status: int) -> bool:
        """This head is no answer yet; nor is a 407, when it is a proxy that was asked for the page (RFC 9110 section 15.5.8)."""
        if 100 <= status < 200:
            return status != 101
        return status == 407 and self.proxy is not None and not self.proxy.socks and self.target.scheme == "http"

    def _answered(self, status: int, block: list[bytes]) -> None:
        self.head = b"".join(block)
        self.headers = heads.parse(block)
        chunked, has_length, problem = heads.framing(self.headers)
        if problem:
            self.fault = "bad_header"
            return
        if chunked and block[0].startswith(b"HTTP/1"):
            self._dechunker, self._shut = Dechunker(), has_length
            self.payload = Store(self._budget)
        self.status = status
        self.skip = self._wanted(self.lease, self.headers) if self._wanted else ""

    def _on_body(self, data: bytes) -> int | None:
        if not self.status:
            self.read_head(last=True)
            if not self.status and not self.fault and not self.bug:
                self.fault = "bad_status_line"
            if self.fault or self.skip or self.bug:
                return END_BODY
        if self._budget.must_wait(len(data)):
            self._budget.paused.add(self)
            return PAUSE
        room = self._setup.config.body_bytes_max - self.body.size
        if len(data) > room:
            data, self.cut = data[:room], "length"
        try:
            self._take(data)
        except Exception as error:
            self.bug = error
        return END_BODY if self.cut or self.whole or self.bug else None

    def _take(self, data: bytes) -> None:
        self._budget.came(len(data))
        self.body.add(data)
        if self._dechunker is not None:
            if plain := self._dechunker.feed(data):
                self.payload.add(plain)
            self.whole = self._shut and self._dechunker.done

    def _on_debug(self, kind: int, data: bytes) -> None:
        """The request as sent is told here only. A tunnel's CONNECT, or a try on a dead connection, comes before it."""
        if kind == OUT:
            self.request_head = data if self.request_head.endswith(b"\r\n\r\n") else self.request_head + data
        elif kind == TEXT and data.startswith(TLS_TEXT):
            self.tls = " ".join(data[len(TLS_TEXT) :].decode("latin-1").split(" / ")[:2]).strip()
        elif kind == TEXT and data[:1] == b"[":
            self.spoken = SPOKEN.get(data[:STREAM], self.spoken)
        elif kind == TLS_OUT:
            self.tls_begun = True

    def _overdue_body(self, now: float) -> str:
        """The whole body has a deadline, and a window in which some bytes must come; our own pauses do not count."""
        config = self._setup.config
        if not self.head_at:
            self.head_at, self._mark = now, (now, self.body.size)
        if now - self.head_at > config.body_timeout_s:
            return "body"
        since, size = self._mark
        paused = self in self._budget.paused
        if paused or now - since < config.low_speed_s:
            self._mark = (now, self.body.size) if paused else self._mark
            return ""
        self._mark = now, self.body.size
        return "body" if self.body.size - size < config.low_speed_bytes * (now - since) else ""


def _block_end(lines: list[bytes], begin: int) -> int:
    """Behind the empty line that ends the block of header lines from `begin`; 0 when it is not here yet."""
    for empty in (b"\r\n", b"\n"):
        if begin < len(lines) and lines[-1] == empty and empty not in lines[begin:-1]:
            return len(lines)
    return next((i + 1 for i in range(begin, len(lines)) if lines[i] in (b"\r\n", b"\n")), 0)


def _is_connected(one: socket.socket) -> bool:
    try:
        one.getpeername()
    except OSError:
        return False
    return True


class _Socket(socket.socket):
    """libcurl works on a duplicate of what it is handed: this one closes when it is let go."""

    def __del__(self) -> None:
        self.close()
