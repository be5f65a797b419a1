"""A real FTP server (pyftpdlib) over a folder, in a thread, with what it was asked."""

from __future__ import annotations

import logging
import threading
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of asyncore, which it stands on
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.servers import FTPServer


class RealFtp:
    """A context manager. `logins` counts sessions, `sent` the files that were sent whole."""

    def __init__(self, root: Path) -> None:
        logging.getLogger("pyftpdlib").setLevel(logging.CRITICAL)
        self.logins: list[tuple[str, str]] = []
        self.sent: list[str] = []
        self.changed = threading.Condition()
        authorizer = DummyAuthorizer()
        authorizer.add_anonymous(str(root))
        authorizer.add_user("bob", "hush", str(root))
        real = self

        class Handler(FTPHandler):  # type: ignore[misc]
            def on_login(self, username: str) -> None:
                real.logins.append((username, self.password))

            def on_file_sent(self, file: str) -> None:
                with real.changed:
                    real.sent.append(str(Path(file).relative_to(root)))
                    real.changed.notify_all()

        Handler.authorizer = authorizer
        self._server: Any = FTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self._server.address[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._over = False

    def url(self, path: str = "/") -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def wait_for(self, files: int, seconds: float = 20.0) -> None:
        """Until so many files were sent."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.sent) >= files, seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._thread.join(10)
        self._server.close_all()

    def _serve(self) -> None:
        while not self._over:
            self._server.serve_forever(timeout=0.05, blocking=False)
