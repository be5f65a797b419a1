"""RSS (0.9x, 1.0, 2.0) and Atom: the pages that the entries of a feed lead to."""

from __future__ import annotations

from collections.abc import Iterator

from nephila.page import xml
from nephila.page.harvest import Harvest
from nephila.types import Kind

_FORMS = {"rss": "rss", "rdf": "rss", "feed": "atom"}
_LONGEST_TEXT = 4096


def read(text: str, harvest: Harvest, *, follow: bool = True) -> str:
    """Put the entries' links of a feed into `harvest`; returns `rss`, `atom` or "" when it is none.

    `follow`: the feed's own next pages (RFC 5005) are links of kind feed too.
    """
    form = ""
    for event, name, _ in xml.events(text):
        if event == xml.OPEN:
            form = _FORMS.get(xml.split_name(name)[1], "")
            break
    if form:
        for href, kind in _links(text):
            if kind is Kind.PAGE or follow:
                harvest.add(href, kind, "link", "")
    return form


def base(text: str) -> str:
    """The `xml:base` of the root element, "" when it has none."""
    for event, _, attributes in xml.events(text):
        if event == xml.OPEN:
            return xml.attribute(attributes, "xml:base")
    return ""


def _links(text: str) -> Iterator[tuple[str, Kind]]:
    """Each entry gives its first `link`, or a `guid` that is one; outside of entries only `rel=next` counts."""
    inside, wanted = False, ""
    link, guid, pieces = "", "", [""]
    for event, name, attributes in xml.events(text):
        if event == xml.TEXT:
            if wanted:
                pieces.append(name[:_LONGEST_TEXT])
            continue
        own, local = xml.split_name(name)
        if wanted:
            value = "".join(pieces).strip()
            if wanted == "link":
                link = link or value
            elif "://" in value:  # isPermaLink is too often wrong to be asked
                guid = guid or value
            wanted = ""
        if local in ("item", "entry"):
            if inside and (link or guid):
                yield link or guid, Kind.PAGE
            inside, link, guid = event == xml.OPEN, "", ""
        elif event == xml.OPEN and local == "link":
            rel = xml.attribute(attributes, "rel").lower()
            href = xml.attribute(attributes, "href")
            if inside and href and rel in ("", "alternate"):
                link = link or href
            elif inside and not href and not own:
                wanted = "link"
            elif not inside and href and rel in ("next", "prev-archive"):
                yield href, Kind.FEED
        elif event == xml.OPEN and local == "guid" and inside:
            wanted = "guid"
        pieces.clear()
    if inside and (link or guid):
        yield link or guid, Kind.PAGE
