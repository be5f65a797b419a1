"""crawl.toml: the settings of a crawl as they were at its last start, and what another start changes in them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nephila import credentials
from nephila.config import FIXED, SECRET_HEADER, Config
from nephila.errors import ConfigError
from nephila.url.ways import without_secret
from nephila.values import FIELDS, WITHHELD, without_userinfo

START = "# The settings of this crawl, as they were at its last start."
END = "# The end of the settings: without this line the file was cut."
SEEDS_INLINE_MAX = 1_000
"""More seeds than this are written to seeds.txt: TOML reads 100,000 strings per second, a plain file millions."""


@dataclass(frozen=True)
class Change:
    """A key that differs from the last start; `rule` says what that means (`config.FREE`, `EFFECT`, `FIXED`)."""

    key: str
    old: Any
    new: Any
    rule: str


def changes(old: Config, new: Config) -> list[Change]:
    """What a resume changes, in the order of the keys. Secrets are compared, and shown, as crawl.toml writes them."""
    was, now = public(old)[0], public(new)[0]
    return [Change(k, was[k], now[k], extra["resume"]) for k, (_, extra) in FIELDS.items() if was[k] != now[k]]


def refuse_fixed(found: list[Change]) -> None:
    """Raises ConfigError listing the keys that a started crawl cannot change."""
    fixed = [f"{c.key} (was {c.old!r}, now {c.new!r})" for c in found if c.rule == FIXED]
    if fixed:
        raise ConfigError(f"cannot be changed in a started crawl: {', '.join(fixed)}; use another folder or --fresh")


def write(config: Config, path: Path) -> None:
    """Write crawl.toml (mode 0600, put in place by rename): every key with its meaning, never a secret."""
    values, withheld = public(config)
    if len(config.seeds) > SEEDS_INLINE_MAX:
        _replace(path.with_name("seeds.txt"), "".join(f"{seed}\n" for seed in values["seeds"]))
        values["seeds"] = ["@seeds.txt"]
    lines = [f"{START} docs/options.md explains every key.", ""]
    for key, (doc, _) in FIELDS.items():
        lines += [f"# {doc}", f"{key} = {_toml(values[key])}", ""]
        if key in withheld:
            lines.insert(-2, "# given at start, secret, and so not written here: it must be given again")
    lines += [f"[{WITHHELD}]", *(f"{key} = {_toml(what)}" for key, what in withheld.items()), ""] if withheld else []
    _replace(path, "\n".join([*lines, END, ""]))


def public(config: Config) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Values without secrets, and what was left out of which key."""
    values = {key: getattr(config, key) for key in FIELDS}
    withheld = {}
    names = [text.partition(":")[0].strip() for text in config.header]
    if any(SECRET_HEADER.fullmatch(name) for name in names):
        # All headers are withheld together: a list given again replaces the stored one, and none must get lost.
        values["header"], withheld["header"] = [], names
    if config.login:
        values["login"], withheld["login"] = [], [login.url for login in credentials.logins(config)]
    if any(map(credentials.holds_secret, config.auth)):
        values["auth"], withheld["auth"] = [], [credentials.parse(text).name for text in config.auth]
    if hidden := [bare for bare, rule in ((without_secret(rule), rule) for rule in config.proxy) if bare != rule]:
        values["proxy"], withheld["proxy"] = [], [f"user and password of {bare}" for bare in hidden]
    values["seeds"] = [without_userinfo(seed) for seed in config.seeds]
    if hidden := [bare for bare, seed in zip(values["seeds"], config.seeds, strict=True) if bare != seed]:
        withheld["seeds"] = hidden
    for key, (_, extra) in FIELDS.items():
        if extra["secret"] and key not in ("header", "auth", "login", "proxy") and values[key]:
            values[key], withheld[key] = type(values[key])(), [key]
    return values, withheld


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return (
            f"[{', '.join(map(_toml, value))}]"
            if len(value) < 2
            else "".join(["[\n", *(f"  {_toml(v)},\n" for v in value), "]"])
        )
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(str(key))} = {_toml(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves as it is.
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _replace(path: Path, text: str) -> None:
    """The old file or the new one, never half of one, whatever happens."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(fresh, path)
