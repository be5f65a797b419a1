"""A browser that knows what it was told and nothing else: requests to the window's application itself, with a jar."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nephila.ui.serve import Server

PORT = 4321
DESK, ARCHIVE = f"127.0.0.1:{PORT}", f"replay.localhost:{PORT}"
ORIGIN = f"http://{DESK}"
OURS = {"origin": ORIGIN, "sec_fetch_site": "same-origin"}
"""What a browser says of a request that a page of ours makes."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Browser:
    """`enter` first. Headers are given as words (`sec_fetch_site="none"`)."""

    def __init__(self, server: Server) -> None:
        self.server, self.jar = server, dict[str, str]()

    def enter(self, token: str = "") -> Answer:
        """With the token of an address that is printed now, or with another one."""
        token = token or self.server.address().partition("#token=")[2]
        return self.ask("POST", "/enter", token.encode(), **OURS)

    def get(self, path: str, host: str = DESK, **headers: str) -> Answer:
        return self.ask("GET", path, host=host, **headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        return self.ask("POST", path, urlencode(fields).encode(), **(headers or OURS))

    def ask(self, method: str, path: str, body: bytes = b"", host: str = DESK, **headers: str) -> Answer:
        return asyncio.run(self.asking(method, path, body, host, headers))

    async def asking(
        self, method: str, path: str, body: bytes, host: str, headers: dict[str, str], upto: int = 0
    ) -> Answer:
        """`upto`: leave a stream after so many pieces."""
        raw, _, query = path.partition("?")
        if self.jar and host == DESK:
            headers = headers | {"cookie": "; ".join(f"{name}={value}" for name, value in self.jar.items())}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "server": ("127.0.0.1", PORT),
            "path": raw,
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (b"host", host.encode()),
                *((n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()),
            ],
        }
        told: list[Any] = []
        left = asyncio.Event()
        coming = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            if message := next(coming, None):
                return message
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message)
            if upto and len(told) > upto:
                left.set()

        await self.server(scope, receive, send)
        found = [(name.decode(), value.decode()) for name, value in told[0]["headers"]]
        for name, value in found:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.jar[key] = rest.partition(";")[0]
        headers = {name: ", ".join(value for other, value in found if other == name) for name, _ in found}
        return Answer(told[0]["status"], headers, b"".join(one.get("body", b"") for one in told[1:]).decode())
