"""Google's crawl-maze on sockets, walked by the engine: every way to name a URL, and one that must never be asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands.stranger import FINISHED, Prompt
from conformance.table import Corpus, Run

from nephila.testing.server import SiteServer
from nephila.testing.sites import HTML, NOT_FOUND, Answer, Site

FORBIDDEN = "/test/misc/known-files/robots.txt.found"


def maze(run: Corpus) -> Site:
    """Its routes, its files, and an answer behind every URL that is to be found."""
    folder = run.folder / "links/maze"
    routes = {route["path"]: route for route in run.load("links/maze/routes.json")}
    ends = {case["url"] for case in run.load("links/maze/expected.json")}

    def site(host: str, path: str, n: int) -> Answer:
        file = folder / "site" / (path + ("index.html" if path.endswith("/") else "")).strip("/")
        if route := routes.get(path):
            headers = {name: value.replace("{{ORIGIN}}", f"http://{host}") for name, value in route["headers"].items()}
            body = route["body"].replace("{{ORIGIN}}", f"http://{host}").replace("{{HOST}}", host)
            media_type = headers.pop("Content-Type", HTML)
            return Answer(body.encode(), route["status"], media_type, tuple(headers.items()))
        if path in ends:
            return Answer(b"found", media_type="text/plain")
        if not file.is_file():
            return NOT_FOUND
        kinds = {".css": "text/css", ".js": "text/javascript"}
        return Answer(file.read_bytes(), media_type=kinds.get(file.suffix, HTML))

    return site


@pytest.mark.parametrize(("name", "options"), [("links/maze", []), ("links/maze, guessed links", ["--guess-links"])])
def test_maze(corpus: Run, tmp_path: Path, name: str, options: list[str]) -> None:
    with corpus(name) as run, SiteServer(maze(run), tmp_path / "hits.log") as server:
        (tmp_path / "home").mkdir()
        prompt = Prompt(tmp_path / "home")
        said = prompt.crawl(server.url(), "-o", "job", "--sitemaps", "--per-host", "8", *options)
        assert said.code == FINISHED, said.text
        known = {url.removeprefix(server.url("")) for url in known_urls(prompt, "job")}
        asked = {hit.path for hit in server.hits()}
        assert FORBIDDEN not in asked
        for case in run.load("links/maze/expected.json"):
            url = case["url"]
            assert case["method"] == "GET" or url not in asked, url
            run.check(url, url in known, True, **why(case, options))


def why(case: dict[str, Any], options: list[str]) -> dict[str, object]:
    """Tiers 1 and 2 are links; the others are in scripts, comments, text and obsolete attributes."""
    return {"only_guessed": False} if case["tier"] >= 3 and not options else {}


def known_urls(prompt: Prompt, job: str) -> list[str]:
    """Whatever the crawl met, also what it only wrote down (the targets of forms and pings)."""
    return [url for (url,) in prompt.rows(job, "SELECT url FROM url")]
