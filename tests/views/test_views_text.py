"""What the pages say: main text in any charset, furniture left out, who asks not to be indexed left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila.errors import ConfigError
from nephila.types import Kind
from nephila.views import registry

H = "http://example.com"

CHINESE = "天网是北京大学研制的搜索引擎，它从一九九七年起收集中国的网页，保存至今，供研究者使用。"
JAPANESE = "検索エンジンは、ウェブのページを集めて、索引を作り、利用者の質問に答えるための仕組みです。"
KOREAN = "검색 엔진은 웹 페이지를 모아서 색인을 만들고, 이용자의 질문에 대답하는 프로그램이다."
TRADITIONAL = "搜尋引擎收集網頁，建立索引，並且回答使用者的問題，這是一個很大的工程，需要許多機器。"


def site(charset: str, sentence: str, number: int, lang: str = "") -> bytes:
    """One of many pages of a site: a menu, a text of its own, a footer."""
    paragraphs = "".join(f"<p>{sentence}（{number}-{n}）</p>" for n in range(3))
    return f"""<html{f' lang="{lang}"' if lang else ""}><head><meta charset="{charset}"><title>T{number} {sentence[:4]}</title></head>
<body><div class="top"><a href="/">HOME</a> <a href="/about">ABOUT</a></div><div>ADVERT, buy now, a very long sentence of
which nobody has asked, with commas, and commas, and more commas, on every page.</div>
<div class="text">{paragraphs}</div><div class="foot">FOOTER {sentence[:3]}</div></body></html>""".encode(charset)


def made(name: str, job: Any, to: Path, **chosen: Any) -> list[dict[str, Any]]:
    registry.export(name, job.folder, str(to), job.decode, chosen=chosen)
    return [msgspec.json.decode(line) for line in to.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("charset", "sentence", "language"),
    [
        ("gb18030", CHINESE, "zh"),
        ("big5", TRADITIONAL, "zh"),
        ("shift_jis", JAPANESE, "ja"),
        ("euc-jp", JAPANESE, "ja"),
        ("euc-kr", KOREAN, "ko"),
        ("utf-8", CHINESE, "zh"),
    ],
)
def test_text_of_any_charset_without_what_every_page_has(
    job: Any, tmp_path: Path, charset: str, sentence: str, language: str
) -> None:
    for n in range(6):
        job.page(f"{H}/{n}", site(charset, sentence, n))
    rows = made("text", job, tmp_path / "t.jsonl")
    assert [row["url"] for row in rows] == [f"{H}/{n}" for n in range(6)]
    assert rows[5]["text"].split("\n\n") == [f"{sentence}（5-{n}）" for n in range(3)]
    assert (rows[5]["title"], rows[5]["language"]) == (f"T5 {sentence[:4]}", language)


def test_a_list_without_a_dense_part_is_kept_whole_but_for_its_furniture(job: Any, tmp_path: Path) -> None:
    for n in range(6):
        entries = "".join(f"<li>entry {n}.{i}</li>" for i in range(30))
        job.page(f"{H}/{n}", f"<title>l</title><div>MENU</div><ul>{entries}</ul><div>FOOTER</div>")
    text = made("text", job, tmp_path / "t.jsonl")[0]["text"]
    assert [line for line in ("entry 0.0", "entry 0.29", "MENU", "FOOTER") if line in text] == [
        "entry 0.0",
        "entry 0.29",
    ]


def test_one_page_under_many_addresses_is_not_taken_for_furniture(job: Any, tmp_path: Path) -> None:
    for n in range(8):
        job.page(
            f"{H}/p?session={n}", f"<!-- {n} --><title>t</title><p>The same article under every address, you see.</p>"
        )
    assert {row["text"] for row in made("text", job, tmp_path / "t.jsonl")} == {
        "The same article under every address, you see."
    }


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_pages_that_ask_not_to_be_indexed_are_left_out(job: Any, tmp_path: Path, name: str) -> None:
    job.page(f"{H}/a", "<meta name=robots content='NoIndex, follow'><p>hidden by meta</p>")
    job.page(f"{H}/b", "<p>hidden by header</p>", head="X-Robots-Tag: noarchive\r\n")
    job.page(f"{H}/c", "<p>open</p>")
    said = registry.export(name, job.folder, str(tmp_path / "t.jsonl"), job.decode)
    assert "2 pages ask not to be indexed and are left out (--with-noindex takes them in)" in said
    assert [row["url"] for row in made(name, job, tmp_path / "t.jsonl")] == [f"{H}/c"]
    assert len(made(name, job, tmp_path / "t.jsonl", with_noindex=True)) == 3


def test_only_pages_have_a_text(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/i.png", b"\x89PNG\r\n\x1a\n", "image/png", kind=Kind.EMBED)
    job.page(f"{H}/robots.txt", "User-agent: *", "text/plain", kind=Kind.ROBOTS)
    job.page(f"{H}/a.txt", "plain \x1b[31mtext\r\n\r\n\r\n\r\nof a file", "text/plain")
    assert [row["text"] for row in made("text", job, tmp_path / "t.jsonl")] == ["plain [31mtext\n\nof a file"]


def test_title_author_and_date(job: Any, tmp_path: Path) -> None:
    said = {"@type": "NewsArticle", "author": [{"@type": "Person", "name": "Li Wei"}]}
    job.page(
        f"{H}/a",
        f"<html lang=en><title>A title</title><script type=application/ld+json>{json.dumps(said)}</script>"
        "<meta property='article:published_time' content='2021-02-03T04:05:06Z'><p>Words.</p>",
    )
    job.page(
        f"{H}/b",
        f"<title>乙</title><meta name=author content='王小明'><p>发布时间：2020年3月5日 来源：某报</p><p>{CHINESE}</p>",
    )
    job.page(f"{H}/c", "<title>c</title><p>Read in the year 2999-01-01, or on 2020-13-45.</p>")
    rows = made("text", job, tmp_path / "t.jsonl")
    assert [(row["title"], row["author"], row["date"]) for row in rows] == [
        ("A title", "Li Wei", "2021-02-03"),
        ("乙", "王小明", "2020-03-05"),
        ("c", "", ""),
    ]
    assert (rows[0]["language"], rows[0]["fetched"]) == ("en", "2023-11-14T22:13:20Z")


def test_markdown_is_a_file_per_page_with_front_matter(job: Any, tmp_path: Path) -> None:
    job.page(
        f"{H}/d/a.html",
        '<html lang=en><title>"Quoted": a\ntitle</title><body><h1>Head</h1><p>Some <b>bold</b> text with <a href="../x?y=1">a '
        'link</a> and <a href="javascript:alert(1)">a trick</a>.</p><table><tr><th>a<th>b<tr><td>1<td>2</table>',
    )
    registry.export("markdown", job.folder, str(tmp_path / "md"), job.decode)
    (path,) = (tmp_path / "md").rglob("*.md")
    assert path.relative_to(tmp_path / "md").as_posix() == "example.com/d/a.html.md"
    front, _, body = path.read_text("utf-8").partition("---\n\n")
    assert front.splitlines()[:3] == ["---", f'url: "{H}/d/a.html"', 'title: "\\"Quoted\\": a title"']
    assert "Some **bold** text with [a link](http://example.com/x?y=1) and a trick." in body
    assert "| 1 | 2 |" in body


def test_a_folder_cannot_go_to_a_symbolic_link(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a", "<p>x</p>")
    (tmp_path / "md").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="symbolic link"):
        registry.export("markdown", job.folder, str(tmp_path / "md"), job.decode)


def test_pages_of_a_credential_are_left_out_of_the_text_too(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/open", "<p>open</p>")
    job.page(f"{H}/members", "<p>secret</p>", access="basic@example.com")
    assert [row["url"] for row in made("text", job, tmp_path / "t.jsonl")] == [f"{H}/open"]
