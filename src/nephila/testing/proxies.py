"""Little proxies on real sockets: HTTP (CONNECT and absolute form), the same behind TLS, SOCKS 4, 4a and 5, and their faults.

A proxy of ours connects where the test says (`routes`), so a target's name need not exist: whoever reaches the target
has come through a proxy. Every byte that a client said before its tunnel stood is kept (`said`), to look for secrets in.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping
from typing import Any

from nephila.testing.background import Background

REPLIES = {
    "refuse": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", b"\5\2\0\1\0\0\0\0\0\0", b"\0\x5b" + bytes(6)),
    "unauthorized": (
        b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm="x", nonce="1", qop="auth"\r\n'
        b'WWW-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n',
    )
    * 3,
    "garbage": (b"\r\n\0\xff what is this\r\n\r\n",) * 3,
}
"""Fault → what an HTTP, a SOCKS 5 and a SOCKS 4 proxy says in place of yes."""
FAULTS = frozenset({"", "auth", "close", "stall", *REPLIES})
REALM = 'Basic realm="proxy"'
NONCE = "0123456789abcdef"


class Speaker:
    """What a proxy says on one connection, whoever accepts it. `fault` may be changed at any time.

    `kind`: the scheme of its URL; https is spoken as http by somebody who has seen to TLS. `credentials`: `user:password` that it
    asks for, by `scheme` (Basic or Digest). `routes`: `host:port` → (address, port) where such a target really is; another one
    is looked for at its port on 127.0.0.1.
    """

    def __init__(
        self,
        kind: str = "http",
        *,
        fault: str = "",
        credentials: str = "",
        scheme: str = "Basic",
        routes: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        assert fault in FAULTS, fault
        self.kind, self.fault, self.credentials, self.scheme = kind, fault, credentials, scheme
        self.routes = dict(routes or {})
        self.said: list[bytes] = []
        """What clients said, one entry per head (HTTP) or handshake (SOCKS)."""
        self.targets: list[str] = []
        """`host:port` of every tunnel and forwarded request, refused ones included, as the client named it."""

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection. Ends as connections end: with an EOFError or an OSError, or without."""
        talk = {"http": self._http, "sock": self._socks5 if self.kind.startswith("socks5") else self._socks4}
        await talk[self.kind[:4]](reader, writer)

    async def _misbehaves(self, target: str, writer: StreamWriter, which: int) -> bool:
        """The fault of the moment, acted out. False: there is none."""
        self.targets.append(target)
        if self.fault == "stall":
            await asyncio.Event().wait()
        if self.fault in REPLIES:
            writer.write(REPLIES[self.fault][which])
            await writer.drain()
        return self.fault in REPLIES or self.fault == "close"

    # --- HTTP -------------------------------------------------------------------------------------------------------

    async def _http(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Requests of one connection, until a tunnel takes it over."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.said.append(head)
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            if self.fault == "auth" or (self.credentials and not self._knows(head, method)):
                ask = REALM if self.scheme == "Basic" else f'Digest realm="proxy", nonce="{NONCE}", qop="auth"'
                writer.write(f"HTTP/1.1 407 Who\r\nProxy-Authenticate: {ask}\r\nContent-Length: 3\r\n\r\nwho".encode())
                await writer.drain()
            elif method == "CONNECT":
                if not await self._misbehaves(target, writer, 0):
                    await self._tunnel(target, reader, writer, b"HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n")
                return
            elif await self._misbehaves(_authority(target), writer, 0):
                return
            else:
                await self._forward(head, target, writer)

    def _knows(self, head: bytes, method: str) -> bool:
        """Whether the head has the credentials (RFC 7617, RFC 7616 with qop=auth and MD5)."""
        found = re.search(rb"(?im)^proxy-authorization: (\w+) ([^\r]+)", head)
        if found is None or found[1].decode() != self.scheme:
            return False
        if self.scheme == "Basic":
            return base64.b64decode(found[2]).decode() == self.credentials
        said = {k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|[^,\s]+)', found[2].decode())}
        user, _, password = self.credentials.partition(":")
        secret, place = _md5(f"{user}:proxy:{password}"), _md5(f"{method}:{said['uri']}")
        right = _md5(f"{secret}:{NONCE}:{said['nc']}:{said['cnonce']}:auth:{place}")
        return bool(said["response"] == right)

    async def _forward(self, head: bytes, target: str, writer: StreamWriter) -> None:
        """One request in absolute form (RFC 9112 section 3.2.2), over a connection of its own. An answer without length ends with
        the client's connection."""
        authority = _authority(target)
        there, hither = await asyncio.open_connection(*self._place(authority))
        first, rest = head.split(b"\r\n", 1)
        path = target.split(authority.removesuffix(":80"), 1)[1] or "/"
        lines = [line for line in rest.split(b"\r\n") if line and not line.lower().startswith(b"proxy-")]
        request = [first.split(b" ", 1)[0] + f" {path} HTTP/1.1".encode(), *lines, b"Connection: close", b"", b""]
        hither.write(b"\r\n".join(request))
        try:
            answer = await there.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if length := re.search(rb"(?im)^content-length: (\d+)", answer):
                writer.write(await there.readexactly(int(length[1])))
            else:
                writer.write(await there.read())
                raise ConnectionError("the answer ended with its connection")
        finally:
            hither.transport.abort()

    # --- SOCKS ------------------------------------------------------------------------------------------------------

    async def _socks5(self, reader: StreamReader, writer: StreamWriter) -> None:
        """RFC 1928, with RFC 1929 when credentials are wanted."""
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        wanted = 2 if self.credentials or self.fault == "auth" else 0
        if wanted not in methods:
            writer.write(b"\5\xff")
            return
        writer.write(bytes([5, wanted]))
        if wanted:
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            self.said.append(user + b":" + password)
            right = self.fault != "auth" and self.credentials.encode() == user + b":" + password
            writer.write(b"\1\0" if right else b"\1\1")
            if not right:
                return
        kind = (await reader.readexactly(4))[3]
        size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        name = await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2))
        host = ".".join(map(str, name)) if kind == 1 else name.decode() if kind == 3 else name.hex(":", 2)
        if not await self._misbehaves(f"{host}:{port}", writer, 1):
            await self._tunnel(f"{host}:{port}", reader, writer, b"\5\0\0\1\0\0\0\0\0\0")

    async def _socks4(self, reader: StreamReader, writer: StreamWriter) -> None:
        """SOCKS 4 and its extension 4a: an address that begins with three zeros, then the name."""
        start = await reader.readexactly(8)
        self.said.append(await reader.readuntil(b"\0"))
        port, address = int.from_bytes(start[2:4]), start[4:]
        named = address[:3] == b"\0\0\0"
        host = (await reader.readuntil(b"\0"))[:-1].decode() if named else ".".join(map(str, address))
        if not await self._misbehaves(f"{host}:{port}", writer, 2):
            await self._tunnel(f"{host}:{port}", reader, writer, b"\0\x5a" + bytes(6))

    # --- tunnels ----------------------------------------------------------------------------------------------------

    async def _tunnel(self, target: str, reader: StreamReader, writer: StreamWriter, yes: bytes) -> None:
        """Bytes in both directions until one side ends."""
        there, hither = await asyncio.open_connection(*self._place(target))
        writer.write(yes)
        await writer.drain()
        try:
            await asyncio.gather(_pump(reader, hither), _pump(there, writer))
        finally:
            hither.transport.abort()

    def _place(self, target: str) -> tuple[str, int]:
        return self.routes.get(target) or ("127.0.0.1", int(target.rpartition(":")[2]))


class Proxy(Background, Speaker):
    """One proxy on 127.0.0.1, served from a thread. A context manager. `tls`: the server's side of an https proxy."""

    def __init__(self, kind: str = "http", *, tls: ssl.SSLContext | None = None, **speaks: Any) -> None:
        Speaker.__init__(self, kind, **speaks)
        Background.__init__(self, f"{kind} proxy")
        self._tls = tls if kind == "https" else None
        self.port = self.connections = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: set[StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """As `--proxy` takes it."""
        return self.with_user("")

    def with_user(self, credentials: str) -> str:
        """The same with `user:password`, percent-encoded."""
        return f"{self.kind}://{credentials and credentials + '@'}{self.address}"

    @property
    def listening(self) -> bool:
        return self._server is not None

    def down(self) -> None:
        """Nothing listens there any more, and who is connected is cut off."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)

    def up(self) -> None:
        """It listens again, on the same port."""
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # TLS would wait for a farewell, and a loop with such a connection does not close
            writer.transport.abort()
        self._writers.clear()
        await asyncio.sleep(0)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self.serve(reader, writer)
        except (EOFError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _pump(source: StreamReader, sink: StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.close()


def _authority(url: str) -> str:
    """`host:port` of an http URL in absolute form."""
    authority = url.partition("://")[2].partition("/")[0]
    return authority if re.search(r":\d+$", authority) else f"{authority}:80"


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()
