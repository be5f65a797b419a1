"""The window of `crawl --ui`: a process of its own that is started with the crawl and ends with it.

The crawl makes the listening socket and the token, so that the address is known at once and a port that is taken is told before anything is
fetched. Both are inherited: the socket as a descriptor, the token as the first line of standard input. The end of standard input
is the end of the crawl, however that came about; a window that dies is missed by nobody. (Nothing here needs the extra `ui`.)
"""

from __future__ import annotations

import contextlib
import importlib.util
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nephila.errors import ConfigError

HOST = "127.0.0.1"
END_S_MAX = 6.0
"""How long the window may tell the pages that look at it that all is over."""
PROGRAM = "import sys; from nephila.verbs.views import beside; beside(*sys.argv[1:])"
NEEDED = ("jinja2", "prometheus_client", "starlette", "uvicorn")


class Beside:
    """`address` opens the window, once, as soon as `open` has been entered."""

    def __init__(self, port: int) -> None:
        missing = next((name for name in NEEDED if importlib.util.find_spec(name) is None), "")
        if missing:
            raise ConfigError(f"--ui needs {missing}: pip install 'nephila[ui]'")
        self._listener = listening(port, "--ui-port")
        self._token = secrets.token_urlsafe(32)
        self.address = f"http://{HOST}:{self._listener.getsockname()[1]}/#token={self._token}"

    @contextmanager
    def open(self, folder: Path) -> Iterator[None]:
        """The window on the crawl in `folder`, while the block runs."""
        with self._listener:
            number = self._listener.fileno()
            # -P: nothing is imported from the folder in which the crawl was started.
            window = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(folder), str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[number],
                start_new_session=True,
            )
        assert window.stdin is not None
        try:
            with contextlib.suppress(OSError):
                window.stdin.write(self._token.encode() + b"\n")
                window.stdin.flush()
            yield
        finally:
            with contextlib.suppress(OSError):
                window.stdin.close()
            try:
                window.wait(END_S_MAX)
            except subprocess.TimeoutExpired:
                window.kill()
                window.wait()


def listening(port: int, option: str) -> socket.socket:
    """Raises ConfigError when the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(
            f"{option} {port}: {getattr(error, 'strerror', None) or error}; give another, or 0 for any"
        ) from error
    return listener
