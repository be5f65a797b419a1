"""What an explanation is: steps in order, the sentence, and what would change it."""

from __future__ import annotations

from typing import Any

import msgspec


class Step(msgspec.Struct, frozen=True):
    """One thing that happened to the address, or was asked of it. `facts` are the same for programs; `urls` among them may be
    explained, too."""

    name: str
    """`address`, `same`, `found`, `rule`, `depth`, `robots`, `guard`, `host`, `queue`, `attempt`, `outcome`, `archive`,
    `links`, `path` or `near`."""
    text: str
    facts: dict[str, Any] = {}


class Would(msgspec.Struct, frozen=True):
    """What other settings would do. `set`: keys and their values; `retry`: outcomes that have to be queued again (`--retry`)."""

    set: dict[str, Any]
    options: str
    """The same as options of `nephila crawl`."""
    fetched: bool
    sentence: str
    retry: list[str] = []


class Explanation(msgspec.Struct, frozen=True):
    """Why an address is there or not."""

    url: str
    """as it is fetched; "" when it is none"""
    key: str
    verdict: str
    """`kept`, `moved`, `failed` (asked for, nothing kept of it), `waiting`, `refused`, `too_deep`, `dropped`, `elsewhere` (met
    in another spelling), `unseen`, `unknown` (not looked up in time), `hidden` (fetched with a credential that was not named) or `invalid`"""
    rule: str
    """the rule or reason that decided, or "" """
    sentence: str
    steps: list[Step] = []
    would: list[Would] = []
    unknown: list[str] = []
    """What could not be asked in the time there was."""


class Refused(msgspec.Struct, frozen=True):
    """What one rule has refused. `stored` of `count` are in table `url`, the others were only counted."""

    rule: str
    sentence: str
    count: int
    stored: int
    examples: list[str]


class Refusals(msgspec.Struct, frozen=True):
    """All of them, the largest first. `unknown`: what could not be counted in the time there was."""

    rules: list[Refused]
    unknown: list[str] = []
