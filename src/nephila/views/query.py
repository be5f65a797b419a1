"""What people write to search, as a question to the index: words, phrases, fields (docs/search.md).

All parts must be found; `OR` between two is either, a `-` before one is without. What cannot be meant is a ConfigError that says why.
"""

from __future__ import annotations

import re
from calendar import monthrange
from typing import Any, NamedTuple

from nephila.errors import ConfigError
from nephila.views import words

FIELDS = ("title", "host", "lang", "name", "date")
CHARS_MAX = 1000
PARTS_MAX = 50
_TITLE_WEIGHT = 4.0
_PART = re.compile(r'\s*(-?)(?:([A-Za-z_]+):)?(?:"([^"]*)("?)|(\S*))')
_DATE = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?\Z")
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Part(NamedTuple):
    """One thing that is asked. `without`: it must not be there; `either`: it or the part before it."""

    field: str
    value: str
    without: bool
    either: bool
    phrase: bool


def parse(text: str) -> list[Part]:
    """The parts of a query. Raises ConfigError."""
    if len(text) > CHARS_MAX:
        raise ConfigError(f"the query has {len(text):,} characters, at most {CHARS_MAX:,} are read")
    found, at, either = list[Part](), 0, False
    while text[at:].strip():
        match = _PART.match(text, at)
        assert match is not None
        minus, field, quoted, closed, plain = match.groups()
        at = match.end()
        if quoted is not None and not closed:
            raise ConfigError(f'the phrase "{quoted} is not closed: a " is missing')
        if plain == "OR" and not field and not minus:
            if not found or either:
                raise ConfigError("OR stands between two things: there is nothing before it")
            either = True
            continue
        part = Part((field or "").lower(), plain if quoted is None else quoted, bool(minus), either, quoted is not None)
        found.append(_checked(part))
        either = False
    if either:
        raise ConfigError("OR stands between two things: there is nothing behind it")
    if not found:
        raise ConfigError("there is nothing to look for: give a word")
    if len(found) > PARTS_MAX:
        raise ConfigError(f"the query has {len(found)} parts, at most {PARTS_MAX} are read")
    if all(part.without for part in found):
        raise ConfigError("a query that only says what is not wanted finds nothing: give a word that is")
    return found


def _checked(part: Part) -> Part:
    if part.field and part.field not in FIELDS:
        raise ConfigError(
            f"{part.field}: is not a field (there are {', '.join(f'{name}:' for name in FIELDS)}); "
            f'a colon in a text is looked for in quotes: "{part.field}:{part.value}"'
        )
    if part.either and part.without:
        raise ConfigError(f"OR -{part.value}: either something or not something is everything")
    if part.field and not part.value.strip():
        raise ConfigError(f"{part.field}: says nothing: write {part.field}:SOMETHING")
    if part.field == "date":
        days(part.value)
    elif part.field in ("", "title"):
        ahead, last = words.asked(part.value)
        if not ahead and not last:
            raise ConfigError(f"{part.value!r} holds no letter and no digit: there is nothing to look for")
    return part


def days(text: str) -> tuple[int, int]:
    """`2024`, `2024-03`, `2024-03-05`, `A..B`, `A..`, `..B` → first and last day as numbers YYYYMMDD."""
    first, dots, last = text.partition("..")
    if not dots:
        return _span(text, text)
    if not first and not last:
        raise ConfigError("date:.. is any day: give a day, a month or a year on one side")
    low = _span(first, text)[0] if first else 0
    high = _span(last, text)[1] if last else 99_991_231
    if low > high:
        raise ConfigError(f"date:{text} ends before it begins")
    return low, high


def _span(text: str, whole: str) -> tuple[int, int]:
    match = _DATE.match(text)
    year, month, day = (int(group or 0) for group in match.groups()) if match else (0, 0, 0)
    if match is None or not year or (match[2] and not 1 <= month <= 12):
        raise ConfigError(f"date:{whole} is no date: write 2024, 2024-03, 2024-03-05, or two of them with .. between")
    if match[3] and not 1 <= day <= monthrange(year, month)[1]:
        raise ConfigError(f"date:{whole}: there is no such day")
    base = year * 10_000
    if not month:
        return base + 101, base + 1231
    return base + month * 100 + (day or 1), base + month * 100 + (day or monthrange(year, month)[1])


def compile(parts: list[Part], schema: Any, hidden: list[tuple[str, Any]]) -> Any:
    """The question as tantivy asks it. `hidden`: (field, value) of what must not be shown."""
    from tantivy import Occur, Query

    groups: list[list[Any]] = []
    clauses = []
    for part in parts:
        asked = _asked(part, schema)
        if part.without:
            clauses.append((Occur.MustNot, asked))
        elif part.either and groups:
            groups[-1].append(asked)
        else:
            groups.append([asked])
    for group in groups:
        clauses.append((Occur.Must, group[0] if len(group) == 1 else _any(group)))
    clauses += [(Occur.MustNot, Query.term_query(schema, field, value)) for field, value in hidden]
    return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)


def _asked(part: Part, schema: Any) -> Any:
    from tantivy import FieldType, Query

    value = part.value
    if part.field == "date":
        return Query.const_score_query(
            Query.range_query(schema, "day", FieldType.Integer, *days(value), include_lower=True, include_upper=True),
            0.0,
        )
    if part.field in ("host", "lang"):
        return Query.const_score_query(Query.term_query(schema, part.field, value.strip().lower().rstrip(".")), 0.0)
    if part.field == "name":
        return _name(words.fold(value.strip()), schema)
    title = Query.boost_query(_text("title", part, schema), _TITLE_WEIGHT)
    return title if part.field == "title" else _any([title, _text("body", part, schema)])


def _text(field: str, part: Part, schema: Any) -> Any:
    from tantivy import Occur, Query

    ahead, last = words.asked(part.value)
    if not last and len(ahead) == 1 and part.value.endswith("*") and not part.phrase:
        ahead, last = [], ahead[0]
    found = []
    if ahead:
        found.append(
            Query.term_query(schema, field, ahead[0])
            if len(ahead) == 1
            else Query.phrase_query(schema, field, list(ahead))
        )
    if last:
        found.append(Query.regex_query(schema, field, f"{_escaped(last)}.*"))
    return found[0] if len(found) == 1 else Query.boolean_query([(Occur.Must, one) for one in found])


def _any(asked: list[Any]) -> Any:
    from tantivy import Occur, Query

    return Query.boolean_query([(Occur.Should, one) for one in asked])


def _name(pattern: str, schema: Any) -> Any:
    """Names are looked up by how they begin; where only their end is known, in the field that has them backwards."""
    from tantivy import Query

    if pattern[0] in "*?" and pattern[-1] not in "*?":
        return Query.regex_query(schema, "eman", _glob(pattern[::-1]))
    return Query.regex_query(schema, "name", _glob(pattern))


def _glob(pattern: str) -> str:
    """`linux*.tar.gz`: `*` is any characters, `?` one."""
    return "".join({"*": ".*", "?": "."}.get(character) or _escaped(character) for character in pattern)


def _escaped(text: str) -> str:
    return _META.sub(lambda found: f"\\{found[0]}", text)
