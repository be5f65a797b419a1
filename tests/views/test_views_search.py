"""Search: every page by its words in any script, files by their names, and nobody's hidden pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import searching

from nephila.errors import ConfigError
from nephila.types import Kind
from nephila.views import index, registry
from nephila.views.search import excerpt, search

H = "http://www.example.com"
LISTING = b"""drwxr-xr-x 2 f f 4096 Jan  2  2020 old
-rw-r--r-- 1 f f 1234567 Mar  4  2021 linux-5.10.tar.gz
-rw-r--r-- 1 f f 99 Mar  5  2021 linux-5.10.tar.xz
-rw-r--r-- 1 f f 42 Mar  6  2021 README
"""


def urls(job: Any, query: str, **how: Any) -> list[str]:
    return [hit.url for hit in search(job.folder, query, job.decode, **how).hits]


@pytest.mark.parametrize(
    ("charset", "text", "queries", "others"),
    [
        (
            "gb18030",
            "天网是北京大学研制的搜索引擎",
            ["北京大学", "京大", "引擎", "擎", "天网 搜索"],
            ["北大", "大北", "学天"],
        ),
        ("big5", "搜尋引擎收集網頁並且建立索引", ["網頁", "收集網頁"], ["網引"]),
        ("shift_jis", "検索エンジンは索引を作る", ["検索エンジン", "索引"], ["検引"]),
        ("euc-kr", "검색 엔진은 색인을 만든다", ["엔진", "색인을"], ["진색"]),
        ("koi8-r", "Поисковая система", ["система", "ПОИСКОВАЯ"], ["систем"]),
    ],
)
def test_words_of_any_script_and_charset(
    job: Any, charset: str, text: str, queries: list[str], others: list[str]
) -> None:
    job.page(f"{H}/a", f"<meta charset={charset}><title>t</title><p>{text}</p>".encode(charset))
    job.page(f"{H}/b", "<title>u</title><p>something else</p>")
    assert [urls(job, query) for query in queries] == [[f"{H}/a"]] * len(queries)
    assert [urls(job, query) for query in others] == [[]] * len(others)


def test_words_phrases_fields_and_their_joining(job: Any) -> None:
    job.page(f"{H}/1", "<html lang=en><title>Web search</title><p>A search engine finds old pages.</p>")
    job.page(f"{H}/2", "<html lang=en-GB><title>Engines</title><p>The engine of an old car, to search for.</p>")
    job.page("https://other.org/3", "<html lang=de><title>Suche</title><p>engine Crème published 2019-05-06</p>")
    assert sorted(urls(job, "search engine")) == [f"{H}/1", f"{H}/2"]
    assert urls(job, '"search engine"') == [f"{H}/1"]
    assert urls(job, "engine -search") == ["https://other.org/3"]
    assert sorted(urls(job, "car OR creme")) == [f"{H}/2", "https://other.org/3"]
    assert urls(job, "title:search") == [f"{H}/1"]
    assert urls(job, "search")[0] == f"{H}/1", "a word of the title weighs more"
    assert sorted(urls(job, "engine host:example.com")) == [f"{H}/1", f"{H}/2"]
    assert sorted(urls(job, "lang:en")) == [f"{H}/1", f"{H}/2"]
    assert urls(job, "engine date:2019") == urls(job, "date:2019-05..2019-06") == ["https://other.org/3"]
    assert sorted(urls(job, "engin* date:2020..")) == [f"{H}/1", f"{H}/2"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "nothing to look for"),
        ('"open phrase', "not closed"),
        ("colour:red", "colour: is not a field"),
        ("-a", "only says what is not wanted"),
        ("OR a", "nothing before it"),
        ("a OR", "nothing behind it"),
        ("a OR -b", "everything"),
        ("?!", "no letter and no digit"),
        ("date:2024-13", "is no date"),
        ("date:2024-02-30", "no such day"),
        ("date:2024..2023", "ends before it begins"),
        ("date:..", "any day"),
        ("title:", "says nothing"),
        ("name:", "says nothing"),
        ("x" * 1001, "1,001 characters"),
        ("a " * 51, "51 parts"),
    ],
)
def test_a_broken_query_is_told_what_is_wrong(job: Any, query: str, reason: str) -> None:
    job.page(f"{H}/a", "a")
    with pytest.raises(ConfigError, match=reason.replace("?", r"\?")):
        search(job.folder, query, job.decode)


def listing(job: Any, url: str, content: bytes = LISTING) -> int:
    made: int = job.page(url, content, "text/x-ftp-listing", protocol="ftp", charset="utf-8")
    return made


def test_files_are_found_by_name_with_size_and_date(job: Any) -> None:
    listing(job, "ftp://ftp.example.com/pub/")
    job.page(f"{H}/dl/Linux-2.0.tar.gz?mirror=1", b"\x1f\x8b", "application/gzip")
    job.page(f"{H}/%B1%B1%BE%A9.html", "<meta charset=gb2312><title>x</title>", charset="gb18030")
    found = {hit.url: hit for hit in search(job.folder, "name:linux*.tar.gz", job.decode).hits}
    assert set(found) == {"ftp://ftp.example.com/pub/linux-5.10.tar.gz", f"{H}/dl/Linux-2.0.tar.gz?mirror=1"}
    listed = found["ftp://ftp.example.com/pub/linux-5.10.tar.gz"]
    assert (listed.name, listed.size, listed.date) == ("linux-5.10.tar.gz", 1234567, "2021-03-04")
    assert urls(job, "name:*-5.10.tar.?z date:2021-03-04") == ["ftp://ftp.example.com/pub/linux-5.10.tar.gz"]
    assert len(urls(job, "name:*INUX*")) == 3
    assert urls(job, "name:README") == urls(job, "name:readm?") == ["ftp://ftp.example.com/pub/README"]
    assert urls(job, "name:linux* date:2021-03-05") == ["ftp://ftp.example.com/pub/linux-5.10.tar.xz"]
    assert urls(job, "name:北京.html") == [f"{H}/%B1%B1%BE%A9.html"]


def test_a_file_that_is_kept_and_listed_is_one_answer(job: Any) -> None:
    listing(job, "ftp://ftp.example.com/pub/")
    job.page("ftp://ftp.example.com/pub/README", "read me first", "text/plain", protocol="ftp")
    (hit,) = search(job.folder, "name:README", job.decode).hits
    assert (hit.size, hit.date, hit.snippet) == (42, "2021-03-06", "read me first")


def test_an_index_is_carried_on_and_reads_only_what_is_new(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = index.read
    monkeypatch.setattr(index, "read", lambda source, kept: (read.append(kept.url), real(source, kept))[1])
    job.page(f"{H}/a", "<p>first version</p>")
    job.page(f"{H}/b", "<p>second</p>")
    assert urls(job, "version") == [f"{H}/a"]
    assert read == [f"{H}/a", f"{H}/b"]
    job.page(f"{H}/a", "<p>third</p>", round=2)
    job.page(f"{H}/b", b"", outcome=job.Outcome.REFUSED, status=404, round=2)
    assert (urls(job, "version"), urls(job, "third"), urls(job, "second")) == ([], [f"{H}/a"], [f"{H}/b"])
    assert read == [f"{H}/a", f"{H}/b", f"{H}/a"]


def test_a_build_that_was_killed_is_carried_on_and_doubles_nothing(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_TOGETHER", 2)
    for n in range(6):
        job.page(f"{H}/{n}", f"<p>word {n}</p>")
    real = index.read

    def dying(source: Any, kept: Any) -> Any:
        if kept.url.endswith("3") and not (job.folder / "killed").exists():
            (job.folder / "killed").touch()
            raise KeyboardInterrupt
        return real(source, kept)

    monkeypatch.setattr(index, "read", dying)
    with pytest.raises(KeyboardInterrupt):
        urls(job, "word")
    assert sorted(urls(job, "word")) == [f"{H}/{n}" for n in range(6)]
    assert search(job.folder, "word", job.decode).count == 6


def test_a_kill_between_the_two_commits_doubles_nothing(job: Any) -> None:
    job.page(f"{H}/a", "<p>word</p>")
    urls(job, "word")
    state = job.folder / "views" / "search" / "state.json"
    before = state.read_bytes()
    job.page(f"{H}/b", "<p>word</p>")
    urls(job, "word")
    state.write_bytes(before)
    assert search(job.folder, "word", job.decode).count == 2


def forget(job: Any, id: int) -> None:
    job.con.execute("UPDATE url SET url = '', state = 'dropped' WHERE id = ?", (id,))
    job.con.execute("UPDATE visit SET outcome = 'SKIPPED', reason = 'forgotten', length = 0 WHERE url = ?", (id,))


def holding(job: Any, *texts: bytes) -> list[str]:
    """The files of the index in which one of these stands; terms are stored backwards."""
    files = [path for path in (job.folder / "views" / "search").rglob("*") if path.is_file()]
    wanted = [way for text in texts for way in (text, text[::-1])]
    return [path.name for path in files if any(text in path.read_bytes() for text in wanted)]


def test_pages_that_were_taken_down_leave_the_index_and_its_files(job: Any) -> None:
    secret = job.page("http://gone.example/a", "<p>unforgettable</p>")
    job.page(f"{H}/b", "<p>open</p>")
    assert urls(job, "unforgettable") == ["http://gone.example/a"]
    assert {"repeats.db"} < set(holding(job, b"unforgettable", b"gone.example"))
    forget(job, secret)
    assert (urls(job, "unforgettable"), urls(job, "open")) == ([], [f"{H}/b"])
    assert holding(job, b"unforgettable", b"gone.example") == []


def test_after_a_taking_down_no_page_is_read_again_and_all_others_answer_as_before(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_TOGETHER", 2)
    monkeypatch.setattr(index, "_ADDRESSES", 3)
    secret = job.page(f"{H}/secret", "<title>never</title><p>word unforgettable</p>")
    for n in range(4):
        job.page(f"{H}/{n}", f"<html lang=en><title>Title {n}</title><p>word 天网 Crème {n}</p>")
    job.page(f"{H}/n", "<meta name=robots content=noindex><p>word</p>")
    job.page(f"{H}/m", "<p>word</p>", access="basic@x")
    listing(job, "ftp://ftp.example.com/pub/")
    job.page(f"{H}/word.pdf", b"%PDF", "application/pdf")
    queries = [
        "word -never",
        "天网",
        "creme lang:en",
        "title:3",
        "name:*.tar.*",
        "date:2021-03-04",
        "host:example.com word.pdf",
    ]
    how: dict[str, Any] = {"access": ["basic@x"], "with_noindex": True}
    before = [sorted(search(job.folder, query, job.decode, **how).hits, key=repr) for query in queries]
    assert all(before)
    assert urls(job, "unforgettable") == [f"{H}/secret"]
    forget(job, secret)
    monkeypatch.setattr(index, "read", None)
    after = [search(job.folder, query, job.decode, **how).hits for query in queries]
    alike = [sorted(hit.url for hit in hits) for hits in before]
    assert [sorted(hit.url for hit in hits) for hits in after] == alike
    assert [{hit.url: (hit.title, hit.snippet, hit.size) for hit in hits} for hits in after] == [
        {hit.url: (hit.title, hit.snippet, hit.size) for hit in hits} for hits in before
    ]
    assert len(urls(job, "word")) == 5
    assert urls(job, "unforgettable", **how) == []


def test_a_kill_while_forgotten_pages_are_left_out_is_made_good(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = job.page(f"{H}/a", "<p>unforgettable</p>")
    job.page(f"{H}/b", "<p>open</p>")
    urls(job, "open")
    forget(job, secret)
    for step in ("rmtree", "rename"):
        with monkeypatch.context() as dying:
            target: Any = index.shutil if step == "rmtree" else Path
            real = getattr(target, step)

            def killed(path: Path, *more: Any, real: Any = real, **named: Any) -> Any:
                if path.name == "index" or more[:1] == (path.parent / "index",):
                    raise KeyboardInterrupt
                return real(path, *more, **named)

            dying.setattr(target, step, killed)
            with pytest.raises(KeyboardInterrupt):
                urls(job, "open")
    assert (urls(job, "open"), urls(job, "unforgettable")) == ([f"{H}/b"], [])
    assert holding(job, b"unforgettable") == []
    assert not (job.folder / "views" / "search" / "fresh").exists()


def test_pages_that_were_taken_down_before_the_first_search_are_in_no_index(job: Any) -> None:
    forget(job, job.page(f"{H}/a", "<p>unforgettable</p>"))
    job.page(f"{H}/b", "<p>open</p>")
    assert (urls(job, "open"), urls(job, "unforgettable")) == ([f"{H}/b"], [])


def test_an_index_that_does_not_read_is_made_anew(job: Any) -> None:
    job.page(f"{H}/a", "<p>word</p>")
    urls(job, "word")
    (job.folder / "views" / "search" / "index" / "meta.json").write_text("{")
    assert urls(job, "word") == [f"{H}/a"]


def test_hidden_pages_are_not_shown_unless_asked_for(job: Any) -> None:
    job.page(f"{H}/n", "<meta name=robots content=noindex><p>word</p>")
    job.page(f"{H}/m", "<p>word of members</p>", access="basic@www.example.com")
    job.page(f"{H}/two", "<p>word of two</p>", access="a@x b@x")
    job.page(f"{H}/o", "<p>word</p>")
    job.page(f"{H}/word.pdf", b"%PDF", "application/pdf", head="X-Robots-Tag: noindex\r\n")
    assert (urls(job, "word"), urls(job, "name:word.pdf")) == ([f"{H}/o"], [])
    assert urls(job, "name:word.pdf", with_noindex=True) == [f"{H}/word.pdf"]
    assert sorted(urls(job, "word", with_noindex=True)) == [f"{H}/n", f"{H}/o", f"{H}/word.pdf"]
    assert sorted(urls(job, "word", access=["basic@www.example.com"])) == [f"{H}/m", f"{H}/o"]
    assert urls(job, "word", access=["a@x"]) == [f"{H}/o"]
    assert sorted(urls(job, "word", access=["a@x", "b@x"])) == [f"{H}/o", f"{H}/two"]
    with pytest.raises(ConfigError, match="no such credential"):
        urls(job, "word", access=["nobody"])


def test_pictures_of_pages_answer_to_their_names_only(job: Any) -> None:
    job.page(f"{H}/logo.png", b"\x89PNG\r\n\x1a\n", "image/png", kind=Kind.EMBED)
    job.page(f"{H}/a", "<title>t</title><p>our logo</p>")
    assert urls(job, "logo") == [f"{H}/a"]
    assert urls(job, "name:logo.png") == [f"{H}/logo.png"]


def test_menus_answer_for_nobody(job: Any) -> None:
    for n in range(6):
        job.page(f"{H}/{n}", f"<title>t</title><div>Imprint</div><p>The text of number n{n}.</p>")
    assert urls(job, "imprint") == []
    assert urls(job, "n3") == [f"{H}/3"]


def test_without_tantivy_it_is_said_what_to_install(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job.page(f"{H}/a", "<p>word</p>")
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(ConfigError, match=r"pip install 'nephila\[search\]'"):
        urls(job, "word")


@pytest.mark.long
def test_a_hundred_thousand_pages_are_answered_within_50_ms(tmp_path: Path) -> None:
    searching.build(tmp_path, searching.PAGES)
    assert [timed for timed in searching.ask(tmp_path) if timed.ms > 50 or not timed.count] == []


def test_export_search_makes_the_same_index(job: Any) -> None:
    job.page(f"{H}/a", "<p>word</p>")
    assert registry.export("search", job.folder, "", job.decode).startswith("1 documents in ")
    assert urls(job, "word") == [f"{H}/a"]


@pytest.mark.parametrize(
    ("text", "needles", "shown", "marked"),
    [
        ("a " * 200 + "天网搜索 end", ["天网"], "天网搜索 end", ["天网"]),
        ("ＦＵＬＬ width full", ["full"], "ＦＵＬＬ width full", ["ＦＵＬＬ", "full"]),
        ("ﬁne ﬁsh fish", ["fish"], "ﬁne ﬁsh fish", ["ﬁsh", "fish"]),
        ("research search", ["search"], "research search", ["search"]),
        ("nothing of it", ["word"], "nothing of it", []),
        ("", ["word"], "", []),
    ],
)
def test_snippets_mark_the_words(text: str, needles: list[str], shown: str, marked: list[str]) -> None:
    snippet, marks = excerpt(text, needles)
    assert snippet.endswith(shown)
    assert [snippet[start:end] for start, end in marks] == marked


def test_a_snippet_stands_where_most_different_words_do(tmp_path: Path) -> None:
    text = "alpha alpha " + "x " * 300 + "alpha beta gamma" + " y" * 300
    snippet, marks = excerpt(text, ["alpha", "beta", "gamma"])
    assert [snippet[start:end] for start, end in marks] == ["alpha", "beta", "gamma"]
    assert (snippet[:2], snippet[-2:]) == ("… ", " …")
