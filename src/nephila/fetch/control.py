"""One FTP control connection: what is said on it, and the data connections it asks for (RFC 959, 2428, 3659).

Every address is shown to the guard before it is connected. A data connection goes to the address of the control connection and
nowhere else, whatever the server names (so it cannot make us knock at a third machine); only the port is the server's choice.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from nephila.config import Config
from nephila.fetch.faults import CONNECT_ERRNO

ANONYMOUS = "anonymous"
LINE_BYTES_MAX = 8 << 10
"""No line of a reply is longer."""
GREETINGS_MAX = 5
"""More `1xx` greetings than this before the one that counts are an attack."""
DATA_BYTES = 256 << 10
"""So much of a body may wait between the socket and us."""
UNSAFE = re.compile(rb"[\x00-\x1f\x7f]")
_EPSV = re.compile(rb"\((.)\1\1(\d{1,5})\1\)")
_PASV = re.compile(rb"(\d{1,3}),(\d{1,3}),(\d{1,3}),(\d{1,3}),(\d{1,3}),(\d{1,3})")
_CODE = re.compile(rb"[1-6]\d\d(?:[ -]|\Z)")
_CROWDED = re.compile(r"too many|maximum|limit|busy|overload|try (?:again )?later|try again|full", re.I)
_PWD = re.compile(rb'"((?:[^"]|"")*)"')


class Reply(NamedTuple):
    """`code` of the last line, all lines as sent."""

    code: int
    lines: list[bytes]

    @property
    def text(self) -> str:
        """The last line, readable."""
        return self.lines[-1][:200].decode("utf-8", "replace").strip()


class Trouble(Exception):
    """It went wrong: `reason` as visits have it, `code` of the reply that says so (0: none)."""

    def __init__(self, reason: str, detail: str = "", code: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.code = reason, detail, code


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Refusal = Callable[[str], str]
"""The guard's word for an address of this host: "" when it may be connected, else what kind of address it is."""


class Control:
    """A logged-in session. `folder` is where the server stands, as segments below the login folder; None: not known."""

    def __init__(
        self,
        config: Config,
        refusal: Refusal,
        address: str,
        streams: Streams,
    ) -> None:
        self._config, self._refusal, self.address = config, refusal, address
        self._reader, self._writer = streams
        self.said: list[bytes] = []
        """the conversation since it was last taken, without passwords"""
        self.folder: tuple[bytes, ...] | None = ()
        self._top = b""
        self._binary = self._extended = True
        self._typed = False
        self._features: bytes | None = None

    @classmethod
    async def opened(cls, config: Config, refusal: Refusal, addresses: Sequence[str], port: int) -> Control:
        """Connected to the first address that answers. Raises Trouble."""
        failed = Trouble("connect.failed")
        async with _deadline(config.connect_timeout_s, "timeout.connect"):
            for address in addresses:
                try:
                    return cls(config, refusal, address, await _open(refusal, address, port, LINE_BYTES_MAX))
                except Trouble as refused:
                    failed = refused
                except OSError as error:
                    failed = Trouble(_connect_reason(error), str(error))
        raise failed

    async def login(self, user: str, password: str) -> None:
        """Greeting, name, password. Raises Trouble."""
        reply = await self._reply()
        for _ in range(GREETINGS_MAX):
            if reply.code >= 200:
                break
            reply = await self._reply()
        if reply.code != 220:
            raise trouble(reply)
        reply = await self.ask(b"USER " + user.encode())
        if reply.code == 331:
            reply = await self.ask(b"PASS " + password.encode())
        if reply.code not in (230, 232, 202):
            raise trouble(reply, "ftp_login")

    async def has(self, feature: bytes) -> bool:
        """Whether the server lists this among what it can do beyond RFC 959; asked once."""
        if self._features is None:
            reply = await self.ask(b"FEAT")
            self._features = b"".join(reply.lines).upper() if reply.code == 211 else b""
        return feature in self._features

    async def enter(self, folder: tuple[bytes, ...]) -> Reply | None:
        """Go to a folder. Returns the reply of the last step, None when it stands there already."""
        if self.folder == folder:
            return None
        reply = None
        if not self._top:
            self._top = await self._where()
        if self.folder != ():
            self.folder = None
            reply = await self.ask(b"CWD " + self._top)
            self.folder = () if reply.code < 300 else None
        if folder and (reply is None or reply.code < 300):
            reply = await self.ask(b"CWD " + b"/".join(folder))
            self.folder = folder if reply.code < 300 else self.folder
        return reply

    async def fetch(self, command: bytes, *, binary: bool) -> tuple[Reply, Streams]:
        """Ask for data: the preliminary reply and the data connection, or a final reply as Trouble."""
        if not self._typed or binary != self._binary:
            reply = await self.ask(b"TYPE I" if binary else b"TYPE A")
            if reply.code >= 300:
                raise trouble(reply)
            self._typed, self._binary = True, binary
        streams = await self._data(await self._port())
        try:
            reply = await self.ask(command)
            if reply.code >= 200:
                raise trouble(reply)
        except BaseException:
            streams[1].transport.abort()
            raise
        return reply, streams

    async def ask(self, line: bytes) -> Reply:
        """Say one line and wait for the answer. Raises ValueError for a line that would be two, Trouble for what goes wrong."""
        if UNSAFE.search(line):
            raise ValueError("a control character in an FTP command")
        self.said.append(_told(line) + b"\r\n")
        try:
            self._writer.write(line + b"\r\n")
            await self._writer.drain()
        except OSError as error:
            raise Trouble("conn_reset", str(error)) from None
        return await self._reply()

    async def closed(self) -> Reply:
        """The reply behind the data. Raises Trouble."""
        return await self._reply()

    def take_said(self) -> bytes:
        said, self.said = b"".join(self.said), []
        return said

    def leave(self) -> None:
        """Say goodbye and wait for nothing."""
        if not self._writer.is_closing():
            self._writer.write(b"QUIT\r\n")
        self._writer.close()

    def drop(self) -> None:
        """Away with it: nobody knows what comes next on it."""
        self._writer.transport.abort()

    @property
    def gone(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    async def _where(self) -> bytes:
        """What the login folder is called, where the path of a URL begins."""
        reply = await self.ask(b"PWD")
        found = _PWD.search(reply.lines[-1]) if reply.code == 257 else None
        top = found[1].replace(b'""', b'"') if found else b""
        return b"/" if not top or UNSAFE.search(top) else top

    async def _port(self) -> int:
        """Where the server waits for the data connection: EPSV, and PASV where that is not known."""
        if self._extended:
            reply = await self.ask(b"EPSV")
            if found := _EPSV.search(reply.lines[-1]) if reply.code == 229 else None:
                return int(found[2])
            if reply.code == 421:
                raise trouble(reply)
            self._extended = False
        reply = await self.ask(b"PASV")
        found = _PASV.search(reply.lines[-1]) if reply.code == 227 else None
        if found is None:
            raise trouble(reply) if reply.code == 421 else Trouble("ftp_data", reply.text, reply.code)
        return int(found[5]) * 256 + int(found[6])

    async def _data(self, port: int) -> Streams:
        if not 0 < port < 65536:
            raise Trouble("ftp_data", f"port {port}")
        try:
            async with _deadline(self._config.connect_timeout_s, "ftp_data"):
                return await _open(self._refusal, self.address, port, DATA_BYTES)
        except OSError as error:
            raise Trouble("ftp_data", str(error)) from None

    async def _reply(self) -> Reply:
        """One reply (RFC 959 section 4.2): `code-` begins one of several lines, `code ` with the same code ends it."""
        async with _deadline(self._config.header_timeout_s, "timeout.headers"):
            lines = [await self._line()]
            code = lines[0][:3]
            if not _CODE.match(lines[0]):
                raise Trouble("ftp_reply", lines[0][:200].decode("latin-1"))
            room = self._config.header_bytes_max
            while lines[0][3:4] == b"-" and not (lines[-1][:3] == code and lines[-1][3:4] in (b" ", b"")):
                lines.append(await self._line())
                room -= len(lines[-1]) + 2
                if room < 0:
                    raise Trouble("ftp_reply", "a reply without end")
        return Reply(int(code), lines)

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            raise Trouble("conn_reset" if error.partial or self.said else "empty_reply") from None
        except asyncio.LimitOverrunError:
            raise Trouble("ftp_reply", "a line without end") from None
        except OSError as error:
            raise Trouble("conn_reset", str(error)) from None
        self.said.append(line)
        return line.rstrip(b"\r\n")


async def _open(refusal: Refusal, address: str, port: int, limit: int) -> Streams:
    """Raises Trouble `blocked.private_address`, and OSError."""
    if kind := refusal(address):
        raise Trouble("blocked.private_address", f"{address} is {kind}")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return await asyncio.open_connection(address, port, family=family, limit=limit)


@asynccontextmanager
async def _deadline(seconds: float, reason: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Trouble(reason, f"nothing within {seconds:g} s") from None


def _told(line: bytes) -> bytes:
    """A command as it may be kept: nobody learns from it who a member is."""
    command = line[:5]
    return (
        command + b"****" if command == b"PASS " or (command == b"USER " and line[5:] != ANONYMOUS.encode()) else line
    )


def _connect_reason(error: OSError) -> str:
    return CONNECT_ERRNO.get(error.errno or 0, "connect.failed")


def trouble(reply: Reply, otherwise: str = "ftp_refused") -> Trouble:
    """What a reply means that is not the one hoped for (RFC 959 section 4.2.1: 4yz may pass, 5yz does not)."""
    code = reply.code
    if code == 550:
        reason = "ftp_not_found"
    elif code in (425, 426):
        reason = "ftp_data"
    elif code in (421, 434) or (code in (500, 530) and _CROWDED.search(reply.text)):
        reason = "ftp_busy"
    elif code in (332, 430, 530, 532):
        reason = "ftp_login"
    else:
        reason = "ftp_busy" if 400 <= code < 500 else otherwise
    return Trouble(reason, reply.text, code)
