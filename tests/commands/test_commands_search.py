"""`nephila search` as it is typed: a crawled site in GBK, marks, JSON, and nothing that a terminal obeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands.conftest import Serve

from nephila.cli import main
from nephila.testing.sites import Answer


@pytest.fixture
def crawled(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    page = "<meta charset=gb18030><title>天网\x1b[31m搜索</title><a href=/2>2</a><p>北京大学的搜索引擎\u202e</p>"
    site: dict[str, Any] = {
        "/": Answer(page.encode("gb18030"), media_type="text/html"),
        "/2": Answer(b"<title>two</title><p>A search engine", media_type="text/html"),
    }
    folder = tmp_path / "out"
    assert main(["crawl", serve(site).url("/"), "-o", str(folder), "--workers", "0", "--quiet"]) == 0
    capsys.readouterr()
    return folder


def test_what_is_found_is_marked_and_escaped(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(crawled), "北京大学"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1. 天网\\x1b[31m搜索"
    assert "*北京大学*的搜索引擎\\u202e" in lines[3]
    assert lines[-1].startswith("1 document found in ")
    assert main(["search", str(crawled), "nowhere"]) == 0
    assert capsys.readouterr().out == "nothing found\n"


def test_search_answers_as_json(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(crawled), '"search engine"', "title:two", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (hit,) = answer["hits"]
    assert (answer["count"], hit["title"]) == (1, "two")
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["search", "engine"]


def test_a_broken_query_ends_with_2_and_one_line(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(crawled), 'an "open phrase']) == 2
    assert capsys.readouterr().err == 'nephila: the phrase "open phrase is not closed: a " is missing\n'
    assert main(["search", str(crawled.parent), "x"]) == 2


def test_a_page_that_is_forgotten_is_not_found_any_more(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(crawled), "engine", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert main(["forget", str(crawled), hit["url"]]) == 0
    capsys.readouterr()
    assert main(["search", str(crawled), "engine"]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    assert main(["search", str(crawled), "搜索"]) == 0
    assert "1 document found" in capsys.readouterr().out
