"""Section M: FTP servers that are full, lie in their listings, point elsewhere, or fall silent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from nephila.testing.torture.cases import case
from nephila.testing.torture.observe import Observed
from nephila.testing.torture.server import Talk

TRIES = 3
FILE = b"a file\n"
FOLDER = b"type=file;size=7;modify=20240102030405; f.txt\r\n"
Answer = bytes | Callable[["Session", bytes], Awaitable[None]]


class Session:
    """One control connection of a server that behaves well, but for `answers`: command (or b"" for the greeting) → what is said
    instead. `folders`: path → what MLSD and LIST send, `files`: path → bytes."""

    def __init__(
        self,
        talk: Talk,
        folders: dict[bytes, bytes] | None = None,
        files: dict[bytes, bytes] | None = None,
        answers: dict[bytes, Answer] | None = None,
    ) -> None:
        self.talk = talk
        self.folders = {b"/": FOLDER} if folders is None else folders
        self.files = {b"/f.txt": FILE} if files is None else files
        self.answers = answers or {}
        self.folder = b"/"
        self._opened: list[socket.socket] = []

    async def run(self) -> None:
        try:
            await self._do(b"", b"")
            while line := await self.talk.reader.readline():
                command, _, argument = line.rstrip(b"\r\n").partition(b" ")
                await self._do(command, argument)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of all data connections."""
        while self._opened:
            self._opened.pop().close()

    async def say(self, text: bytes) -> None:
        await self.talk.say(text + b"\r\n")

    async def _do(self, command: bytes, argument: bytes) -> None:
        answer = self.answers.get(command, WELL.get(command, b"500 what?"))
        if isinstance(answer, bytes):
            await self.say(answer)
        else:
            await answer(self, argument)

    async def port(self) -> int:
        """Wait for a data connection somewhere."""
        self.close()
        waiting = socket.socket()
        self._opened.append(waiting)
        waiting.bind((self.talk.address, 0))
        waiting.listen(1)
        waiting.setblocking(False)
        return int(waiting.getsockname()[1])

    async def data(self, body: bytes, closing: bytes = b"226 done") -> None:
        """A whole transfer."""
        await self.say(b"150 here it comes")
        connection = await self.connection()
        await asyncio.get_running_loop().sock_sendall(connection, body)
        self.talk.sent += body
        self.close()
        if closing:
            await self.say(closing)

    async def connection(self) -> socket.socket:
        found, _ = await asyncio.get_running_loop().sock_accept(self._opened[0])
        self._opened.append(found)
        return found

    def path(self, name: bytes) -> bytes:
        return name if name.startswith(b"/") else self.folder.rstrip(b"/") + b"/" + name


async def _epsv(session: Session, _: bytes) -> None:
    await session.say(b"229 Entering (|||%d|)" % await session.port())


async def _pasv(session: Session, _: bytes) -> None:
    """Of the port only; the address is that of a machine which nobody asked for."""
    port = await session.port()
    await session.say(b"227 Entering (10,11,12,13,%d,%d)" % divmod(port, 256))


async def _cwd(session: Session, name: bytes) -> None:
    path = session.path(name)
    known = path in session.folders
    session.folder = path if known else session.folder
    await session.say(b"250 here" if known else b"550 no such folder")


async def _retr(session: Session, name: bytes) -> None:
    body = session.files.get(session.path(name))
    await (session.say(b"550 no such file") if body is None else session.data(body))


async def _list(session: Session, _: bytes) -> None:
    await session.data(session.folders[session.folder])


WELL: dict[bytes, Answer] = {
    b"": b"220 hello",
    b"USER": b"331 a password, please",
    b"PASS": b"230 hello",
    b"FEAT": b"211-Features\r\n MLST type*;size*;modify*;\r\n211 End",
    b"PWD": b'257 "/" is here',
    b"TYPE": b"200 fine",
    b"EPSV": _epsv,
    b"PASV": _pasv,
    b"CWD": _cwd,
    b"RETR": _retr,
    b"MLSD": _list,
    b"LIST": _list,
    b"QUIT": b"221 bye",
}


def ftp(
    row: str,
    name: str,
    *,
    path: str = "/f.txt",
    answers: Any = None,
    folders: Any = None,
    files: Any = None,
    **more: Any,
) -> None:
    """A case on a server that behaves well, but for `answers`."""

    async def route(talk: Talk) -> None:
        await Session(talk, folders, files, answers).run()

    case(row, name, scheme="ftp", raw=True, path=path, **more)(route)


def once(command: bytes, answer: bytes) -> dict[bytes, Answer]:
    """This answer to the first of a command that every session begins with (robots.txt has a session of its own), then as usual."""
    said: list[bytes] = []

    async def route(session: Session, argument: bytes) -> None:
        said.append(argument)
        well = WELL[command]
        if len(said) == 1:
            await session.say(answer)
            session.talk.hang_up()
        elif isinstance(well, bytes):
            await session.say(well)
        else:
            await well(session, argument)

    return {command: route}


def for_file(answer: Answer) -> dict[bytes, Answer]:
    """The answer to RETR of everything but robots.txt."""

    async def route(session: Session, name: bytes) -> None:
        if name == b"robots.txt":
            await _retr(session, name)
        elif isinstance(answer, bytes):
            await session.say(answer)
        else:
            await answer(session, name)

    return {b"RETR": route}


# --- M1: full -----------------------------------------------------------------------------------------------------------

BUSY: dict[str, Any] = {"outcome": "REFUSED", "reason": "ftp_busy", "attempts": TRIES}
ftp("M1", "450", answers=for_file(b"450 somebody else has it"), visit={"status": 450}, **BUSY)
ftp("M1", "421-then-well", answers=once(b"", b"421 too many connections"), body=FILE, quick=True)
ftp("M1", "530-too-many", answers=once(b"PASS", b"530 Sorry, the maximum number of clients is connected"), body=FILE)

# --- M2, M3: no such file, no way in ------------------------------------------------------------------------------------

ftp("M2", "550", path="/no", outcome="REFUSED", reason="ftp_not_found", attempts=1, visit={"status": 550}, quick=True)
ftp(
    "M2",
    "folder-without-slash",
    path="/pub",
    folders={b"/": b"", b"/pub": FOLDER},
    outcome="MOVED",
    files={b"/pub/f.txt": FILE},
    also={"/pub/": "OK", "/pub/f.txt": "OK"},
)
ftp("M3", "530", answers={b"PASS": b"530 not you"}, outcome="REFUSED", reason="ftp_login")
ftp("M3", "account", answers={b"PASS": b"332 which account?"}, outcome="REFUSED", reason="ftp_login")

# --- M4, M5, M6: listings -----------------------------------------------------------------------------------------------

LIES = (
    b"type=dir; ..\r\ntype=dir; .\r\ntype=file; /etc/passwd\r\ntype=file; ../up\r\ntype=file; a\rDELE f.txt\r\n"
    b"type=file; nul\0.txt\r\ntype=OS.unix=slink:../../..; out\r\ntype=OS.unix=slink:.; self\r\n" + FOLDER
)
ftp("M4", "mlsd", path="/", folders={b"/": LIES}, links=1, also={"/f.txt": "OK", "/etc/passwd": "unknown"}, quick=True)
ftp(
    "M4",
    "list",
    path="/",
    answers={b"FEAT": b"500 what?"},
    folders={
        b"/": b"total 3\r\ndrwxr-xr-x 2 0 0 4096 Jan  2 03:04 ..\r\nlrwxrwxrwx 1 0 0 1 Jan  2 03:04 loop -> .\r\n"
        b"-rw-r--r-- 1 0 0 7 Jan  2  2024 /f.txt\r\n-rw-r--r-- 1 0 0 7 Jan  2  2024 f.txt\r\n"
    },
    links=1,
    also={"/f.txt": "OK"},
)
LOOP = b"type=dir; again\r\n" + FOLDER
ftp(
    "M5",
    "server-follows",
    path="/",
    folders={b"/": LOOP, b"/again": LOOP, b"/again/again": LOOP},
    also={"/again/": "MOVED", "/again/again/": "unknown"},
)
ftp("M6", "noise", path="/", folders={b"/": b"\x00\xff" * 4000 + b"\r\nhello\r\n\r\n" + b"x" * 90_000}, links=0)

# --- M7, M8: the data connection ----------------------------------------------------------------------------------------

ftp("M7", "another-address", answers={b"EPSV": b"500 what?"}, body=FILE, quick=True)


async def _cut(session: Session, _: bytes) -> None:
    await session.data(b"half", b"426 the connection broke")


async def _no_close(session: Session, _: bytes) -> None:
    await session.data(FILE, b"")


async def _nobody(session: Session, _: bytes) -> None:
    port = await session.port()
    session.close()
    await session.say(b"229 Entering (|||%d|)" % port)


DATA: dict[str, Any] = {"outcome": "UNREACHABLE", "reason": "ftp_data", "attempts": TRIES}
CUT: dict[str, Any] = {"reason": "truncated.disconnect", "attempts": TRIES}
ftp("M8", "refused", answers=for_file(b"425 cannot open it"), **DATA)
ftp("M8", "nobody-there", answers={b"EPSV": _nobody}, outcome="DENIED", reason="robots_unreachable")
ftp("M8", "cut", answers=for_file(_cut), body=b"half", **CUT)
ftp("M8", "no-closing-reply", answers=for_file(_no_close), body=FILE, **CUT)

UNTOLD = b"type=OS.unix=symlink; s\r\n" + FOLDER
TOLD = b"lrwxrwxrwx 1 0 0 7 Jan  2  2024 s -> g.txt\r\n"


async def _told(session: Session, _: bytes) -> None:
    await session.data(TOLD)


ftp(
    "M12",
    "mlsd-without-targets",
    path="/",
    answers={b"LIST": _told},
    folders={b"/": UNTOLD},
    files={b"/g.txt": FILE},
    links=1,
    body=TOLD,
    also={"/g.txt": "OK", "/f.txt": "unknown"},
)

# --- M9, M10, M11: silence, noise, no end -------------------------------------------------------------------------------


async def _lingers(session: Session, _: bytes) -> None:
    """ProFTPD's way: the closing reply comes when the other side has closed the data connection, too."""
    loop = asyncio.get_running_loop()
    await session.say(b"150 here it comes")
    connection = await session.connection()
    await loop.sock_sendall(connection, FILE)
    session.talk.sent += FILE
    connection.shutdown(socket.SHUT_WR)
    await loop.sock_recv(connection, 1)
    await session.say(b"226 done")


ftp("M8", "server-closes-last", answers=for_file(_lingers), body=FILE, attempts=1, quick=True)


async def _silent(session: Session, _: bytes) -> None:
    await session.talk.sleep(60)


async def _stalls(session: Session, _: bytes) -> None:
    await session.say(b"150 here it comes")
    connection = await session.connection()
    await asyncio.get_running_loop().sock_sendall(connection, b"half")
    session.talk.sent += b"half"
    await session.talk.sleep(60)


async def _endless(session: Session, _: bytes) -> None:
    await session.say(b"150 here it comes")
    connection = await session.connection()
    session.talk.sent += b"x" * (4 << 20)
    while True:
        await asyncio.get_running_loop().sock_sendall(connection, b"x" * 65_536)


ftp("M9", "greeting", answers={b"": _silent}, outcome="DENIED", reason="robots_unreachable")
ftp("M9", "command", answers=for_file(_silent), outcome="UNREACHABLE", reason="timeout.headers", attempts=TRIES)
ftp("M9", "data", answers=for_file(_stalls), body=b"half", reason="truncated.time")
ftp("M10", "endless-greeting", answers={b"": b"220-more\r\n" * 40_000}, outcome="DENIED", reason="robots_unreachable")
ftp("M10", "endless-line", answers={b"": b"220 " + b"x" * 100_000}, outcome="DENIED", reason="robots_unreachable")
ftp("M10", "http", answers={b"": b"HTTP/1.1 400 Bad Request\r\n"}, outcome="DENIED", reason="robots_unreachable")
ftp("M11", "endless", answers=for_file(_endless), reason="truncated.length", attempts=1)

# --- M12, M13, M14: old servers, robots.txt, kept sessions --------------------------------------------------------------


async def _once_per_session(session: Session, name: bytes) -> None:
    """The session ends with the file, as if it had been idle for too long."""
    await _retr(session, name)
    session.talk.hang_up()


ftp(
    "M12",
    "ms-dos-without-feat",
    path="/",
    answers={b"FEAT": b"502 no", b"EPSV": b"502 no"},
    folders={
        b"/": b"01-02-24  03:04AM                    7 f.txt\r\n01-02-24  03:04AM       <DIR>          sub\r\n",
        b"/sub": b"",
    },
    links=2,
    also={"/f.txt": "OK", "/sub/": "OK"},
)
ftp(
    "M12",
    "mlsd-refused",
    path="/",
    answers={b"MLSD": b"502 no"},
    folders={b"/": b"-rw-r--r-- 1 0 0 7 Jan  2  2024 f.txt"},
    links=1,
)
ftp(
    "M12",
    "empty-as-550",
    path="/",
    answers={b"FEAT": b"500 no", b"LIST": b"550 No files found"},
    folders={b"/": b""},
    body=b"",
)
ftp(
    "M13",
    "robots",
    path="/",
    files={b"/robots.txt": b"User-agent: *\nDisallow: /f", b"/f.txt": FILE},
    also={"/f.txt": "DENIED robots_disallow"},
)


def _two_sessions(seen: Observed) -> list[str]:
    many = seen.place.connections
    return [] if many >= 2 else [f"took {many} connections"]


ftp("M14", "session-ended", answers={b"RETR": _once_per_session}, body=FILE, attempts=1, check=_two_sessions)
