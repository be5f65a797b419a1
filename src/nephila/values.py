"""How settings are written by people: sizes, durations, yes and no; what is secret; which word was probably meant."""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Iterable
from typing import Any

from nephila.config import Config, fields

FIELDS = fields()
TYPES: dict[str, Any] = typing.get_type_hints(Config)
SIZES = frozenset({"limit_rate", "min_free"}) | {n for n in TYPES if ("bytes" in n or "memory" in n)}
WITHHELD = "withheld"
"""The table of crawl.toml that names the secrets it does not hold."""

BOOL = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{u}ib": 1024**i for i, u in enumerate("kmgt", 1)} | {f"{u}b": 1000**i for i, u in enumerate("kmgt", 1)}
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def size(text: str) -> int:
    """`10MB` → 10,000,000, `1GiB` → 1,073,741,824, `10k` → 10,000. Raises ValueError."""
    match = re.fullmatch(r"(-?[\d_]*\.?\d+)\s*([a-z]*)", text.strip().lower())
    if not match or match[2] not in _UNITS:
        raise ValueError(text)
    number = float(match[1]) if "." in match[1] else int(match[1])
    if number * _UNITS[match[2]] % 1:
        raise ValueError(text)
    return int(number * _UNITS[match[2]])


def duration(text: str) -> float:
    """`90` → 90.0, `10m` → 600.0, `1h30m` → 5400.0, `500ms` → 0.5 seconds. Raises ValueError."""
    if re.fullmatch(r"-?[\d.]+", text):
        return float(text)
    if not re.fullmatch(r"([\d.]+\s*(ms|s|m|h|d)\s*)+", text.lower()):
        raise ValueError(text)
    parts = re.findall(r"([\d.]+)\s*(ms|s|m|h|d)", text.lower())
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def expected(key: str) -> str:
    if key == "extract":
        return "rules in a settings file are expected, each one begun by [[extract]]"
    if key in SIZES:
        return "a size is expected, such as 500000, 10MB or 1GiB"
    if key == "delay":
        return "auto or a duration is expected, such as auto, 0, 2 or 500ms"
    return {
        bool: "true or false is expected (also 1/0, yes/no, on/off)",
        int: "a whole number is expected, such as 100 or 10k",
        float: "a duration is expected, such as 90 (seconds), 10m or 2h",
        str: "a text is expected",
    }.get(TYPES[key], "a list of texts is expected")


def option_name(key: str) -> str:
    """`max_pages` → `--max-pages`."""
    return "--" + key.replace("_", "-")


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """The word that was probably meant, or ""."""
    return next(iter(difflib.get_close_matches(word, list(words), 1, cutoff)), "")


_USERINFO = re.compile(r"^\s*((?:[a-z][a-z0-9+.\-]*:[/\\]+|https?:|[/\\]+)?)[^/\\?#]*@", re.IGNORECASE)


def without_userinfo(address: str) -> str:
    """`https://user:password@host/` → `https://host/`; with or without a scheme."""
    return _USERINFO.sub(r"\1", address) if "@" in address else address
