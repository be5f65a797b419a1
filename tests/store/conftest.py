"""A store that answers as S3 does, on loopback, and that fails when a test says so."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands.conftest import prompt, serve  # noqa: F401
from commands.stranger import Prompt
from werkzeug.serving import WSGIRequestHandler, make_server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from moto.server import DomainDispatcherApplication, create_backend_app

Fault = Callable[[str, str], str]
"""(method, path with query) → "" (as it should be), a status such as "500", "slow", or "garbled" (other bytes come back)."""


class Quiet(WSGIRequestHandler):
    def log_request(self, *args: Any) -> None:
        pass


class Bucket:
    """One bucket, `crawls`. `fault` decides about each request, `asked` holds them."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.fault: Fault = lambda method, path: ""
        self.asked: list[str] = []

    def address(self, prefix: str = "job", bucket: str = "crawls") -> str:
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1"

    def clear(self) -> None:
        from moto.s3.models import s3_backends

        backend = s3_backends["123456789012"]["aws"]
        backend.reset()
        backend.create_bucket("crawls", "us-east-1")
        self._backend = backend
        self.fault = lambda method, path: ""
        self.asked.clear()

    def objects(self) -> dict[str, bytes]:
        return {key: found.value for key, found in self._backend.buckets["crawls"].keys.items()}

    def uploads(self) -> list[str]:
        """Keys of uploads that are neither completed nor aborted."""
        return [one.key_name for one in self._backend.buckets["crawls"].multiparts.values()]

    def app(self, inner: Any) -> Any:
        def answer(environ: dict[str, Any], start: Any) -> Any:
            path = environ["PATH_INFO"] + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
            self.asked.append(f"{environ['REQUEST_METHOD']} {path}")
            what = self.fault(environ["REQUEST_METHOD"], path)
            if re.fullmatch(r"\d+", what):
                start(f"{what} Fault", [("Content-Length", "0")])
                return [b""]
            if what == "slow":
                time.sleep(0.3)
            body = inner(environ, start)
            return [bytes(reversed(b"".join(body)))] if what == "garbled" else body

        return answer


@pytest.fixture(scope="session")
def server() -> Iterator[Bucket]:
    place: list[Bucket] = []
    made = make_server(
        "127.0.0.1",
        0,
        lambda environ, start: place[0].app(app)(environ, start),
        threaded=True,
        request_handler=Quiet,
    )
    app = DomainDispatcherApplication(create_backend_app)
    place.append(Bucket(made.server_port))
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield place[0]
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def bucket(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setenv("NEPHILA_STORE_KEY", "testing:secret-of-the-store")
    monkeypatch.setattr("nephila.store.upload.WAIT_S", 0.02)
    monkeypatch.setattr("nephila.store.objects.REQUEST_TRIES", 1)
    server.clear()
    return server


@pytest.fixture
def home(prompt: Prompt, tmp_path: Path) -> Prompt:  # noqa: F811
    return prompt
