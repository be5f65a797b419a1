"""How URLs are parsed and resolved, by the tests of the URL standard."""

from __future__ import annotations

from ada_url import join_url, normalize_url
from conformance.table import Run

from nephila.url.parse import host_of, normalise, resolve


def parsed(text: str, base: str | None) -> str | None:
    """The whole serialised URL by the parser that resolution is built on: every scheme, with its fragment."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        return normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        return None


def test_parsing_and_resolution(corpus: Run) -> None:
    with corpus("url/urltestdata.json") as run:
        for case in run.load("url/urltestdata.json"):
            if isinstance(case, str):
                continue
            text, base = case["input"], case["base"]
            taken = normalise(text) if base is None else resolve(base, text)
            href = None if case.get("failure") else case["href"]
            bare = href and href.partition("#")[0]
            rules = {}
            if href and case["protocol"] not in ("http:", "https:"):
                rules["other_scheme"] = (href, None)
            elif href and case["port"] == "0":
                rules["port_0"] = (href, None)
            run.check(f"{text!r} on {base!r}", (parsed(text, base), taken), (href, bare), **rules)


def test_host_names(corpus: Run) -> None:
    with corpus("url/toascii.json") as run:
        for case in run.load("url/toascii.json"):
            if isinstance(case, dict):
                url = normalise(f"https://{case['input']}/x")
                run.check(repr(case["input"]), url and host_of(url), case["output"])


def test_queries_in_the_charset_of_the_page(corpus: Run) -> None:
    with corpus("url/percent-encoding.json") as run:
        for case in run.load("url/percent-encoding.json"):
            if isinstance(case, str):
                continue
            href = f"https://doesnotmatter.invalid/?{case['input']}#{case['input']}"
            for charset, query in case["output"].items():
                got = resolve("https://page.invalid/", href, charset)
                run.check(f"{case['input']!r} in {charset}", got, f"https://doesnotmatter.invalid/?{query}")
