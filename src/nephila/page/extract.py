"""Rules that take rows out of pages: a pattern of addresses, a selector for rows, a selector for each field. No programming.

```toml
[[extract]]
name = "flat"
url = '^https://flats\\.example/list'
rows = "article.flat"
[extract.fields]
title = "h2"
link = { select = "a", attribute = "href" }
rent = { select = ".rent", as = "number" }
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import re2  # type: ignore[import-untyped]
from turbohtml import Document, parse

from nephila.errors import ConfigError
from nephila.page import national
from nephila.url.parse import resolve

ROWS_MAX = 10_000
"""Of one page and rule."""
FIELDS_MAX = 100
_TEXT_CHARS = 100_000
_LINKS = frozenset({"href", "src", "action", "poster", "data-src", "cite"})
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"as_": "as"}):
    """Where the value of a field stands. `select` "": the row itself; `attribute` "": its text. `after`, `before`: what stands
    between these texts; `find`: a pattern, its first group if it has one. `form`: of a date; `decimal`: of a number."""

    select: str = ""
    attribute: str = ""
    all: bool = False
    as_: Literal["text", "number", "date"] = "text"
    after: str = ""
    before: str = ""
    find: str = ""
    form: str = ""
    decimal: Literal["", ".", ","] = ""


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    url: str
    fields: Annotated[dict[str, Any], msgspec.Meta(min_length=1, max_length=FIELDS_MAX)]
    rows: str = ""


class Rule(NamedTuple):
    """One rule, checked. `url` and what `finds` holds are compiled patterns."""

    name: str
    url: Any
    rows: str
    fields: Mapping[str, Field]
    finds: Mapping[str, Any]


def rules(written: Any) -> list[Rule]:
    """The rules of `[[extract]]` in a settings file. Raises ConfigError naming rule, field and what is wrong."""
    if not isinstance(written, list):
        raise ConfigError("extract: a list of rules is expected, each one begun by [[extract]]")
    made = [_rule(n, one) for n, one in enumerate(written, 1)]
    names = [rule.name.casefold() for rule in made]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"extract: two rules are named {name!r}: a name is that of a table")
    return made


def apply(rule: Rule, document: Document, base: str, charset: str) -> list[dict[str, Any]]:
    """The rows of a page; a field that matches nothing, or is not of its type, is None."""
    nodes = document.select(rule.rows)[:ROWS_MAX] if rule.rows else [document]
    return [
        {name: _read(node, field, rule.finds.get(name), base, charset) for name, field in rule.fields.items()}
        for node in nodes
    ]


def _read(node: Any, field: Field, find: Any, base: str, charset: str) -> Any:
    nodes = node.select(field.select) if field.select else [node]
    values = []
    for one in nodes if field.all else nodes[:1]:
        text = _text(one, field.attribute)
        if text is not None and field.attribute in _LINKS:
            text = resolve(base, text, charset)
        value = None if text is None else _value(text, field, find)
        if value is not None:
            values.append(value)
    return (values or None) if field.all else values[0] if values else None


def _text(node: Any, attribute: str) -> str | None:
    if attribute:
        found: str | None = node.attr(attribute) if hasattr(node, "attr") else None
    else:
        found = node.to_text() or getattr(node, "text", "")
    return None if found is None else " ".join(found[:_TEXT_CHARS].split())


def _value(text: str, field: Field, find: Any) -> Any:
    if field.after:
        text = text.partition(field.after)[2]
    if field.before:
        text = text.partition(field.before)[0]
    if find is not None:
        found = find.search(text)
        text = (found.group(min(1, find.groups)) or "") if found else ""
    text = text.strip()
    if field.as_ == "number":
        return national.number(text, field.decimal)
    if field.as_ == "date":
        return national.moment(text, field.form)
    return text or None


def _rule(n: int, raw: Any) -> Rule:
    name = raw.get("name") if isinstance(raw, dict) else None
    where = f"extract, rule {name!r}" if isinstance(name, str) and name else f"extract, rule {n}"
    written = _converted(where, raw, _Written)
    if not _NAME.fullmatch(written.name):
        raise ConfigError(f"{where}: a name of letters, digits, dots and dashes is expected: it is that of a file")
    fields, finds = {}, {}
    if written.rows:
        _check_selector(f"{where}, rows", written.rows)
    for name, one in written.fields.items():
        place = f"{where}, field {name!r}"
        field: Field = Field(select=one) if isinstance(one, str) else _converted(place, one, Field)
        if name.startswith("_") or not name.strip():
            raise ConfigError(f"{place}: names with an underscore in front are those of Nephila's own columns")
        if field.select:
            _check_selector(place, field.select)
        elif isinstance(one, str):
            raise ConfigError(f"{place}: a CSS selector is expected")
        if (field.form and field.as_ != "date") or (field.decimal and field.as_ != "number"):
            raise ConfigError(f'{place}: `form` belongs to as = "date", `decimal` to as = "number"')
        fields[name] = field
        if field.find:
            finds[name] = _pattern(place, "find", field.find)
    return Rule(written.name, _pattern(where, "url", written.url), written.rows, fields, finds)


def _converted(place: str, raw: Any, type: Any) -> Any:
    try:
        return msgspec.convert(raw, type)
    except msgspec.ValidationError as error:
        text, _, key = str(error).partition(" - at `$")
        raise ConfigError(f"{place}: {key.strip('`.') + ': ' if key else ''}{text}") from error


def _check_selector(place: str, selector: str) -> None:
    try:
        parse("").select(selector)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from error


def _pattern(place: str, key: str, pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ConfigError(f"{place}: {key} = {pattern!r} is no pattern of RE2 ({error})") from error
