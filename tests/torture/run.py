"""One crawl of some cases of the torture server, as a user would start it, and all that is wrong with what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
from crash.compare import archive, unlisted

from nephila.testing.torture.cases import Case
from nephila.testing.torture.observe import complaints, folder_complaints
from nephila.testing.torture.server import TortureServer, control
from nephila.testing.torture.trust import TRUSTED, authority

CRAWL_S = 240.0
"""A crawl that takes longer hangs (invariant I1: 30 s for a row, and many rows at once)."""
MEMORY_MAX = 600 << 20
"""Resident bytes of the fattest process (I4)."""
MEASURED = """\
import pathlib, resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
pathlib.Path("memory").write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""
"""Starts a command and writes down how fat the fattest of its processes was. A process of its own, because a child begins with
the number of its parent, and the one of a test that serves large pages is large."""
BASE: dict[str, Any] = {
    "scope": "any",
    "allow_private": True,
    "workers": 1,
    "connections": 64,
    "tries": 3,
    "robots_tries": 2,
    "host_failures_max": 3,
    "retry_wait_s": 0.05,
    "retry_wait_max_s": 0.2,
    "header_timeout_s": 2.0,
    "body_timeout_s": 5.0,
    "low_speed_s": 2.0,
    "low_speed_bytes": 100,
    "connect_timeout_s": 2.0,
    "tls_timeout_s": 2.0,
    "dns_timeout_s": 1.0,
    "min_free": 0,
    "page_bytes_max": 1 << 20,
    "body_bytes_max": 2 << 20,
}


class Ran(msgspec.Struct, frozen=True):
    code: int
    text: str
    memory: int


def torture(chosen: list[Case], home: Path) -> list[str]:
    """Everything that is wrong after a crawl of these cases, which need the same settings. `home`: an empty folder."""
    chosen = [*chosen, control()]
    with TortureServer(chosen) as server:
        ran = crawl(server, chosen[0].settings, home)
        found = [] if ran.code in {case.exits for case in chosen} else [f"exit code {ran.code}: {ran.text}"]
        found += [line for place in server.places.values() for line in complaints(home / "out", place)]
    if ran.memory > MEMORY_MAX:
        found.append(f"{ran.memory >> 20} MiB of memory")
    strangers = sorted(
        path.name for path in home.iterdir() if path.name not in ("out", "crawl.toml", "said", "memory", TRUSTED["ca"])
    )
    found += [f"{name} was written outside the folder" for name in strangers]
    return found + folder_complaints(home / "out") + archive(home / "out").complaints + unlisted(home / "out")


def crawl(server: TortureServer, settings: dict[str, Any], home: Path) -> Ran:
    """`nephila crawl` of every case, in a process of its own whose home and temporary folder are `home`."""
    keys = BASE | settings
    if "name_servers" in settings:
        keys["name_servers"] = [server.name_server]
    if settings.get("ca") == TRUSTED["ca"]:
        (home / TRUSTED["ca"]).write_bytes(authority().file.read_bytes())
    keys["seeds"] = [place.seed for place in server.places.values()]
    keys["resolve"] = [*settings.get("resolve", []), *server.resolve]
    keys["proxy"] = server.proxies
    (home / "crawl.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    command = [
        sys.executable,
        "-c",
        MEASURED,
        sys.executable,
        "-m",
        "nephila",
        "crawl",
        "--config",
        "crawl.toml",
        "-o",
        "out",
    ]
    with (home / "said").open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=home,
            env=os.environ | {"HOME": str(home), "TMPDIR": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        alarm = threading.Timer(CRAWL_S, os.killpg, (process.pid, signal.SIGKILL))
        alarm.start()
        try:
            process.wait()
        finally:
            alarm.cancel()
    memory = home / "memory"
    fattest = int(memory.read_text()) << 10 if memory.exists() else 0
    return Ran(process.returncode, (home / "said").read_text(errors="replace")[-2000:], fattest)
