"""What a stranger does at a prompt: types commands in a folder, reads what comes back; and the sites that are crawled."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from nephila import cli
from nephila.testing import sites
from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer

FINISHED, BUG, USAGE, LIMIT, INTERRUPTED, NO_SEED, DISK = range(7)

QUICK = """\
tries = 2
robots_tries = 2
retry_wait_s = 0.02
retry_wait_max_s = 0.05
connect_timeout_s = 2
header_timeout_s = 5
host_failures_max = 2
drain_s = 2
min_free = 0
delay = 0
workers = 0
"""
"""Waits short enough for a test, no pause, and all in one process: what a test does not speak of."""

HTML = sites.HTML


class Said(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


class Running:
    """A command that has been started. A context manager: it is dead afterwards, and its children with it."""

    def __init__(
        self,
        args: Sequence[str],
        cwd: Path,
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "nephila"),
        before: Callable[[], None] | None = None,
    ) -> None:
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as given:
            given.write((stdin or "").encode())
            given.seek(0)
            self.process = subprocess.Popen(
                [*program, *args],
                cwd=cwd,
                env={k: v for k, v in os.environ.items() if not k.startswith("NEPHILA_")} | dict(env or {}),
                stdin=given,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
                preexec_fn=before,
            )

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._out.close()
        self._err.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def signal(self, number: int) -> None:
        """A signal as a terminal sends it: to the front and its workers."""
        os.killpg(self.process.pid, number)

    def said(self) -> tuple[str, str]:
        """What it has printed so far (standard output, standard error)."""
        return tuple(os.pread(f.fileno(), 4 << 20, 0).decode() for f in (self._out, self._err))  # type: ignore[return-value]

    def wait(self, timeout_s: float = 30.0) -> Said:
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.process.args!r} still runs after {timeout_s} s:\n{self.said()}") from None
        said = Said(code, *self.said())
        assert "Traceback" not in said.err, said.text
        return said


class Prompt:
    """A prompt in an empty folder. `crawl` adds the settings of QUICK; `run` adds nothing."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        (cwd / "quick.toml").write_text(QUICK)

    def start(self, *args: str, **how: Any) -> Running:
        return Running(args, self.cwd, **how)

    def run(self, *args: str, **how: Any) -> Said:
        with self.start(*args, **how) as running:
            return running.wait()

    def start_crawl(self, *args: str, config: str = "", **how: Any) -> Running:
        """`config`: lines that replace those of QUICK."""
        return self.start("crawl", *args, "--config", self.settings(config), **how)

    def crawl(self, *args: str, config: str = "", **how: Any) -> Said:
        with self.start_crawl(*args, config=config, **how) as running:
            return running.wait()

    def here(self, *args: str) -> Said:
        """The command without a process of its own: quicker, for what does not depend on one."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with contextlib.chdir(self.cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(list(args))
        said = Said(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
        assert "Traceback" not in said.err, said.text
        return said

    def crawl_here(self, *args: str, config: str = "") -> Said:
        return self.here("crawl", *args, "--config", self.settings(config))

    def settings(self, config: str) -> str:
        """The name of a settings file that holds QUICK and these lines."""
        if not config:
            return "quick.toml"
        keys = {line.partition("=")[0].strip() for line in config.splitlines()}
        kept = [line for line in QUICK.splitlines() if line.partition("=")[0].strip() not in keys]
        file = self.cwd / f"settings-{abs(hash(config)):x}.toml"
        file.write_text("\n".join([*kept, config, ""]))
        return file.name

    def rows(self, folder: str, sql: str) -> list[tuple[Any, ...]]:
        return rows(self.cwd / folder, sql)

    def outcomes(self, folder: str) -> dict[str, str]:
        """URL → outcome of every visit, without robots.txt; a URL with two visits fails."""
        found = self.rows(
            folder, "SELECT u.url, v.outcome FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots'"
        )
        assert len(dict(found)) == len(found), "two outcomes of one URL"
        return dict(found)


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    con = sqlite3.connect(f"file:{folder / 'crawl.db'}?mode=ro", uri=True)
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def until(true: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end, f"not within {timeout_s} s: {what}"
        time.sleep(0.01)


def archive_text(folder: Path) -> bytes:
    """All bytes of all archive files, decompressed."""
    return b"".join(gzip.decompress(path.read_bytes()) for path in sorted((folder / "archive").iterdir()))


def chain(n: int, delay_s: float = 0.05) -> sites.Site:
    """`n` pages, each linking to the next: one at a time, so that a crawl of it takes `n` × `delay_s`."""

    def site(host: str, path: str, asked: int) -> Answer:
        if path == "/robots.txt":
            return sites.NOT_FOUND
        i = int(path[1:] or 0)
        return Answer(sites.page([f"/{i + 1}"] if i + 1 < n else [], f"page {i}"), delay_s=delay_s)

    return site


class Seen(NamedTuple):
    """One request as the server got it."""

    target: str
    headers: dict[str, str]


class Server6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


class Listener:
    """A server in a thread that remembers every request with its headers, and every connection.

    `answer(target, headers)` gives (status, headers, body) and may be a fixed table of bodies.
    """

    def __init__(
        self,
        answer: Callable[[str, dict[str, str]], tuple[int, dict[str, str], bytes]] | dict[str, bytes],
        *,
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.seen: list[Seen] = []
        self.connections = 0
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                listener.connections += 1
                super().setup()

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                listener.seen.append(Seen(self.path, headers))
                status, more, body = listener.answer(self.path, headers)
                self.send_response(status)
                for name, value in {"Content-Type": HTML, "Content-Length": str(len(body)), **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.answer = answer if callable(answer) else lambda target, headers: _fixed(answer, target)
        server = Server6 if ":" in address else ThreadingHTTPServer
        self._server = server((address, 0), Handler)
        self._server.daemon_threads = True
        self.scheme = "http"
        if tls is not None:
            self._server.socket, self.scheme = tls.wrap_socket(self._server.socket, server_side=True), "https"
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def asked(self) -> list[str]:
        """Targets in order, robots.txt left out."""
        return [one.target for one in self.seen if not one.target.endswith("/robots.txt")]

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _fixed(table: dict[str, bytes], target: str) -> tuple[int, dict[str, str], bytes]:
    return (200, {}, table[target]) if target in table else (404, {}, b"not here")


__all__ = [
    "BUG",
    "DISK",
    "FINISHED",
    "INTERRUPTED",
    "LIMIT",
    "NO_SEED",
    "USAGE",
    "Answer",
    "Listener",
    "Prompt",
    "Running",
    "Said",
    "SiteServer",
    "archive_text",
    "chain",
    "rows",
    "sites",
    "until",
]
