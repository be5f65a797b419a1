"""How long until something happens: `python -m benchmarks.startup [--runs 15]`.

Two figures, as medians: `nephila --help` from start to end, and `nephila crawl` from start to the moment when a server has
read its first request.
"""

from __future__ import annotations

import argparse
import compileall
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nephila
from benchmarks.tools import nephila as command

REQUEST_S_MAX = 30.0


def main() -> None:
    options = _options()
    compileall.compile_dir(str(Path(nephila.__file__).parent), quiet=1)
    for name, once in {
        "--help": help_s,
        "first request": first_request_s,
        "first request, --workers 0": alone_s,
    }.items():
        print(f"{name}: {_median_ms(once, options.runs)}", flush=True)


def help_s() -> float:
    start = time.perf_counter()
    subprocess.run([command(), "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def first_request_s(*more: str) -> float:
    """Until a fresh server has received the first bytes. The crawl is stopped there; nothing is answered."""
    with (
        tempfile.TemporaryDirectory(prefix="nephila-bench-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        server.settimeout(REQUEST_S_MAX)
        seed = f"http://127.0.0.1:{server.getsockname()[1]}/"
        start = time.perf_counter()
        process = subprocess.Popen([command(), "crawl", seed, "-o", f"{folder}/out", "--delay", "0", "--quiet", *more])
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(REQUEST_S_MAX)
                connection.recv(1)
                return time.perf_counter() - start
        finally:
            process.kill()
            process.wait()


def alone_s() -> float:
    return first_request_s("--workers", "0")


def _median_ms(once: Callable[[], float], runs: int) -> str:
    """The first run warms the page cache and does not count."""
    once()
    seconds = [once() for _ in range(runs)]
    return f"{statistics.median(seconds) * 1000:.0f} ms ({min(seconds) * 1000:.0f}-{max(seconds) * 1000:.0f})"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    return parser.parse_args()


if __name__ == "__main__":
    main()
