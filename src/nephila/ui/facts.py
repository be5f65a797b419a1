"""What the JSON API takes and gives, field by field, about the crawl as a whole: where it stands, orders, settings, why.

The description of the API is made from these, and from those of `lookups`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

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
    counted: Annotated[int, Meta(description="were refused and only counted: kept pages are read again for them")] = 0
    looked_at: int = 0
    of: int = 0


class Reread(msgspec.Struct, frozen=True):
    """Kept pages are read again, for addresses that were only counted."""

    after: Annotated[int, Meta(description="the last visit that was gone through")]
    until: Annotated[int, Meta(description="the last one to go through")]
    pages: Annotated[int, Meta(description="read again")]
    back: Annotated[int, Meta(description="URLs that are queued by it")]
    unread: Annotated[int, Meta(description="pages that did not read back")]


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
    rereading: Annotated[Reread | None, Meta(description="null: no kept pages are being read again")]
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
