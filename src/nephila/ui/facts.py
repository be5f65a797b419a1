"""What the JSON API takes and gives, field by field; the description of the API is made from these."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nephila.look.address import Attempt, Linked, Linkers, Seen
from nephila.look.urls import Row
from nephila.views.search import Hit

ADDRESS_MAX, SETTING_MAX, SETTINGS_MAX = 3072, 200, 8
"""Characters, and how many: together they fit into the head of a request (64 KiB) even when all of them are percent-encoded."""
Text = Annotated[str, Meta(max_length=SETTING_MAX)]
Count = Annotated[int, Meta(ge=0)]


class HostShort(msgspec.Struct, frozen=True):
    """A host that will take long."""

    origin: str
    queued: Count
    delay: Annotated[float, Meta(description="pause, seconds")]
    failures: Annotated[int, Meta(description="in a row")]
    ms: Annotated[float, Meta(description="time to first byte")]


class Trap(msgspec.Struct, frozen=True):
    """A rule that refuses traps."""

    rule: str
    count: Count
    examples: list[str]


class Parked(msgspec.Struct, frozen=True):
    """A host that asked for a long wait."""

    origin: str
    until: Annotated[float, Meta(description="Unix time")]


class Proxy(msgspec.Struct, frozen=True):
    """A proxy of a running crawl, without its password."""

    proxy: str
    resting_since: Annotated[float | None, Meta(description="Unix time; null: it works")]
    reason: str


class Forecast(msgspec.Struct, frozen=True):
    """Seconds until the end: it lies between `low_s` and `high_s`."""

    low_s: float
    likely_s: float
    high_s: float


class LimitedBy(msgspec.Struct, frozen=True):
    """What holds the crawl up."""

    what: Annotated[str, Meta(description="manners, connections, cpu, disk, dns, network, paused or nothing")]
    share: Annotated[float, Meta(ge=0, le=1, description="of the last minute")]
    hosts: list[str]


class Warning(msgspec.Struct, frozen=True):
    """What somebody should know about."""

    kind: str
    text: str
    since: Annotated[float, Meta(description="Unix time")]
    name: Annotated[str, Meta(description="of the sentence: an event of the log, or the kind")]
    facts: Annotated[dict[str, str | int | float], Meta(description="what the sentence says, by name")]


class Effect(msgspec.Struct, frozen=True):
    """What other rules have done to stored URLs."""

    back: Annotated[int, Meta(description="were refused and are queued now")] = 0
    gone: Annotated[int, Meta(description="were queued and are refused now")] = 0
    near: Annotated[int, Meta(description="were too deep and are queued now")] = 0
    far: Annotated[int, Meta(description="were queued and are too deep now")] = 0
    looked_at: int = 0
    of: int = 0


class Status(msgspec.Struct, frozen=True):
    """Where the crawl stands: the keys of `nephila status --json`, of committed visits."""

    running: Annotated[bool, Meta(description="a crawl answers, so it can be steered")]
    state: str
    found: Annotated[int, Meta(description="addresses in scope met so far")]
    queued: Count
    in_flight: Count
    outcomes: Annotated[dict[str, int], Meta(description="outcome → count of visits")]
    reasons: Annotated[dict[str, int], Meta(description="the most frequent reasons of what was not kept → count")]
    bytes: Annotated[int, Meta(description="of bodies, as they came over the wire")]
    seconds: Annotated[float, Meta(description="of crawling, all runs together")]
    pages_per_second: float
    hosts: list[HostShort]
    eta_seconds: Annotated[float | None, Meta(description="until the queue is empty if nothing new is found")]
    offline_since: Annotated[float | None, Meta(description="Unix time since which no host answers")]
    proxies: list[Proxy]
    workers: Annotated[int, Meta(description="worker processes; 0 when nothing runs")]
    folder: str
    archive_files: int
    traps: list[Trap]
    parked: list[Parked]
    changing: Annotated[Effect | None, Meta(description="what a change of the rules that is under way has done so far")]
    forecast: Annotated[Forecast | None, Meta(description="null: too little is known, or nothing runs")]
    limited_by: Annotated[list[LimitedBy], Meta(description="the most first")]
    warnings: list[Warning]
    unknown: Annotated[list[str], Meta(description="what was not counted, because it takes too long")]


class Done(msgspec.Struct, frozen=True):
    """What the crawl says to an order."""

    done: str


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to end."""

    now: Annotated[bool, Meta(description="do not wait for running requests; they are asked again")] = False


class HostOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do with a host."""

    host: Annotated[
        str,
        Meta(description="an origin (https://example.com), or a name: all its origins", min_length=1, max_length=300),
    ]
    action: Literal["pause", "resume", "slow", "drop"]
    value: Annotated[
        Annotated[float, Meta(ge=0, le=86400)] | None,
        Meta(description="of slow: its pause in seconds (null: twice as long as now)"),
    ] = None


Setting = str | int | float | bool | list[str]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings to go on with."""

    values: Annotated[
        dict[str, Setting],
        Meta(
            min_length=1,
            description="key → value; a list's key followed by + or - adds to the list, or takes out of it",
        ),
    ]


class Changed(msgspec.Struct, frozen=True):
    """What the crawl says to other settings."""

    done: str
    effect: Effect


class Why(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An address to be explained."""

    url: Annotated[
        str, Meta(description="any address, also one that was never met", min_length=1, max_length=ADDRESS_MAX)
    ]
    set: Annotated[
        list[Text], Meta(description="KEY=VALUE: say what these settings would do, together", max_length=SETTINGS_MAX)
    ] = []


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
