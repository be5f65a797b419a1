"""The report in a real browser: it asks for nothing, changes its language without a script, and fits a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import chromium
from views.faulty_site import crawl

from nephila.fetch.decode import decode
from nephila.views import registry

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not chromium.installed(), reason="no Chromium here"),
]
WIDE = "document.documentElement.scrollWidth - innerWidth"
SEEN = (
    "[...document.querySelectorAll('h3 > span')].filter((node) => node.checkVisibility()).map((node) => node.className)"
)


def test_the_page_opens_alone_in_two_languages_on_any_screen(tmp_path: Path) -> None:
    crawl(tmp_path)
    registry.export("report", tmp_path, "", decode)
    address = (tmp_path / "views" / "report" / "report.html").as_uri()
    with chromium.Chromium(chromium.installed()) as browser:
        assert browser.open(address) == []
        assert browser.asked() == [address]
        assert set(browser.run(SEEN)) == {"en"}
        browser.run("document.querySelector('label[for=zh]').click()")
        assert set(browser.run(SEEN)) == {"zh"}
        assert browser.run(WIDE) <= 0
        browser.ask("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
        assert browser.run("innerWidth") == 360
        assert browser.run(WIDE) <= 0
