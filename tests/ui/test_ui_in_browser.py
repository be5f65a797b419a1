"""The window in a real browser: numbers move, buttons do what they say, and nobody else's page reaches it."""

from __future__ import annotations

import functools
import http.server
import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from proofs import chromium
from ui.doors import changing, doors
from ui.test_beside import crawling

from nephila.testing import sites
from nephila.testing.server import SiteServer
from nephila.ui.serve import Server

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
        assert gone > 0
        page.click("button:text-is('Apply')")
        assert page.text_content(".said").startswith("Done: exclude")
        changed = len(site.hits())

        page.click("nav a[href='/why']")
        refused = page.text_content(
            "details:has(code:text('exclude')) li a"
        )  # was queued, and nobody asked for it since
        assert refused.endswith("3.html")
        assert why(page, site.url("/")).startswith("It is there")
        assert why(page, refused) == (
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
    for (const path of #READS#) {
      await fetch("#DESK#" + path, { credentials: "include" }).then((answer) => answer.text()).then(note("fetch " + path), () => {});
      await fetch("#DESK#" + path, { credentials: "include", mode: "no-cors" }).then((answer) => answer.type === "opaque" || note("no-cors")(answer.type), () => {});
    }
    const orders = { order: "stop", host: "#SITE#", action: "drop", theme: "dark", exclude: "/", scope: "any" };
    for (const path of #POSTS#) {
      await fetch("#DESK#" + path, { method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams(orders) }).catch(() => {});
      await fetch("#DESK#" + path, { method: "POST", credentials: "include", mode: "no-cors", body: JSON.stringify(orders) }).catch(() => {});
      navigator.sendBeacon("#DESK#" + path, new URLSearchParams(orders));
    }
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


def foreign(server: Server, desk: str, site: str = "") -> str:
    """A page that tries every door of the window."""
    reads = [path for method, path in doors(server) if method == "GET"]
    facts = {"#READS#": json.dumps(reads), "#POSTS#": json.dumps(changing(server)), "#DESK#": desk, "#SITE#": site}
    return functools.reduce(lambda text, fact: text.replace(*fact), facts.items(), FOREIGN)


def test_a_page_of_another_port_or_site_reads_and_changes_nothing(context: Any, server: Server, tmp_path: Path) -> None:
    """Other ports of 127.0.0.1 are the same site to a browser: the cookie goes with their requests."""
    with (
        SiteServer(sites.synthetic(2000, 5, 500, 0.2), tmp_path / "log") as site,
        crawling(site, tmp_path / "crawl") as (crawl, address),
        elsewhere(foreign(server, address.partition("/#")[0], site.url(""))) as port,
    ):
        window = opened(context, address)
        for host in ("127.0.0.1", "localhost"):
            page = context.new_page()
            page.goto(f"http://{host}:{port}/")
            page.wait_for_function("document.title === 'tried'", timeout=60_000)
            assert [text for text in page.evaluate("window.read") if not text.startswith("frame: ")] == []
            assert "nav" not in "".join(page.evaluate("window.read"))
        assert crawl.poll() is None
        window.reload()
        assert window.text_content(".chip") == "running"
        assert window.get_attribute("html", "data-theme") is None
        window.click("nav a[href='/rules']")
        assert window.input_value("textarea[name=exclude]") == ""
        window.click("nav a[href='/hosts']")
        assert window.locator(".hosts .bad:text-is('dropped')").count() == 0


@contextmanager
def elsewhere(text: str, heard: list[str] | None = None) -> Iterator[int]:
    """A server of somebody else on this machine; `heard`: what it is asked for."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())
            if heard is not None:
                heard.append(self.path)

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_kept_page_reads_and_changes_nothing_of_the_window(context: Any, server: Server, job: Any) -> None:
    job.page(f"{SITE}/", "start")
    with serving(job.folder) as address:
        desk = address.partition("/#")[0]
        job.page(f"{SITE}/evil", foreign(server, desk))
        asked: list[str] = []
        page = opened(context, address)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url) if request.url.startswith(desk) else None)
        page.goto(f"{desk}/view/20231114/{SITE}/evil")
        frame = next(frame for frame in page.frames if "replay.localhost" in frame.url)
        frame.wait_for_function("document.title === 'tried'", timeout=60_000)
        ours = ("data-part", "EventSource", "nephila_", "limited_by")
        assert [text for text in frame.evaluate("window.read") if any(word in text for word in ours)] == []
        assert {re.sub(r"\?.*", "", url.removeprefix(desk)) for url in asked} <= {
            f"/view/20231114/{SITE}/evil",
            "/static/window.css",
            "/static/window.js",
            "/static/icon.svg",
        }


EVIL = (
    "onerror\"'></title></textarea></svg><script src=#TRACE#/script></script><script>window.ran = document.title = 'ran'</script>"
    "<svg onload=\"window.ran = 'svg'\"></svg><img src=#TRACE#/img onerror=\"document.title = 'ran'\">"
    "<style>@import '#TRACE#/style'; * { background: url(#TRACE#/css) }</style><iframe src=#TRACE#/frame></iframe>"
    "<meta http-equiv=refresh content='0;url=#TRACE#/meta'><base href=#TRACE#/><a href='javascript:ran=1'>x</a>{{7*7}}"
)


def hostile(evil: str) -> sites.Site:
    """A site whose titles, addresses, headers and robots.txt are markup."""
    links = [
        f"/{evil}/1",
        f"/{evil}/2",
        f"/gone?{evil}",
        f"/moved?{evil}",
        "/typed",
        f"/private/{evil}",
        "javascript:ran=1",
    ]
    pages = {
        "/": sites.Answer(sites.page(links, evil)),
        "/typed": sites.Answer(sites.page([], evil), media_type=f"text/html; charset={evil}"),
        "/robots.txt": sites.Answer(f"User-agent: *\nDisallow: /private/{evil}\n".encode(), media_type="text/plain"),
    }

    def site(host: str, path: str, n: int) -> sites.Answer:
        if path.startswith("/moved"):
            return sites.redirect(f"/{quote(evil)}/3")
        if path.startswith("/gone"):
            return sites.Answer(sites.page([], evil), 410, headers=(("X-Evil", evil), ("Server", evil)))
        return pages.get(path) or sites.Answer(sites.page(["/"], evil))

    return site


def test_what_a_site_says_runs_on_no_page_of_the_window(context: Any, tmp_path: Path) -> None:
    """Titles, addresses, headers, hosts, reasons and rules full of markup, each of which would leave a trace."""
    heard: list[str] = []
    folder = tmp_path / "job"
    with (
        elsewhere("", heard) as port,
        SiteServer(hostile(evil := EVIL.replace("#TRACE#", f"http://127.0.0.1:{port}")), tmp_path / "log") as site,
    ):
        words = [
            "crawl",
            site.url("/"),
            "-o",
            str(folder),
            "--delay",
            "0",
            "--quiet",
            "--workers",
            "0",
            "--exclude",
            "/2$",
        ]
        subprocess.run([sys.executable, "-m", "nephila", *words], check=True, capture_output=True, timeout=60)
        with sqlite3.connect(folder / "crawl.db") as con:  # what no site can bring about today
            con.execute("UPDATE visit SET reason = ?1, media_type = ?1, language = ?1 WHERE status = 410", (evil,))
            con.execute("INSERT INTO host (origin, state, verdict, robots_state) VALUES (?, ?1, ?1, ?1)", (evil,))
        subprocess.run(
            [sys.executable, "-m", "nephila", "export", "search", str(folder)], check=True, capture_output=True
        )
        known = dict(con.execute("SELECT id, url FROM url WHERE kind != 'robots'"))
        con.close()
        with serving(folder) as address:
            desk, page = address.partition("/#")[0], opened(context, address)
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            paths = ["/", "/hosts", "/pages", "/map", "/why", "/search?q=ran", "/archive"]
            paths += [f"/page/{n}" for n in known]
            paths += [f"/why?url={quote(url, safe='')}" for url in [*known.values(), evil] if "onerror" in url]
            paths += [
                f"{path}={quote(evil, safe='')}"
                for path in ("/pages?text", "/hosts?text", "/search?q", "/page?url", "/pages?regex")
            ]
            paths += [f"/times/{quote(url, safe=':/')}" for url in known.values() if url.endswith("/1")]
            for path in paths:
                page.goto(desk + path)
                looked_at(page, path)
            page.goto(f"{desk}/rules")
            page.fill("textarea[name=exclude]", evil)
            page.click("form.rules button")
            looked_at(page, "/rules")
        assert heard == []
        assert [url for url in asked if not url.startswith(f"{desk}/")] == []
        assert [text for text in page.wrong if "Content Security Policy" in text] == []


def looked_at(page: Any, path: str) -> None:
    """Markup has come as far as this page, and is nothing but text in it."""
    if "/live/" in (page.get_attribute("body", "data-live") or ""):
        page.wait_for_timeout(1500)  # its parts have come once more
    assert "onerror" in page.content(), path
    assert page.title() != "ran"
    assert page.evaluate("typeof window.ran") == "undefined", path
    strange = "main script, main img, main iframe, main style, main meta, base, svg svg, [onload], [onerror], a[href^='javascript:' i]"
    assert page.locator(strange).count() == 0, path
