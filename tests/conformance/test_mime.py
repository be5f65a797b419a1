"""Content-Type, by the tests of the MIME sniffing and Fetch standards."""

from __future__ import annotations

import re

import pytest
from conformance.page import look
from conformance.table import Run

from nephila.page import charset, media


def serialised(found: media.MediaType | None) -> str | None:
    if found is None:
        return None
    parts = [found.essence]
    for name, value in found.parameters.items():
        bare = re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", value)
        parts.append(f"{name}={value}" if bare else name + '="' + re.sub(r'(["\\])', r"\\\1", value) + '"')
    return ";".join(parts)


def encoding(found: media.MediaType | None) -> str:
    return charset.canonical(found.parameters.get("charset", "")) if found else ""


@pytest.mark.parametrize("name", ["mime/mime-types.json", "mime/generated-mime-types.json"])
def test_media_types(corpus: Run, name: str) -> None:
    with corpus(name) as run:
        for case in run.load(name):
            if isinstance(case, dict):
                found = media.parse(case["input"])
                asked = "encoding" in case
                wanted = case["output"], (case["encoding"] or "").lower() if asked else ""
                run.check(repr(case["input"]), (serialised(found), encoding(found) if asked else ""), wanted)


def test_headers_of_several_values(corpus: Run) -> None:
    """Once joined by a comma, and once as lines of their own."""
    with corpus("mime/content-types.json") as run:
        for case in run.load("mime/content-types.json"):
            found = media.extract(", ".join(case["contentType"]))
            page = look(b"", None, headers=[("content-type", value) for value in case["contentType"]])
            essence = (case["mimeType"] or "").partition(";")[0]
            wanted = case["mimeType"], (case["encoding"] or "").lower(), essence
            run.check(repr(case["contentType"]), (serialised(found), encoding(found), page.media_type), wanted)
