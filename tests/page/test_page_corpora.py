"""Reading against the public corpora. Each prints what passed and lists every deviation with its reason."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest
from turbohtml import parse

from nephila.page import charset, media, sitemap
from nephila.page.harvest import Harvest
from nephila.types import Kind, Page

Look = Callable[..., Page]
ORIGIN = "http://127.0.0.1:8000"


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str, int, list[Any]], None]:
    def say(name: str, total: int, failed: list[Any]) -> None:
        with capsys.disabled():
            print(f"\n{name}: {total - len(failed)} passed, {len(failed)} failed")
            for line in failed:
                print("   ", str(line)[:200])

    return say


def load(path: Path) -> Any:
    if not path.exists():
        pytest.skip(f"corpora: {path.name} absent")
    return json.loads(path.read_bytes())


# --- links ----------------------------------------------------------------------------------------------------------


def plain(values: list[str]) -> list[str]:
    """As a set in order: the reader keeps a link once, and groups by what kind of element holds it."""
    return sorted({value.strip() for value in values})


def test_oracle_html5lib(corpora: Path, look: Look, report: Callable[..., None]) -> None:
    """Left out: `href` on svg and math elements that are no links there (the corpus says so), and `#fragment` alone."""
    cases, failed = load(corpora / "links/oracle_html5lib.json"), []
    for case in cases:
        wanted = [link["value"] for link in case["links"] if link["namespace"] == "html" and link["value"][:1] != "#"]
        links = look(case["html"]).links
        found = list(links.hrefs) if links else []
        if plain(found) != plain(wanted):
            failed.append((case["id"], plain(wanted), plain(found)))
    report("links/oracle_html5lib", len(cases), failed)
    assert not failed


MUTATED = {
    "m-webkit01-004": "href on an element named `di<a` is no link",
}


def test_oracle_mutated(corpora: Path, look: Look, report: Callable[..., None]) -> None:
    cases, failed = load(corpora / "links/oracle_mutated.json"), []
    for case in cases:
        links = look(case["html"]).links
        wanted, found = (
            set(case["urls"]),
            {h for h in links.hrefs if re.fullmatch(r"/u\d+|/end", h)} if links else set(),
        )
        if found != wanted:
            failed.append((case["id"], sorted(wanted ^ found), case["html"][:120]))
    report("links/oracle_mutated", len(cases), [(*case, MUTATED.get(case[0], "")) for case in failed])
    assert {case[0] for case in failed} == set(MUTATED)


def test_maze_tiers_1_and_2(corpora: Path, look: Look, report: Callable[..., None]) -> None:
    """The static files and routes, walked without a network: everything that needs no script must be named."""
    expected, routes = load(corpora / "links/maze/expected.json"), load(corpora / "links/maze/routes.json")
    by_path = {route["path"]: route for route in routes}
    found = walk(corpora / "links/maze/site", by_path, look)
    wanted = [case for case in expected if case["tier"] <= 2 and "/javascript/" not in case["url"]]
    failed = [(case["tier"], case["url"], case["via"]) for case in wanted if case["url"] not in found]
    report("links/maze tiers 1 and 2", len(wanted), failed)
    more = [case for case in expected if case["tier"] > 2]
    report("links/maze tier 3 and up", len(more), [(c["tier"], c["via"]) for c in more if c["url"] not in found])
    assert not failed


def walk(site: Path, routes: dict[str, Any], look: Look) -> dict[str, Kind]:
    """Paths named from `/` on (plus the sitemap, which robots.txt is for). A redirect's target counts as named."""
    found: dict[str, Kind] = {"/": Kind.PAGE, "/sitemap.xml": Kind.SITEMAP}
    todo = list(found)
    while todo:
        path = todo.pop()
        if found[path] is Kind.FORM or (page := visit(site, routes, path, found[path], look)) is None:
            continue
        for url, kind in page:
            target = url.removeprefix(ORIGIN)
            if url.startswith(ORIGIN) and target not in found:
                found[target] = kind
                todo.append(target)
    return found


def visit(site: Path, routes: dict[str, Any], path: str, kind: Kind, look: Look) -> list[tuple[str, Kind]] | None:
    route, file = routes.get(path), site / (path + ("index.html" if path.endswith("/") else "")).strip("/")
    if route is None and not (path.endswith((".html", "/")) and file.is_file()):
        return None
    body, headers, status = "", [("content-type", "text/html; charset=utf-8")], 200
    if route is None:
        body = file.read_text(encoding="utf-8")
    else:
        body = route["body"].replace("{{ORIGIN}}", ORIGIN).replace("{{HOST}}", ORIGIN[7:])
        headers = [(name.lower(), value.replace("{{ORIGIN}}", ORIGIN)) for name, value in route["headers"].items()]
        status = route["status"]
    if status == 301:
        return [(urljoin(ORIGIN, value), Kind.REDIRECT) for name, value in headers if name == "location"]
    page = look(body, None, url=ORIGIN + path, headers=headers, kind=kind, status=status)
    return [(link.url, link.kind) for link in page.links or ()]


# --- charsets -------------------------------------------------------------------------------------------------------


def test_labels(corpora: Path, report: Callable[..., None]) -> None:
    """Two labels are disbelieved on purpose: see the module."""
    labels = load(corpora / "encoding/labels.json")
    failed = [
        (label, name, charset.canonical(label))
        for label, name in labels.items()
        if charset.canonical(label) != name.lower()
    ]
    report("encoding/labels", len(labels), failed)
    assert failed == [("unicode", "UTF-16LE", "")]
    assert [charset.canonical(f" {label.upper()}\n") for label in ("gbk", "utf8")] == ["gbk", "utf-8"]
    assert charset.canonical("none") == charset.canonical("nonsense") == charset.canonical("") == ""


@pytest.mark.parametrize("file", ["tests1.dat", "tests2.dat", "test-yahoo-jp.dat"])
def test_html5lib_encoding(corpora: Path, file: str, report: Callable[..., None]) -> None:
    """The corpus assumes windows-1252 for pages that declare nothing; ours guesses, so for these it is asked without."""
    path = corpora / "encoding/html5lib" / file
    if not path.exists():
        pytest.skip(f"corpora: {file} absent")
    cases = re.findall(rb"#data\n(.*?)\n#encoding\n([^\n]+)\n", path.read_bytes(), re.S)
    failed = []
    for content, label in cases:
        wanted = charset.canonical(label.decode()) or label.decode().lower()
        tree = charset.document(content, "")
        name = tree.encoding if tree.encoding_confidence == "certain" else parse(content).encoding
        if (name or "").lower() != wanted:
            failed.append((wanted, name, content[-120:]))
    report(f"encoding/html5lib/{file}", len(cases), failed)
    assert cases
    assert not failed


def test_legacy_decoders(corpora: Path, report: Callable[..., None]) -> None:
    pairs = load(corpora / "encoding/pairs/index.json")
    failed = []
    for pair in pairs:
        content, ref = (gzip.decompress((corpora / "encoding" / pair[key]).read_bytes()) for key in ("in", "ref"))
        text, name = charset.decode(content, pair["encoding"])
        if name != pair["encoding"].lower() or text != ref.decode():
            failed.append((pair["in"], name))
    report("encoding/pairs", len(pairs), failed)
    assert not failed


# --- media types ----------------------------------------------------------------------------------------------------


def serialised(found: media.MediaType | None) -> str | None:
    if found is None:
        return None
    parts = [found.essence]
    for name, value in found.parameters.items():
        bare = re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", value)
        parts.append(f"{name}={value}" if bare else name + '="' + re.sub(r'(["\\])', r"\\\1", value) + '"')
    return ";".join(parts)


@pytest.mark.parametrize("file", ["mime-types.json", "generated-mime-types.json"])
def test_mime_types(corpora: Path, file: str, report: Callable[..., None]) -> None:
    cases = [case for case in load(corpora / "mime" / file) if isinstance(case, dict)]
    failed = []
    for case in cases:
        found = media.parse(case["input"])
        name = charset.canonical(found.parameters.get("charset", "")) if found else ""
        if serialised(found) != case["output"] or ("encoding" in case and name != (case["encoding"] or "").lower()):
            failed.append((case, serialised(found), name))
    report(f"mime/{file}", len(cases), failed)
    assert not failed


def test_content_types(corpora: Path, look: Look, report: Callable[..., None]) -> None:
    cases, failed = load(corpora / "mime/content-types.json"), []
    for case in cases:
        found = media.extract(", ".join(case["contentType"]))
        name = charset.canonical(found.parameters.get("charset", "")) if found else ""
        page = look(b"", None, headers=[("content-type", value) for value in case["contentType"]])
        if (
            serialised(found) != case["mimeType"]
            or name != (case["encoding"] or "").lower()
            or page.media_type != (case["mimeType"] or "").partition(";")[0]
        ):
            failed.append((case, serialised(found), page.media_type))
    report("mime/content-types", len(cases), failed)
    assert not failed


# --- sitemaps -------------------------------------------------------------------------------------------------------

EITHER = {
    "sm-testSitemapXXE-01": "a DOCTYPE is stepped over, not a reason to refuse the file (its alternative passes)",
    "sm-testLenientParser-01": "a sitemap may list URLs outside its folder (its alternative passes)",
    "sm-testSitemapParserBrokenXml-01": "what can be read of broken XML is taken",
    "sm-testSitemapTXTfilterUrls-01": "a line without scheme is no URL; resolving is the URL room's work",
    "sm-testSitemapXMLfilterUrls-01": "the missing http:// is not added",
}


def test_sitemaps(corpora: Path, look: Look, report: Callable[..., None]) -> None:
    cases, failed, other = load(corpora / "sitemaps/expected.json"), [], []
    for case in cases:
        content = (corpora / "sitemaps" / case["file"]).read_bytes()
        content = content.replace(
            b"{{DO_NOT_VISIT_PATH}}", str(corpora / "sitemaps/upstream/do-not-visit.txt").encode()
        )
        page = look(content, case.get("content_type"), url=case["sitemap_url"], kind=Kind.SITEMAP)
        found = [urldefrag(link.url).url for link in page.links or ()]
        form, _ = sitemap.read(content, "", Harvest(20_000))
        right = len(found) == case["urls_count"] and (found[:1] or [None])[0] == case["first_url"]
        right = right and form == (case["type"] or "") and set(case.get("urls", ())) <= set(found)
        right = right and {str(k) for k in (page.links.kinds if page.links else ())} <= {
            "sitemap" if case["type"] == "index" else "page"
        }
        assert not set(case.get("must_not_contain", ())) & set(found), case["id"]
        if not right:
            line = (case["id"], EITHER.get(case["id"], ""), case["type"], form, case["urls_count"], found[:3])
            (other if case["id"] in EITHER else failed).append(line)
    report("sitemaps", len(cases), failed + other)
    assert not failed
