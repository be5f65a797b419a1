"""Pictures of the window for docs/window.md: `python -m benchmarks.pictures [--to FOLDER]`, of a crawl that is running.

The web behind it is made up but for its texts: the Debian handbook in English and in Chinese and the documentation of Python, as Debian
ships them, beside hosts of nephila.testing.web, of which some are slow, some have an endless calendar and one is down. Every page
is taken in both languages, wide and light or dark, and as large as a phone the other way round. Needs Chromium and the extra `test`.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import mimetypes
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from playwright.sync_api import Browser, Page, StorageState, sync_playwright

from benchmarks.servers import debian_handbook, program, python_docs
from nephila.testing.proxies import Proxy
from nephila.testing.server import SiteServer
from nephila.testing.sites import NOT_FOUND, Answer, Site
from nephila.testing.sites import page as listing
from nephila.testing.web import MadeUpWeb, Spec

HANDBOOK, GUIDE, PYTHON, DOWN = "handbook.example", "shouce.example", "python.example", "down.example"
OTHERS = Spec(hosts=60, pages=200, pages_sigma=1.0, slow=0.8, slow_s=2.0, traps=0.1, names="h{}.example", legacy=0.0)
INDEX_S, CRAWL_S = 50.0, 10.0
"""Before the index of the search is made, and then before the first picture: enough for curves, and too little for the end."""
SETTINGS = [
    "--delay",
    "0.4",
    "--max-depth",
    "12",
    "--exclude",
    "/genindex",
    "--exclude",
    "/whatsnew/",
    "--workers",
    "1",
]
KEPT = f"http://{GUIDE}/installation.html"
WIDE, PHONE = (1280, 800), (390, 844)
QUALITY = 78
"""Of WebP: letters are sharp, and all pictures together stay below 3 MB."""
LANGUAGES: Mapping[str, str] = {"en": "en-US", "zh": "zh-CN"}


class Shot(NamedTuple):
    """A page of the window: the file's name, its address, and what has to be there before it is taken."""

    name: str
    path: str
    there: str


SHOTS = (
    Shot("now", "/", ".course path.line[d^=M]"),
    Shot("hosts", "/hosts?heat=queued", ".tile"),
    Shot("pages", "/pages?sort=bytes&falling=true", ".urls tbody tr"),
    Shot("page", f"/page?url={quote(KEPT, safe='')}", ".linked li"),
    Shot("map", "/map", ".wheel .cluster"),
    Shot("search", "/search?q=" + quote("安装 OR install"), ".hits li"),
    Shot("rules", "/rules", "form.rules"),
    Shot("why", f"/why?url={quote(f'http://{PYTHON}/genindex.html', safe='')}", ".answer"),
    Shot("archive", "/archive", ".entries li"),
    Shot("kept", f"/view/99991231235959/{KEPT}", "iframe"),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of these pages")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    chosen = [shot for shot in SHOTS if not options.only or shot.name in options.only]
    with ExitStack() as stack:
        job, address = stack.enter_context(crawling())
        chrome = stack.enter_context(sync_playwright()).chromium
        browser = chrome.launch(executable_path=program("chromium", "chromium"), args=["--no-sandbox"])
        stack.callback(browser.close)
        inside = enter(browser, address)
        time.sleep(INDEX_S)
        subprocess.run([sys.executable, "-m", "nephila", "export", "search", str(job)], check=True, capture_output=True)
        time.sleep(CRAWL_S)
        for language, wide in itertools.product(LANGUAGES, (True, False)):
            take(browser, address.partition("/#")[0], inside, language, wide, chosen, options.to)
    print(f"{sum(path.stat().st_size for path in options.to.iterdir()):,} bytes")
    return 0


@contextmanager
def crawling() -> Iterator[tuple[Path, str]]:
    """A crawl with its window: its folder, and the printed address. It is killed in the end."""
    seeds = [f"http://{host}/" for host in (HANDBOOK, GUIDE, PYTHON, DOWN)]
    seeds += MadeUpWeb(OTHERS).seeds
    with tempfile.TemporaryDirectory(prefix="nephila-pictures-") as name, ExitStack() as stack:
        folder = Path(name)
        site = stack.enter_context(SiteServer(web(), folder / "log", delay_s=0.03))
        hosts = [seed.split("/")[2] for seed in seeds]
        routes = {f"{host}:80": ("127.0.0.1", site.port) for host in hosts}
        proxy = stack.enter_context(Proxy(routes=routes))
        job = folder / "handbooks"
        command = [sys.executable, "-m", "nephila", "crawl", *seeds, "-o", job.name, "--ui", "--quiet"]
        command += ["--proxy", f"http://{proxy.address}", *SETTINGS]
        crawl = stack.enter_context(subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True))
        stack.callback(crawl.kill)
        assert crawl.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", crawl.stderr.readline())
        assert found
        yield job, found[0]


def web() -> Site:
    """The hosts by their names; those that are no folder are made up."""
    handbooks = debian_handbook().parent
    folders = {HANDBOOK: handbooks / "en-US", GUIDE: handbooks / "zh-CN", PYTHON: python_docs()}
    others = MadeUpWeb(OTHERS)

    def site(host: str, path: str, n: int) -> Answer:
        name = host.partition(":")[0]
        if name == DOWN:
            return Answer(failure="closed")
        if name not in folders:
            return others(name, path, n)
        if path == "/":
            return Answer(listing(["/index.html"], name))
        file = folders[name] / unquote(path.partition("?")[0]).lstrip("/")
        if ".." in file.parts or not file.is_file():
            return NOT_FOUND
        return Answer(file.read_bytes(), media_type=mimetypes.guess_type(file.name)[0] or "application/octet-stream")

    return site


def enter(browser: Browser, address: str) -> StorageState:
    """What a browser holds that has come in."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("nav")
    state = context.storage_state()
    context.close()
    return state


def take(
    browser: Browser, desk: str, inside: StorageState, language: str, wide: bool, shots: list[Shot], to: Path
) -> None:
    """The pictures of one language and size. Wide is light in English and dark in Chinese; the phone is the other way round."""
    width, height = WIDE if wide else PHONE
    context = browser.new_context(
        storage_state=inside,
        locale=LANGUAGES[language],
        viewport={"width": width, "height": height},
        device_scale_factor=1 if wide else 1.5,
        color_scheme="light" if wide == (language == "en") else "dark",
    )
    page = context.new_page()
    for shot in shots:
        page.goto(desk + shot.path)
        for _ in range(30):  # the map is read over some seconds
            if page.locator(shot.there).count():
                break
            page.wait_for_timeout(1000)
            page.reload()
        make_ready(page, shot.name)
        (to / f"{shot.name}.{language}.{'wide' if wide else 'phone'}.webp").write_bytes(picture(page))
    context.close()


def make_ready(page: Page, name: str) -> None:
    """What somebody would do there before there is something to see."""
    if name == "rules":
        page.fill("textarea[name=exclude]", page.input_value("textarea[name=exclude]") + "\n/library/")
        page.click("form.rules button")
        page.wait_for_selector("#preview")
    if name == "now":
        page.wait_for_timeout(1500)
    if name == "kept":
        page.wait_for_timeout(2500)


def picture(page: Page) -> bytes:
    """What is to be seen, as WebP."""
    session = page.context.new_cdp_session(page)
    answer = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    session.detach()
    return base64.b64decode(answer["data"])


if __name__ == "__main__":
    sys.exit(main())
