"""Pages, map and search in a real browser, of a site that Debian ships, and of addresses and titles that are long."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from proofs import chromium
from ui.test_ui_replay_in_browser import serving

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not chromium.installed(), reason="system: no Chromium here"),
]
KEY = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{}', bubbles: true, cancelable: true }}))"
SAID = "document.querySelector('.told').textContent"


@pytest.fixture
def browser() -> Iterator[chromium.Chromium]:
    with chromium.Chromium(chromium.installed()) as found:
        found.ask("Emulation.setFocusEmulationEnabled", enabled=True)  # as if its window were in front
        yield found


def until(browser: chromium.Chromium, script: str) -> Any:
    """The value of an expression, as soon as it has one."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if value := browser.run(script):
                return value
        except RuntimeError:
            pass  # another page is coming
        time.sleep(0.1)
    raise AssertionError(f"never true: {script}; the page holds {browser.run('document.body.innerText')[:2000]}")


def come_in(browser: chromium.Chromium, address: str) -> str:
    """Where the window's pages are."""
    browser.open(address)
    until(browser, "document.querySelector('nav') !== null")
    return address.partition("/#")[0]


def test_a_real_site_can_be_looked_through(real_site: Any, tmp_path: Path, browser: chromium.Chromium) -> None:
    site, out = real_site("python"), tmp_path / "out"
    for words in (
        ["crawl", f"{site.url}/m1/index.html", "-o", str(out), "--delay", "0", "--quiet"],
        ["export", "search", str(out)],
    ):
        subprocess.run([sys.executable, "-m", "nephila", *words], check=True, capture_output=True, timeout=300)
    with serving(out) as address:
        base = come_in(browser, address)
        browser.open(f"{base}/pages?regex=/library/asyncio.*html%24&sort=bytes&falling=true")
        sizes = until(browser, "[...document.querySelectorAll('.urls tbody tr')].map((row) => row.cells[4].innerText)")
        assert len(sizes) > 10
        browser.run("document.querySelector('.urls tbody a').click()")
        until(browser, "document.querySelectorAll('.linked li').length > 10")
        browser.run("document.querySelector('.button.strong').click()")
        until(browser, "document.querySelector('iframe') !== null")

        browser.open(f"{base}/map")
        groups = until(browser, "document.querySelectorAll('.cluster').length")
        assert 20 < groups <= 60
        assert groups == browser.run("document.querySelectorAll('.twin tbody tr').length")
        still = browser.run(SAID)
        browser.run("document.querySelector('.cluster').focus()")
        first = until(browser, f"{SAID} !== {still!r} && {SAID}")
        assert browser.run("document.querySelectorAll('.curves .on').length") > 0
        browser.run(KEY.format("ArrowRight"))
        assert until(browser, f"{SAID} !== {first!r} && {SAID}")
        browser.run(
            "document.querySelector('.cluster.folder, .cluster.others').dispatchEvent(new MouseEvent('click', { bubbles: true }))"
        )
        until(browser, "location.search !== '' && document.readyState === 'complete'")
        opened = browser.run("location.search")
        above = browser.run("new URL(document.querySelector('.up').href).search")
        browser.run(KEY.format("Escape"))
        assert (
            until(
                browser,
                f"location.search !== {opened!r} && document.readyState === 'complete' && `=${{location.search}}`",
            )
            == f"={above}"
        )

        browser.open(f"{base}/search?q=asyncio")
        assert until(browser, "document.querySelectorAll('.hits mark').length") > 10


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_no_page_is_wider_than_its_window(job: Any, browser: chromium.Chromium, width: int) -> None:
    long = "https://a.example/" + "averylongword" * 30
    for n in range(5):
        job.page(f"{long}/{n}", "x", title="Wort" * 60, parent=n)
    with serving(job.folder) as address:
        base = come_in(browser, address)
        browser.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
        )
        for path in ("/pages", "/page/1", "/map", "/search"):
            browser.open(base + path)
            until(browser, "document.querySelector('footer') !== null")
            # A map that is still being read is shown again.
            until(browser, "document.documentElement.scrollWidth === document.documentElement.clientWidth")
