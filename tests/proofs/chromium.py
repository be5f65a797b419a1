"""A headless Chromium that opens files and tells what it saw, spoken to over a pipe of its own (no port, no library).

`--remote-debugging-pipe`: the DevTools protocol as JSON messages ended by a NUL byte, commands on descriptor 3, answers and
events on descriptor 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any, Self

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
    "--remote-debugging-pipe",
]
"""No sandbox: tests in a container run as root, and only files of their own are opened."""

LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, 10) for number in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes where the browser looks for them. (A shell may know descriptors of one digit only.)"""

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT_S_MAX = 30.0


def installed() -> str:
    """Path of the browser, "" when there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


class Chromium:
    """One browser with one page. A context manager; its profile is a folder that is new and removed at the end."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="nephila-chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), program, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer, self._number, self._session = b"", 0, ""
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        try:
            page = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
            self._session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
            self.ask("Page.enable")
            self.ask("Network.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """The end of its pipe is the end of the browser."""
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, url: str) -> list[str]:
        """Load a page to the end. Returns what it asked for and did not get: `net::ERR_FILE_NOT_FOUND file:///…`."""
        self._events.clear()
        if trouble := self.ask("Page.navigate", url=url).get("errorText"):
            return [f"{trouble} {url}"]
        end = time.monotonic() + WAIT_S_MAX
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._event(end))
        asked = {e["params"]["requestId"]: e["params"]["request"]["url"] for e in self._of("Network.requestWillBeSent")}
        return [
            f"{e['params']['errorText']} {asked.get(e['params']['requestId'], '?')}"
            for e in self._of("Network.loadingFailed")
        ]

    def run(self, script: str) -> Any:
        """The value of an expression in the page (JSON types)."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def run_in_frame(self, script: str) -> Any:
        """The same in the first frame of another site (`watch_frames`)."""
        self.ask("Page.getFrameTree")  # and what has been told meanwhile
        outer = self._session
        attached = [e["params"] for e in self._of("Target.attachedToTarget")]
        self._session = next(one["sessionId"] for one in attached if one["targetInfo"]["type"] == "iframe")
        try:
            return self.run(script)
        finally:
            self._session = outer

    def watch_frames(self) -> None:
        """From now on frames of other sites, which have a process of their own, can be asked, too."""
        self.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)

    def asked(self) -> list[str]:
        """What the page has asked for since it was opened."""
        return [event["params"]["request"]["url"] for event in self._of("Network.requestWillBeSent")]

    def picture(self) -> bytes:
        """What is to be seen, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come before it are kept."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        os.write(
            self._out, json.dumps({"id": self._number, "method": method, "params": params} | session).encode() + b"\0"
        )
        end = time.monotonic() + WAIT_S_MAX
        while (message := self._message(end)).get("id") != self._number:
            self._events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [event for event in self._events if event["method"] == method]

    def _event(self, end: float) -> dict[str, Any]:
        while "method" not in (message := self._message(end)):
            continue
        return message

    def _message(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            if not (block := os.read(self._in, 1 << 20)):
                raise RuntimeError("the browser has ended")
            self._buffer += block
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message
