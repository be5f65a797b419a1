"""Labels, decoders and the charset of a page, by the tests of the Encoding and HTML standards."""

from __future__ import annotations

import gzip
import re

from conformance.table import Run
from turbohtml import parse

from nephila.page import charset


def test_labels(corpus: Run) -> None:
    with corpus("encoding/labels.json") as run:
        for label, name in run.load("encoding/labels.json").items():
            spelled = charset.canonical(label), charset.canonical(f" {label.upper()}\n")
            run.check(label, spelled, (name.lower(),) * 2)


def test_legacy_decoders(corpus: Run) -> None:
    """Line by line: a table of characters is a case per line."""
    with corpus("encoding/pairs") as run:
        for pair in run.load("encoding/pairs/index.json"):
            content, ref = (gzip.decompress(run.bytes(f"encoding/{pair[key]}")) for key in ("in", "ref"))
            text, name = charset.decode(content, pair["encoding"])
            assert name == pair["encoding"].lower()
            lines, wanted = (whole.removesuffix("\n").split("\n") for whole in (text, ref.decode()))
            assert len(lines) == len(wanted), pair["in"]
            for number, (line, right) in enumerate(zip(lines, wanted, strict=True), 1):
                run.check(f"{pair['in']}:{number}", line, right)


def test_charset_of_a_page(corpus: Run) -> None:
    """The corpus assumes windows-1252 for pages that declare nothing; ours guesses, so for these the parser is asked without."""
    with corpus("encoding/html5lib") as run:
        for file in sorted(run.folder.glob("encoding/html5lib/*.dat")):
            cases = re.findall(rb"#data\n(.*?)\n#encoding\n([^\n]+)(?:\n|\Z)", file.read_bytes(), re.S)
            for number, (content, label) in enumerate(cases, 1):
                tree = charset.document(content, "")
                name = tree.encoding if tree.encoding_confidence == "certain" else parse(content).encoding
                wanted = charset.canonical(label.decode()) or label.decode().lower()
                run.check(f"{file.name}:{number}", (name or "").lower(), wanted)
