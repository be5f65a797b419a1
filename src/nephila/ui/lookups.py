"""What the JSON API takes and gives, field by field, where something is looked up: hosts, addresses, words."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nephila.look.address import Attempt, Linked, Linkers, Seen
from nephila.look.urls import Row
from nephila.ui.facts import ADDRESS_MAX, Count
from nephila.views.search import Hit


class Hosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which hosts, and in which order."""

    text: Annotated[str, Meta(description="somewhere in the origin", max_length=200)] = ""
    shown: Annotated[
        Literal["all", "queued", "failing", "held"],
        Meta(description="held: paused, slowed, dropped, parked or given up"),
    ] = "all"
    sort: Literal["queued", "origin", "pages", "bytes", "delay", "failures", "ttfb"] = "queued"
    falling: bool = True
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Host(msgspec.Struct, frozen=True):
    """A host as of the last commit."""

    origin: str
    ip: str
    queued: Count
    delay: Annotated[float, Meta(description="pause, seconds")]
    ttfb: Annotated[float, Meta(description="time to first byte, seconds")]
    failures: Annotated[int, Meta(description="in a row")]
    parked_until: Annotated[float, Meta(description="Unix time; 0: it is not")]
    verdict: Annotated[str, Meta(description="how its addresses end because it was given up")]
    state: Annotated[str, Meta(description="paused, dropped, or slow SECONDS, by somebody's order")]
    robots_state: str
    robots_status: int
    crawl_delay: Annotated[float, Meta(description="seconds; -1: none is asked for")]
    pages: Count
    bytes: Count


class HostTable(msgspec.Struct, frozen=True):
    """Hosts, and how many there are in all with the same words."""

    hosts: list[Host]
    total: Count


class Urls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which addresses, and in which order. What is not given asks for nothing."""

    outcome: Literal[
        "",
        "OK",
        "UNCHANGED",
        "MOVED",
        "DENIED",
        "REFUSED",
        "UNREACHABLE",
        "UNREADABLE",
        "TOO_LARGE",
        "SKIPPED",
        "BLOCKED",
    ] = ""
    state: Literal["", "queued", "done", "refused", "too_deep", "parked", "dropped"] = ""
    status: Annotated[
        str, Meta(description="a code, or its class, as in 4xx", pattern="^([1-9]([0-9]{2}|xx))?$", max_length=3)
    ] = ""
    media_type: Annotated[str, Meta(description="may end in /*", max_length=100)] = ""
    kind: Literal[
        "", "page", "embed", "redirect", "canonical", "sitemap", "feed", "script", "form", "robots", "login", "probe"
    ] = ""
    depth: Annotated[int, Meta(ge=-1, le=1_000_000, description="-1: any")] = -1
    host: Annotated[str, Meta(description="an origin, or a name: all its origins", max_length=300)] = ""
    text: Annotated[str, Meta(description="somewhere in address or title", max_length=200)] = ""
    regex: Annotated[str, Meta(description="found in the address (RE2)", max_length=500)] = ""
    sort: Literal["found", "visited", "depth", "status", "bytes", "ms", "url"] = "found"
    falling: bool = False
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    cursor: Annotated[
        str,
        Meta(
            description="`next` or `on` of an answer to the same question", max_length=6000, pattern="^[A-Za-z0-9_=-]*$"
        ),
    ] = ""


class UrlTable(msgspec.Struct, frozen=True):
    """Addresses with their last visit."""

    urls: list[Row]
    total: Annotated[int | None, Meta(description="of the whole table; null: it was not counted")]
    looked: Annotated[int, Meta(description="addresses looked through in the time there was")]
    of: Annotated[int, Meta(description="addresses in all")]
    next: Annotated[str | None, Meta(description="cursor for the next of these; null: there are no more")]
    on: Annotated[str | None, Meta(description="cursor for what was not looked through; null: all was")]


class OneUrl(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which address."""

    url: Annotated[str, Meta(description="as it was met, or without a scheme", min_length=1, max_length=ADDRESS_MAX)]
    after: Annotated[
        int,
        Meta(ge=0, le=1 << 53, description="`looked` of an answer: go on looking for pages that link to it from there"),
    ] = 0


class UrlFound(msgspec.Struct, frozen=True):
    """One address: its row, its visits (latest first), what links to it and what it links to."""

    url: Row
    parent: Annotated[Row | None, Meta(description="where it was found first; null: a seed")]
    visits: list[Seen]
    attempts: list[Attempt]
    linkers: Linkers
    links: list[Linked]


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A search, as `nephila search` takes it."""

    q: Annotated[
        str,
        Meta(
            description='words, "a phrase", -without, one OR other, title: host: lang: name: date:',
            min_length=1,
            max_length=1000,
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=200)] = 10
    with_noindex: Annotated[bool, Meta(description="pages that ask not to be indexed, too")] = False


class Found(msgspec.Struct, frozen=True):
    """What was found, best first."""

    query: str
    count: Annotated[int, Meta(description="documents that match")]
    hits: list[Hit]
    ms: float
    behind: Annotated[int, Meta(description="visits of the crawl that the index does not know yet")]
