"""What a change would do is what it then does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nephila import db
from nephila.changes import changed
from nephila.config import Config
from nephila.errors import ConfigError
from nephila.explain import preview
from nephila.frontier.changing import Effect
from nephila.frontier.scheduler import Scheduler
from nephila.frontier.sqlite import SqliteStore
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.wanted import requests_of, scope_of

A, B = "http://a.test", "http://b.test"
LINKS = {
    "/": ["/1/", "/2/", "/x/1", "/x/2", f"{B}/1", f"{B}/2", "/a/a/a/a/a/"],
    "/1/": ["/1/1/", "/1/2/"],
    "/1/1/": ["/1/1/1/", "/x/3"],
}


@pytest.fixture
def stopped(tmp_path: Path) -> tuple[Path, Config]:
    """After four visits, with a limit of depth and an exclusion."""
    clock = FakeClock()
    web = FakeWeb(clock, {A + path: sites.page(links, path) for path, links in LINKS.items()})
    config = Config(seeds=[A + "/"], exclude=["/2/$"], max_depth=2, delay="0", workers=0, order="dfs", max_pages=3)
    store = SqliteStore(tmp_path / "crawl.db", order_name="dfs", max_depth=2)
    FakeCrawl(web, clock, config, store).run()
    return tmp_path, config


CHANGES: list[dict[str, Any]] = [
    {"exclude": []},
    {"exclude+": "/x/"},
    {"scope": "any", "max_depth": "1"},
    {"max_depth": -1},
    {"traps": "off"},
    {"include": ["/x/"], "exclude": [], "max_depth": 9},
    {"delay": "3"},
]


@pytest.mark.parametrize("values", CHANGES, ids=str)
def test_it_is_what_the_change_does(stopped: tuple[Path, Config], values: dict[str, Any]) -> None:
    folder, config = stopped
    with closing(db.reader(folder)) as con:
        before = con.execute("SELECT id, state, rule FROM url").fetchall()
        told = preview(con, config, values)
        assert con.execute("SELECT id, state, rule FROM url").fetchall() == before
    new = changed(config, values)
    clock, effects = FakeClock(), list[Effect]()
    scheduler: Scheduler = FakeCrawl(
        FakeWeb(clock), clock, config, SqliteStore(folder / "crawl.db", order_name="dfs", max_depth=2)
    ).scheduler
    scheduler.change(new, scope_of(new, requests_of(new), epoch=1), effects.append)
    scheduler.close()
    (did,) = effects
    assert (told.back, told.gone, told.near, told.far) == (did.back, did.gone, did.near, did.far)
    assert not told.at_least
    assert {move: len(urls) for move, urls in told.examples.items()} == {
        move: min(n, 5) for move in ("back", "gone", "near", "far") if (n := getattr(told, move))
    }


def test_without_time_it_is_a_lower_bound(stopped: tuple[Path, Config]) -> None:
    folder, config = stopped
    with closing(db.reader(folder)) as con:
        told = preview(con, config, {"scope": "any"}, seconds=-1.0)
    assert (told.back, told.at_least) == (0, True)


def test_what_was_only_counted_is_told(stopped: tuple[Path, Config]) -> None:
    folder, config = stopped
    store = SqliteStore(folder / "crawl.db", order_name="dfs", max_depth=2)
    ((rule,),) = store.query("SELECT id FROM rule WHERE text = 'scope.host'")
    store.query("INSERT INTO rule_host VALUES (?, 'http://c.test', 7, '[\"http://c.test/x\"]')", (rule,))
    store.close()
    with closing(db.reader(folder)) as con:
        assert preview(con, config, {"scope": "any"}).counted == 7
        assert preview(con, config, {"scope": "site"}).counted == 0


@pytest.mark.parametrize(
    ("values", "error"),
    [({"workers": 2}, "cannot be set while"), ({"max_dept": 2}, "did you mean max_depth"), ({"exclude-": "/y/"}, "is not in the list"),
     ({"exclude": ["("]}, "not a regular expression"), ({"delay+": "1"}, "delay is not a list"), ({"scope": "all"}, "one of host, site")],
)  # fmt: skip
def test_mistakes_are_told(stopped: tuple[Path, Config], values: dict[str, Any], error: str) -> None:
    folder, config = stopped
    with closing(db.reader(folder)) as con, pytest.raises(ConfigError, match=error):
        preview(con, config, values)
