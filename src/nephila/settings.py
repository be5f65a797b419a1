"""From options, environment and files to one checked `Config`, and back to crawl.toml.

Precedence: option, `NEPHILA_…` variable, `--config` file, DIR/crawl.toml, default. A list of a higher source replaces
that of a lower one; only seeds add up, because a resumed crawl keeps what it was started from. Secrets are used and
never written: crawl.toml says in its table `withheld` which ones have to be given again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nephila import credentials
from nephila.checks import CHOICES, check
from nephila.config import SECRET_HEADER, Config
from nephila.errors import ConfigError
from nephila.stored import END, SEEDS_INLINE_MAX, START, Change, changes, public, refuse_fixed, write
from nephila.values import (
    BOOL,
    FIELDS,
    TYPES,
    WITHHELD,
    duration,
    expected,
    nearest,
    option_name,
    size,
    without_userinfo,
)

__all__ = [
    "CHOICES",
    "SEEDS_INLINE_MAX",
    "Change",
    "changes",
    "check",
    "load",
    "public",
    "refuse_fixed",
    "without_userinfo",
    "write",
]

COMMAS = frozenset({"types", "insecure", "name_servers"})
"""Lists whose entries never hold a comma, so `--types "application/pdf,image/*"` is two entries."""
PATHS = frozenset({"ca", "cookies", "save_cookies"})
"""Kept as absolute paths: the crawl may be carried on from another folder."""


def of_job(folder: Path) -> Config:
    """The settings with which the job in `folder` was started or went on, as they are stored: those of a fresh one when there are
    none. Raises ConfigError."""
    return load({}, {}, None, folder / "crawl.toml")


def load(
    options: Mapping[str, Any],
    env: Mapping[str, str],
    config_file: Path | None = None,
    job_file: Path | None = None,
    *,
    require_secrets: bool = False,
) -> Config:
    """The effective configuration. `options`: key → raw text, bool or list of texts; None means "not given".

    `config_file` must exist; `job_file` (DIR/crawl.toml) may be absent. `require_secrets`: a secret that a file withholds
    has to be given again (who starts a crawl wants that; who only looks at its settings does not). Raises ConfigError
    naming key, source and fix.
    """
    layers = [
        *([_file(job_file, env)] if job_file and job_file.exists() else []),
        *([_file(config_file, env)] if config_file else []),
        _environment(env),
        _Layer({name: raw for name, raw in options.items() if raw is not None}, option_name, env=env),
    ]
    for name in options.keys() - FIELDS.keys():
        raise ConfigError(f"{name} is not a key of Nephila{_hint(name, FIELDS)}")
    values: dict[str, Any] = {}
    missing: dict[str, list[str]] = {}
    for layer in layers:
        given = {name: _value(name, raw, layer) for name, raw in layer.values.items()}
        missing = {n: what for n, what in missing.items() if n == "seeds" or n not in given} | layer.withheld
        if "seeds" in given and values.get("seeds"):
            given["seeds"] = _united(values["seeds"], given["seeds"])
        values |= given
    if require_secrets:
        _require(missing, values)
    return Config(**values)


@dataclass(frozen=True)
class _Layer:
    """One source of values; `say` names a key the way the user wrote it there, `base` is where its @FILEs lie."""

    values: dict[str, Any]
    say: Callable[[str], str]
    base: Path = Path()
    withheld: dict[str, list[str]] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    written: bool = False
    """It lies on the disk: no place for a password."""


def _file(path: Path, env: Mapping[str, str]) -> _Layer:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path} cannot be read as settings: {why}") from error
    if START in text and END not in text:
        raise ConfigError(
            f"{path} cannot be read as settings: its end is missing; restore it, or start anew with --fresh"
        )
    withheld = {n: list(what) for n, what in values.pop(WITHHELD, {}).items()}
    lines = text.splitlines()

    def say(key: str) -> str:
        found = (i for i, line in enumerate(lines, 1) if re.match(rf"""\s*\[*\s*["']?{re.escape(key)}\b""", line))
        return f"{path}{''.join(f':{i}' for i in [*found][:1])}: {key}"

    if values.get("seen") == "exact":  # what it was called when it was the only one; it is filled anew at each start
        values["seen"] = "keytree"
    for key in values.keys() - FIELDS.keys():
        raise ConfigError(f"{say(key)} is not a key of Nephila{_hint(key, FIELDS)}")
    layer = _Layer(values, say, path.parent, withheld, env, written=True)
    # Only a settings file may name a file of seeds: a list of addresses from elsewhere must not open files here.
    if isinstance(seeds := values.get("seeds"), list):
        values["seeds"] = [
            one for text in seeds for one in (_from_file(text, layer) if str(text)[:1] == "@" else [text])
        ]
    return layer


def _hint(word: str, words: Iterable[str]) -> str:
    near = nearest(word.replace("-", "_"), words)
    return f"; did you mean {near}?" if near else " (docs/options.md lists them)"


def _environment(env: Mapping[str, str]) -> _Layer:
    """Variables of other tools may share the prefix, so only a name that looks like a slip of a key is refused."""
    values = {}
    for variable in sorted(v for v in env if v.startswith("NEPHILA_")):
        key = variable.removeprefix("NEPHILA_").lower()
        if key in FIELDS:
            values[key] = env[variable]
        elif near := nearest(key, FIELDS, 0.85):
            raise ConfigError(f"{variable} is not a variable of Nephila; did you mean NEPHILA_{near.upper()}?")
    return _Layer(values, lambda key: f"NEPHILA_{key.upper()}", env=env)


def _value(key: str, raw: Any, layer: _Layer) -> Any:
    """`raw` in the type of its key. Texts are read the way people write sizes, durations and lists."""
    kind = TYPES[key]
    try:
        if kind == list[str]:
            return _entries(key, raw, layer)
        if key == "delay" and type(raw) in (int, float):
            raw = str(raw)
        if isinstance(raw, str):
            raw = _scalar(key, raw.strip(), layer)
        return msgspec.convert(raw, kind)
    except (ValueError, msgspec.ValidationError) as error:
        shown = "this value" if FIELDS[key][1]["secret"] else repr(raw)
        raise ConfigError(f"{layer.say(key)}: {shown} does not fit; {expected(key)}") from error


def _scalar(key: str, text: str, layer: _Layer) -> Any:
    if key in PATHS and text:
        return str((layer.base / Path(text).expanduser()).absolute())
    if TYPES[key] is bool:
        return BOOL.get(text.lower(), text)
    if TYPES[key] is float or (key == "delay" and text != "auto"):
        seconds = duration(text)
        return f"{seconds:g}" if key == "delay" else seconds
    if TYPES[key] is int:
        return size(text)
    return text


def _entries(key: str, raw: Any, layer: _Layer) -> list[str]:
    texts: list[str] = raw.splitlines() if isinstance(raw, str) else msgspec.convert(raw, list[str])
    if key in COMMAS:
        texts = [part for text in texts for part in text.split(",")]
    if key in ("auth", "login"):
        texts = [one for text in texts for one in _credential(key, text, layer)]
    elif FIELDS[key][1]["secret"]:
        read = _way if key == "proxy" else _secret
        texts = [one for text in texts for one in read(text, layer)]
    return [stripped for text in texts if (stripped := text.strip())]


def _secret(text: str, layer: _Layer) -> list[str]:
    """`@FILE` and `env:NAME`, alone or as the value of a secret header, keep a secret out of the process list."""
    name, colon, value = text.partition(":")
    if colon and SECRET_HEADER.fullmatch(name.strip()) and re.match(r"@|env:", value.strip()):
        return [f"{name.strip()}: {one}" for one in _secret(value.strip(), layer)]
    if text.startswith("@"):
        return _from_file(text, layer)
    if text.startswith("env:"):
        if (found := layer.env.get(text[4:].strip())) is None:
            raise ConfigError(f"there is no environment variable {text[4:].strip()} (asked for as {text})")
        return [found]
    return [text]


def _way(text: str, layer: _Layer) -> list[str]:
    """The same for a proxy, whose rule may begin with `SITE=`."""
    site, equals, rest = text.partition("=")
    if equals and rest.startswith("env:"):
        return [f"{site}={one}" for one in _secret(rest, layer)]
    return _secret(text, layer)


def _credential(key: str, text: str, layer: _Layer) -> list[str]:
    """A credential, its secret read from where it says; a settings file may hold only those that say so."""
    if found := credentials.reference(text):
        if not (lines := _secret(found[1], layer)):
            raise ConfigError(f"{layer.say(key)}: {found[1]}: the file is empty")
        return [f"{found[0]}{lines[0]}"]
    secret = key == "login" or credentials.holds_secret(text)
    if layer.written and text and not text.startswith(("@", "env:")) and secret:
        raise ConfigError(
            f"{layer.say(key)}: a password does not belong into a settings file: write @FILE or env:NAME in its place"
        )
    texts = _secret(text, layer)
    return texts if key == "login" else [credentials.rooted(one, layer.base) for one in texts]


def _from_file(text: str, layer: _Layer) -> list[str]:
    try:
        lines = (layer.base / Path(text[1:].strip()).expanduser()).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{text}: the file cannot be read ({error})") from error
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _united(old: list[str], new: list[str]) -> list[str]:
    """Seeds of both, each once; the newer spelling wins, so that a password given again finds its address."""
    found = {without_userinfo(text): text for text in old}
    found.update((without_userinfo(text), text) for text in new)
    return list(found.values())


def _require(missing: dict[str, list[str]], values: dict[str, Any]) -> None:
    """A crawl that was started with a secret does not silently go on without it."""
    seeds = set(values.get("seeds", []))
    for key, what in missing.items():
        if key == "seeds":
            what = [f"user and password of {seed}" for seed in what if seed in seeds]
        if what:
            option = "the address" if key == "seeds" else option_name(key)
            raise ConfigError(
                f"this crawl was started with a secret that is not stored ({', '.join(what)}): give {option} again"
            )
