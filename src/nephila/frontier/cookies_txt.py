"""cookies.txt: the Netscape format, in which browsers and curl hand cookies on. One line per cookie, seven fields with tabs
between: domain, whether names below it get it too, path, whether it needs TLS, expiry (Unix time, 0: with the session), name,
value. A line that begins with `#HttpOnly_` is a cookie, too; any other `#` begins a comment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from nephila.config import Config
from nephila.errors import ConfigError
from nephila.frontier.cookies import ALL_MAX, Row
from nephila.url.parse import host_of, normalise
from nephila.url.site import is_public_suffix

BYTES_MAX = 16 << 20
"""A larger file is none of cookies."""
TITLE = "# Netscape HTTP Cookie File"
_HTTP_ONLY = "#HttpOnly_"
_UNSAFE = re.compile(r"[\x00-\x1f\x7f]")


def given(config: Config, now: float) -> list[Row]:
    """The cookies to start with. A file that is to be written must be one of cookies, if it is there: another one, or one that
    cannot be read, is not replaced. Raises ConfigError."""
    if config.save_cookies and Path(config.save_cookies).exists():
        read(Path(config.save_cookies), "save_cookies", now)
    return read(Path(config.cookies), "cookies", now) if config.cookies else []


def saved(rows: Iterable[Row], path: Path) -> str:
    """Write the cookies at the end. Returns a sentence about it, also when it could not be done."""
    try:
        left = write(rows, path)
    except OSError as error:
        return f"save_cookies: {path} cannot be written: {error.strerror}"
    return f"cookies are in {path}" + (f"; {left} do not fit its format" if left else "")


def read(path: Path, key: str, now: float) -> list[Row]:
    """The cookies of a file that have not expired. Raises ConfigError naming `key` and the line, never what is in it."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise ConfigError(f"{key}: {path} is too large for a file of cookies")
        lines = path.read_text("utf-8-sig").split("\n")  # no other line ends: a value may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{key}: {path} cannot be read: {why}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (line.startswith("#") and not line.startswith(_HTTP_ONLY)):
            continue
        row = _row(line)
        if row is None:
            raise ConfigError(f"{key}: {path}, line {number}: not a cookie (seven fields with tabs between)")
        if not row[5] or row[5] > now:
            rows.append(row)
    if len(rows) > ALL_MAX:
        raise ConfigError(
            f"{key}: {path} holds {len(rows):,} cookies, more than {ALL_MAX:,}: leave those of the sites to crawl"
        )
    return rows


def write(rows: Iterable[Row], path: Path) -> int:
    """All cookies into a file that only its owner may read, at once or not at all. Returns how many it could not hold."""
    texts = [_line(row) for row in rows]
    lines = [line for line in texts if line]
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as out:
        out.write("\n".join([TITLE, *lines, ""]))
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
    return len(texts) - len(lines)


def _row(line: str) -> Row | None:
    bare = line.removeprefix(_HTTP_ONLY)
    fields = bare.split("\t")
    if len(fields) == 6:
        fields.append("")  # curl leaves out an empty value with its tab
    if len(fields) != 7:
        return None
    domain, below, path, secure, expires, name, value = fields
    host = _host(domain.removeprefix("."))
    if not host or below not in _FLAGS or secure not in _FLAGS or not path.startswith("/") or not (name or value):
        return None
    if not re.fullmatch(r"-?\d{1,15}(\.\d+)?", expires) or any(map(_UNSAFE.search, (path, name, value))):
        return None
    # A cookie for all of `com` or `co.uk` is for that very host at most, as in the jar.
    host_only = not _FLAGS[below] or is_public_suffix(host)
    when = float(expires)
    return host, int(host_only), path, name, value, when if when > 0 else 0.0, int(_FLAGS[secure]), int(bare != line)


_FLAGS = {"TRUE": True, "FALSE": False}


def _host(text: str) -> str:
    """The host as URLs spell it; "" when it is none."""
    spelled = normalise(f"http://{text}/") if text else None
    return host if spelled and spelled == f"http://{(host := host_of(spelled))}/" else ""


def _line(row: Row) -> str:
    """ "" when a field holds what the format cannot."""
    domain, host_only, path, name, value, expires, secure, http_only = row
    if any(map(_UNSAFE.search, (path, name, value))):
        return ""
    place = domain if host_only else f".{domain}"
    fields = (place, _word(not host_only), path, _word(secure), str(int(expires)), name, value)
    return (_HTTP_ONLY if http_only else "") + "\t".join(fields)


def _word(yes: bool | int) -> str:
    return "TRUE" if yes else "FALSE"
