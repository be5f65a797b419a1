"""The window in a real browser: numbers move, buttons do what they say, and nobody else's page reaches it."""

from __future__ import annotations

import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from proofs import chromium
from ui.test_beside import crawling

from nephila.testing import sites
from nephila.testing.server import SiteServer

pytestmark = [pytest.mark.long, pytest.mark.skipif(not chromium.installed(), reason="no Chromium here")]

SITE = "https://shop.example"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium.installed(), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def context(chrome: Any) -> Iterator[Any]:
    made = chrome.new_context(locale="en-US")
    yield made
    made.close()


def opened(context: Any, address: str) -> Any:
    """A page of the window, entered. `page.wrong` is what its policy has refused and its scripts have raised."""
    page = context.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.goto(address)
    page.wait_for_selector("nav")
    assert "#" not in page.url
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    return page


def number(page: Any, name: str) -> int:
    return int(page.text_content(f".numbers div:has(dt:text-is('{name}')) dd").replace(",", ""))


def until(page: Any, right: Callable[[], bool]) -> None:
    """`page.wait_for_function` needs eval, which the window's policy forbids."""
    for _ in range(300):
        if right():
            return
        page.wait_for_timeout(100)
    raise AssertionError("never")


def test_a_crawl_is_watched_and_steered(context: Any, tmp_path: Path) -> None:
    with (
        SiteServer(sites.synthetic(2000, 5, 500, 0.1), tmp_path / "log", hosts=2) as site,
        crawling(site, tmp_path / "job", site.url("/", 2), "--delay", "0.1") as (crawl, address),
    ):
        page = opened(context, address)
        before = number(page, "kept")
        until(page, lambda: number(page, "kept") > before + 3)
        assert page.locator(".course path.line[d^=M]").count() == 4

        page.click("button[value=pause]")
        page.wait_for_selector(".chip.paused")
        assert page.text_content(".said") == "Done: Pause"
        until(page, lambda: number(page, "in flight") == 0)
        still = len(site.hits())
        page.wait_for_timeout(1000)
        assert len(site.hits()) == still
        page.click("button[value=resume]")
        page.wait_for_selector(".chip.running")

        page.click("nav a[href='/hosts']")
        page.check(f"input[value='{site.url('', 2)}']")
        page.wait_for_timeout(1500)  # the table was replaced meanwhile
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("button[value=drop]")
        page.wait_for_selector(".hosts .bad:text-is('dropped')")
        asked = sum(hit.host.startswith("127.0.0.2") for hit in site.hits())
        page.wait_for_timeout(1000)
        assert sum(hit.host.startswith("127.0.0.2") for hit in site.hits()) <= asked + 1

        page.click("nav a[href='/rules']")
        page.fill("textarea[name=exclude]", "3[.]html$")
        page.click("button:text-is('Preview')")
        gone = int(page.text_content("#preview li:has-text('queued addresses would be refused') b").replace(",", ""))
        wanted = page.text_content("#preview li:has-text('queued addresses would be refused') li a")
        assert gone > 0
        assert wanted.endswith("3.html")
        page.click("button:text-is('Apply')")
        assert page.text_content(".said").startswith("Done: exclude")
        changed = len(site.hits())

        assert why(page, site.url("/")).startswith("It is there")
        assert why(page, wanted) == (
            "It is not there, because the pattern 3[.]html$ of exclude is found in the address."
        )
        assert why(page, site.url("/nobody/links/here.html")).startswith(
            "It was never met: no page that was kept links to it"
        )

        page.click("nav a[href='/search']")
        command = page.text_content(".empty code").split()
        assert command == ["nephila", "export", "search", str(tmp_path / "job")]
        subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, timeout=60)
        page.reload()
        page.fill("input[name=q]", "page")
        page.click("form[role=search] button")
        assert page.locator(".hits li").count() > 1

        page.click("button[name=language]")
        assert page.text_content("nav a[aria-current]") == "搜索"
        page.click("nav a[href='/']")
        assert page.text_content(".chip") == "运行中"
        page.click("button[value=stop]")
        page.wait_for_selector(".over:not([hidden])")
        assert f"nephila serve {tmp_path / 'job'}" in page.inner_text(".over")
        assert crawl.wait(30) == 4
        asked_since = site.hits()[changed + 2 :]  # what was in flight was not called back
        assert len(asked_since) > 3
        assert [hit.path for hit in asked_since if hit.path.endswith("3.html")] == []
        assert page.wrong == []


def why(page: Any, address: str) -> str:
    """The sentence of page Why."""
    page.click("nav a[href='/why']")
    page.fill("input[name=url]", address)
    page.click(".ask button")
    return str(page.text_content(".answer .sentence"))


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "nephila", "serve", str(folder)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[1]
        finally:
            server.terminate()


FOREIGN = """<!doctype html><title>foreign</title><form id=f action="#DESK#/steer" method=post target=into><input name=order value=stop></form>
<iframe name=into></iframe><iframe id=framed src="#DESK#/"></iframe><img id=img src="#DESK#/static/icon.svg"><script>
  window.read = [];
  const note = (name) => (value) => { window.read.push(`${name}: ${value}`); };
  (async () => {
    for (const path of ["/", "/live/now", "/static/window.js", "/api/status"]) {
      await fetch("#DESK#" + path, { credentials: "include" }).then((answer) => answer.text()).then(note("fetch " + path), () => {});
      await fetch("#DESK#" + path, { credentials: "include", mode: "no-cors" }).then((answer) => answer.type === "opaque" || note("no-cors")(answer.type), () => {});
    }
    await fetch("#DESK#/steer", { method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams({ order: "stop" }) }).catch(() => {});
    await fetch("#DESK#/enter", { method: "POST", credentials: "include", mode: "no-cors", body: "guess" }).catch(() => {});
    navigator.sendBeacon("#DESK#/steer", new URLSearchParams({ order: "stop" }));
    await new Promise((done) => { const s = new EventSource("#DESK#/live/now", { withCredentials: true }); s.onmessage = (e) => { note("stream")(e.data); done(); }; s.onerror = done; });
    const script = document.createElement("script");
    script.src = "#DESK#/static/window.js"; script.onload = () => note("script")("loaded");
    document.head.append(script);
    f.submit();
    await new Promise((done) => setTimeout(done, 1500));
    try { note("frame")(framed.contentDocument.body.innerHTML); } catch {}
    if (document.getElementById("img").naturalWidth) note("image")("shown");
    document.title = "tried";
  })();
</script>"""


def test_a_page_of_another_port_or_site_reads_and_changes_nothing(context: Any, tmp_path: Path) -> None:
    """Other ports of 127.0.0.1 are the same site to a browser: the cookie goes with their requests."""
    with (
        SiteServer(sites.synthetic(2000, 5, 500, 0.2), tmp_path / "log") as site,
        crawling(site, tmp_path / "job") as (crawl, address),
        elsewhere(FOREIGN.replace("#DESK#", address.partition("/#")[0])) as port,
    ):
        window = opened(context, address)
        for host in ("127.0.0.1", "localhost"):
            page = context.new_page()
            page.goto(f"http://{host}:{port}/")
            page.wait_for_function("document.title === 'tried'")
            assert [text for text in page.evaluate("window.read") if not text.startswith("frame: ")] == []
            assert "nav" not in "".join(page.evaluate("window.read"))
        assert crawl.poll() is None
        window.reload()
        assert window.text_content(".chip") == "running"


@contextmanager
def elsewhere(text: str) -> Iterator[int]:
    """A server of somebody else on this machine."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_kept_page_reads_and_changes_nothing_of_the_window(context: Any, job: Any) -> None:
    job.page(f"{SITE}/", FOREIGN)
    with serving(job.folder) as address:
        desk = address.partition("/#")[0]
        job.page(f"{SITE}/evil", FOREIGN.replace("#DESK#", desk))
        asked: list[str] = []
        page = opened(context, address)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url) if request.url.startswith(desk) else None)
        page.goto(f"{desk}/view/20231114/{SITE}/evil")
        frame = next(frame for frame in page.frames if "replay.localhost" in frame.url)
        frame.wait_for_function("document.title === 'tried'", timeout=30_000)
        assert [text for text in frame.evaluate("window.read") if "data-part" in text or "EventSource" in text] == []
        assert {re.sub(r"\?.*", "", url.removeprefix(desk)) for url in asked} <= {
            f"/view/20231114/{SITE}/evil",
            "/static/window.css",
            "/static/window.js",
            "/static/icon.svg",
        }
