"""Rules of `[[extract]]` applied to the pages that are kept, and a count of what they did not find.

Pages of one form of address are mostly made by one program: where a selector matches nothing on all of them, the rule is wrong
there, or the site has changed.
"""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nephila.clock import iso
from nephila.errors import ConfigError, Damaged
from nephila.page import extract
from nephila.page.extract import Rule
from nephila.types import ERRANDS
from nephila.url.template import template
from nephila.views import reading
from nephila.views.article import HTML_TYPES
from nephila.views.source import Kept, Source

PREVIEW_ROWS, PREVIEW_PAGES = 10, 200
"""What `nephila extract` shows, and how many pages it reads at most."""
_FORMS_MAX = 1_000
"""Forms of addresses told apart in the report."""
_SAID_MAX = 5


def rules(source: Source, file: Any) -> list[Rule]:
    """Those of `--rules FILE`, else those of the job's settings, else none. Raises ConfigError."""
    path = Path(file) if file else source.folder / "crawl.toml"
    if not file and not path.exists():
        return []
    try:
        written = tomllib.loads(path.read_bytes().decode("utf-8-sig")).get("extract", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as rules: {error}") from error
    if file and not written:
        raise ConfigError(f"{path} holds no [[extract]] (docs/items.md has an example)")
    return extract.rules(written)


class Extraction:
    """Some rules at work. Ask for `rows` of page after page, then for `said`."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules
        self._pages: Counter[tuple[str, str]] = Counter()
        self._found: Counter[tuple[str, str, str]] = Counter()

    def wants(self, url: str) -> list[Rule]:
        """The rules whose pattern is found in an address."""
        return [rule for rule in self._rules if rule.url.search(url)]

    def rows(self, kept: Kept, reading: reading.Reading) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name of the rule, row) of a page, of all rules that want it. An empty field is not in its row."""
        page = reading.page
        wanting = self.wants(kept.url)
        if not wanting or page.document is None:
            return
        document, base, form = page.document(), page.links.base if page.links else kept.url, template(kept.url)
        numbers = itertools.count(1)
        for rule in wanting:
            of = form if (rule.name, form) in self._pages or len(self._pages) < _FORMS_MAX else "other addresses"
            self._pages[rule.name, of] += 1
            for fields in extract.apply(rule, document, base, page.charset or "utf-8"):
                row = {name: value for name, value in fields.items() if value is not None}
                self._found.update((rule.name, of, name) for name in ("", *row))
                if row:
                    yield rule.name, origin(kept, "rule", next(numbers)) | row

    def said(self) -> list[str]:
        """What matched nothing: rules without a page, rows and fields without a match on all pages of a form."""
        told = [f"rule {rule.name}: no page has such an address" for rule in self._rules if not self._of(rule)]
        fields = {rule.name: rule.fields for rule in self._rules}
        for (name, form), count in self._pages.items():
            pages = f"on none of {count:,} pages {form}"
            if not self._found[name, form, ""]:
                told.append(f"rule {name}: its rows match {pages}")
            else:
                told += [
                    f"rule {name}, field {f}: matches {pages}" for f in fields[name] if not self._found[name, form, f]
                ]
        return told

    def _of(self, rule: Rule) -> int:
        return sum(count for (name, _), count in self._pages.items() if name == rule.name)


def preview(source: Source, rules: list[Rule]) -> tuple[list[dict[str, Any]], list[str]]:
    """(the first rows, remarks) of as many pages as that takes, at most `PREVIEW_PAGES`."""
    extraction = Extraction(rules)
    rows: list[dict[str, Any]] = []
    for kept in itertools.islice((kept for kept in pages(source) if extraction.wants(kept.url)), PREVIEW_PAGES):
        try:
            rows += [{"_rule": name} | row for name, row in extraction.rows(kept, reading.read(source, kept))]
        except Damaged:
            continue
        if len(rows) >= PREVIEW_ROWS:
            break
    return rows[:PREVIEW_ROWS], extraction.said()


def pages(source: Source) -> Iterator[Kept]:
    """The pages that may hold items."""
    return (kept for kept in source.pages() if kept.media_type in HTML_TYPES and kept.kind not in ERRANDS)


def origin(kept: Kept, markup: str, n: int) -> dict[str, Any]:
    """Where a row comes from: the columns that every table of items begins with."""
    fetched = iso(kept.started)
    return {"_page": kept.url, "_fetched": fetched, "_markup": markup, "_row": n}


def remarks(said: list[str]) -> str:
    """As the end of a sentence."""
    more = f"; {len(said) - _SAID_MAX:,} remarks more" if len(said) > _SAID_MAX else ""
    return "".join(f"; {one}" for one in said[:_SAID_MAX]) + more
