"""Page Why: any address, any crawl, both languages, and nothing of a page is more than text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from explain.made import Made
from explain.situations import CRAWLS, TABLE, A, B
from ui.asking import PORT, Browser

from nephila.config import Config
from nephila.job import source
from nephila.testing.fakeweb import FakeWeb
from nephila.ui.crawl import Crawl
from nephila.ui.library import Library
from nephila.ui.serve import Server
from nephila.ui.words import WORDS

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crawl = CRAWLS["plain"]

    def web(fake: FakeWeb) -> None:
        crawl.web(fake)
        fake.page(
            f"{A}/", ["ok", "1", "ex/1", f"{B}/page", f"{B}/?q={HOSTILE}", "private/x", f"odd?{HOSTILE}"], HOSTILE
        )

    config: Config = crawl.config()
    return Made(tmp_path_factory.mktemp("why") / "job", web, config).folder


@pytest.fixture
def asked(folder: Path) -> Iterator[Any]:
    with Library(source(folder)) as library, Crawl(folder) as crawl:
        browser = Browser(Server(library, "a.test", PORT, crawl))
        assert browser.enter().status == 204

        def ask(url: str = "", given: str = "", **headers: str) -> str:
            answer = browser.get(
                f"/why?url={quote(url, safe='')}&set={quote(given, safe='')}" if url else "/why", **headers
            )
            assert answer.status == 200
            assert "<script>alert" not in answer.text
            return unescape(answer.text)

        yield ask


def test_the_sentence_the_steps_and_what_would_change_it(asked: Any) -> None:
    text = asked(f"{A}/ex/1")
    assert "It is not there, because the pattern /ex/ of exclude is found in the address." in text
    assert "would be fetched with --exclude /never/" in text
    assert re.findall(r"<dt>(.+?)</dt>", text) == ["address", "found", "rule", "depth", "linked from", "way there"]


def test_links_lead_to_other_explanations(asked: Any) -> None:
    text = asked(f"{A}/2")
    assert re.findall(r'<a href="/why\?url=([^"]+)">', text)[0] == f"{A.replace(':', '%3A')}/1"


def test_what_if(asked: Any) -> None:
    text = asked(f"{A}/3", "max_depth=3")
    assert WORDS["why.given_title"][0] in text
    assert '<a href="/rules">' in text
    assert "would be fetched with --max-depth 3" in text
    assert "did you mean max_depth?" in asked(f"{A}/3", "max_deth=3")
    assert "KEY=VALUE is expected" in asked(f"{A}/3", "include='a")
    assert "a secret changes no rule" in asked(f"{A}/3", "login=http://a.test/=me:secret")


def test_chinese(asked: Any) -> None:
    text = asked(f"{A}/private/x", accept_language="zh-CN,zh;q=0.9")
    assert "没有保存，因为http://a.test 的 robots.txt 禁止抓取它" in text
    assert "逐步说明" in text
    assert "按规则列出被拒绝的地址" in asked(accept_language="zh-CN")


def test_all_refusals(asked: Any) -> None:
    text = asked()
    assert [rule in text for rule in ("exclude:/ex/", "scope.host", "robots_disallow", "max_depth")] == [True] * 4


@pytest.mark.parametrize(
    "url",
    [f"{B}/?q={HOSTILE}", f"{A}/odd?{HOSTILE}", HOSTILE, f"{A}/\x00\x1b[31m", "javascript:alert(1)", "x" * 20_000],
)
def test_nothing_runs(url: str, asked: Any) -> None:
    """`asked` has looked at the text before it is unescaped."""
    assert "</html>" in asked(url)


def test_every_step_has_a_name_in_the_window(folder: Path) -> None:
    names = {name for one in TABLE for name, _ in [one.step]} | {
        "guard",
        "host",
        "archive",
        "found",
        "outcome",
        "links",
    }
    assert {f"why.step.{name}" for name in names} <= WORDS.keys()
