"""Settings that are changed while a crawl runs: which ones may be, how people write them, which are rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nephila import settings
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.values import TYPES, nearest

RULES = (
    "scope",
    "include",
    "exclude",
    "embeds",
    "sitemaps",
    "max_depth",
    "ignore_nofollow",
    "traps",
    "follow_logout",
)
"""What decides which URLs are wanted: stored ones are held against them anew."""
BUDGETS = ("max_pages", "max_bytes", "max_time", "site_pages", "site_hosts")
MANNERS = (
    "delay",
    "per_host",
    "delay_min_s",
    "delay_max_s",
    "crawl_delay_max_s",
    "tries",
    "retry_wait_s",
    "retry_wait_max_s",
    "host_failures_max",
    "host_refusals_max",
    "retry_after_max_s",
)
SETTABLE = (*RULES, *BUDGETS, *MANNERS)
"""Everything that may be set while a crawl runs: what is asked for anew each time, or can be told to everybody."""
SEEDED = (*RULES, "seeds", "cookies")
"""What the rules are reckoned from at a start."""


def changed(config: Config, values: Mapping[str, Any]) -> Config:
    """`config` with other values, written as people write them: `{"max_depth": "3", "exclude": ["/a/", "/b/"]}`. A list's key
    followed by + or - adds to the list, or takes out of it: `{"exclude+": "/c/"}`.

    Raises ConfigError for what is no setting, may not be set while a crawl runs, or cannot be.
    """
    given = dict[str, Any]()
    for word, raw in values.items():
        name = word.rstrip("+-")
        if name not in SETTABLE:
            if name in TYPES:
                raise ConfigError(f"{name} cannot be set while a crawl runs; what can: {', '.join(SETTABLE)}")
            near = nearest(name, SETTABLE)
            raise ConfigError(
                f"{name} is not a key of Nephila{f'; did you mean {near}?' if near else ' (docs/options.md)'}"
            )
        given[name] = _entries(given.get(name, getattr(config, name)), word, raw) if word != name else raw
    read = settings.load(given, {})
    new = msgspec.structs.replace(config, **{name: getattr(read, name) for name in given})
    settings.check(new)
    if config.max_depth < 0 <= new.max_depth:
        raise ConfigError(
            "max_depth: depths are not kept up in a crawl without a limit; stop it, and carry on with"
            f" --max-depth {new.max_depth}"
        )
    if (config.site_pages == 0) != (new.site_pages == 0):
        raise ConfigError("site_pages: a crawl that runs without such a budget, or with one, goes on so: stop it first")
    return new


def _entries(now: Any, word: str, raw: Any) -> list[str]:
    """The list `now` with these entries more, or without them."""
    name, sign = word[:-1], word[-1]
    if TYPES[name] != list[str]:
        raise ConfigError(f"{word}: {name} is not a list")
    given = raw.splitlines() if isinstance(raw, str) else list(raw)
    if sign == "-":
        for one in given:
            if one not in now:
                raise ConfigError(f"{word}: {one!r} is not in the list")
        return [one for one in now if one not in given]
    return [*now, *(one for one in given if one not in now)]


def are_rules(old: Config, new: Config) -> bool:
    """Stored URLs have to be held against the rules anew."""
    return any(getattr(old, name) != getattr(new, name) for name in SEEDED)


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """Key → (old, new), of those that may be set while a crawl runs."""
    return {
        name: (getattr(old, name), getattr(new, name)) for name in SETTABLE if getattr(old, name) != getattr(new, name)
    }
