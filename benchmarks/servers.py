"""A real web server over real sites: nginx on a loopback port, serving documentation that Debian packages ship.

Used by tests and benchmarks alike. It runs in the foreground as the calling user, with its files in a temporary folder;
one mount is one folder served below `/NAME/`, so a site of any size is the same folder mounted many times.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

DOCS = Path("/usr/share/doc")
START_S_MAX = 5.0
PORT_TRIES = 5


class Missing(Exception):
    """A part of the system is not installed; the message names the Debian package."""


class Hit(NamedTuple):
    """One request as nginx logged it: Unix time of its end, seconds it took, and what was asked and answered."""

    ended: float
    took_s: float
    status: int
    method: str
    path: str
    agent: str
    bytes_sent: int
    connection: int


class Nginx:
    """nginx over `mounts` (name → folder), running from construction to `stop()`. Raises Missing when not installed.

    `extra` is put into the server block as it is (a location that refuses, redirects or waits). With `log=False` nothing
    is logged, which is what a timed run wants.
    """

    def __init__(self, mounts: Mapping[str, Path], *, extra: str = "", log: bool = True) -> None:
        self._program = program("nginx", "nginx")
        self._folder = Path(tempfile.mkdtemp(prefix="nephila-nginx-"))
        self.log = self._folder / "access.log"
        self.port, self._process = self._start(mounts, extra, log)
        self.url = f"http://127.0.0.1:{self.port}"

    def log_lines(self) -> list[Hit]:
        """Every finished request so far, in order of its end."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return [Hit(*json.loads(line)) for line in text.splitlines()]

    def stop(self) -> None:
        """End the server and remove its files. May be called twice."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(START_S_MAX)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, mounts: Mapping[str, Path], extra: str, log: bool) -> tuple[int, subprocess.Popen[bytes]]:
        """A free port is found by asking for one; somebody may take it before nginx does, so a few are tried."""
        for _ in range(PORT_TRIES):
            port = _free_port()
            (self._folder / "nginx.conf").write_text(_config(self._folder, port, mounts, extra, log))
            command = [*_ends_with_us(), self._program, "-p", str(self._folder), "-c", "nginx.conf", "-e", "error.log"]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if _answers(port, process):
                return port, process
        error = (self._folder / "error.log").read_text()
        shutil.rmtree(self._folder, ignore_errors=True)
        raise RuntimeError(f"nginx does not start: {error}")


def program(name: str, package: str) -> str:
    """The path of a program. Raises Missing, naming the package that has it. `/usr/sbin` is not on every user's PATH."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if found is None:
        raise Missing(f"{name} is not installed (Debian package {package})")
    return found


def python_docs() -> Path:
    """Folder of the Python documentation in HTML (about 530 pages of 95 KB)."""
    return _docs("python3*/html", "python3-doc")


def postgres_docs() -> Path:
    """Folder of the PostgreSQL documentation in HTML (about 1,170 pages of 14 KB)."""
    return _docs("postgresql-doc-*/html", "postgresql-doc-15")


def debian_handbook() -> Path:
    """Folder of the Debian handbook in Chinese (about 130 pages with many pictures)."""
    return _docs("debian-handbook/html/zh-CN", "debian-handbook")


def mounted(folder: Path, times: int) -> dict[str, Path]:
    """The same folder as `/m1/` … `/mN/`."""
    return {f"m{i}": folder for i in range(1, times + 1)}


def _docs(pattern: str, package: str) -> Path:
    for folder in sorted(DOCS.glob(pattern), reverse=True):
        if (folder / "index.html").is_file():
            return folder.resolve()
    raise Missing(f"there is no {DOCS / pattern} (Debian package {package})")


def _ends_with_us() -> list[str]:
    """A prefix that has nginx end when this process is killed (Linux, util-linux), or nothing."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """True once the server accepts; False when it ended first (the port was taken)."""
    end = time.monotonic() + START_S_MAX
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.01)
    process.kill()
    process.wait()
    return False


def _config(folder: Path, port: int, mounts: Mapping[str, Path], extra: str, log: bool) -> str:
    """As root nginx would change to another user, who may not read the caller's temporary folders."""
    user = "user root;" if os.geteuid() == 0 else ""
    temp = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    places = "\n".join(f"    location /{name}/ {{ alias {path}/; }}" for name, path in mounts.items())
    return f"""
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html htm; text/css css; application/javascript js; image/png png; image/gif gif; image/jpeg jpg;
    image/svg+xml svg; text/plain txt; text/xml xml; application/json json; application/pdf pdf; image/x-icon ico; }}
  default_type application/octet-stream;
  sendfile on; tcp_nopush on; tcp_nodelay on; {temp}
  keepalive_requests 1000000; keepalive_timeout 60s; open_file_cache max=4096;
  log_format hits escape=json '[$msec,$request_time,$status,"$request_method","$request_uri","$http_user_agent",$bytes_sent,$connection]';
  access_log {f"{folder}/access.log hits" if log else "off"};
  server {{
    listen 127.0.0.1:{port} backlog=1024;
{extra}
{places}
  }}
}}
"""
