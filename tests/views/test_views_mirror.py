"""A mirror opens from disk: links lead to kept files, names are safe, nothing is written elsewhere."""

from __future__ import annotations

import gzip
import os
import re
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from views.odd_sites import ODD_PATHS, WORDS, charset_site, odd_page

from nephila.errors import ConfigError, DiskFull
from nephila.types import Kind, Outcome
from nephila.url.parse import normalise
from nephila.views import rewrite
from nephila.views.folder import Folder

H = "http://example.com"


def href(text: str, n: int = 0) -> str:
    return unescape(re.findall(r'(?:href|src)="([^"]*)"', text)[n])


def test_links_lead_to_kept_files_and_others_to_the_live_site(job: Any) -> None:
    job.page(f"{H}/", '<a href="/a/b#part">kept</a><a href="gone">gone</a><a href="#top">here</a><img src="/i.png">')
    job.page(f"{H}/a/b", '<a href="..">up</a>')
    job.page(f"{H}/i.png", b"\x89PNG", "image/png", kind=Kind.EMBED)
    mirror = job.mirror()
    assert mirror.paths == {
        f"{H}/": "example.com/index.html",
        f"{H}/a/b": "example.com/a/b.html",
        f"{H}/i.png": "example.com/i.png",
    }
    home = mirror.text(f"{H}/")
    assert [href(home, n) for n in range(4)] == ["a/b.html#part", f"{H}/gone", "#top", "i.png"]
    assert href(mirror.text(f"{H}/a/b")) == "../index.html"
    assert (mirror.report.files, mirror.report.missing, mirror.report.unreadable) == (3, 1, [])
    assert (mirror.target / "example.com/i.png").read_bytes() == b"\x89PNG"


def test_every_local_link_exists(job: Any) -> None:
    urls = [
        f"{H}/",
        f"{H}/a?q=1",
        f"{H}/a?q=2",
        f"{H}/a?",
        f"{H}/A",
        f"{H}/a",
        f"{H}/a/",
        f"{H}/x%23y%3F%25.html",
        f"{H}/%E4%B8%AD",
    ]
    for url in urls:
        job.page(url, "".join(f'<a href="{other}">x</a>' for other in urls) + url)
    mirror = job.mirror()
    for url in urls:
        here = (mirror.target / mirror.paths[url]).parent
        links = re.findall(r'<a href="([^"]*)"', mirror.text(url))
        assert [(here / unquote(unescape(link))).resolve() for link in links] == [
            (mirror.target / mirror.paths[other]).resolve() for other in urls
        ]
    assert len(set(mirror.paths.values())) == len(urls)
    assert "example.com/中.html" in mirror.paths.values()


def test_a_link_to_what_moved_leads_to_where_it_went(job: Any) -> None:
    job.page(f"{H}/", '<a href="/old">x</a><a href="/loop">x</a>')
    job.moved(f"{H}/old", f"{H}/older")
    job.moved(f"{H}/older", "https://example.org/new")
    job.page("https://example.org/new", "here")
    job.moved(f"{H}/loop", f"{H}/loop2")
    job.moved(f"{H}/loop2", f"{H}/loop")
    home = job.mirror().text(f"{H}/")
    assert [href(home), href(home, 1)] == ["../example.org/new.html", f"{H}/loop"]


def test_another_spelling_of_a_kept_url_is_the_kept_one(job: Any) -> None:
    job.page(f"{H}/", '<a href="/a?utm_source=x">x</a>')
    job.page(f"{H}/a", "a")
    assert href(job.mirror().text(f"{H}/")) == "a.html"


def test_base_is_obeyed_and_dropped(job: Any) -> None:
    job.page(
        f"{H}/x/", '<head><base href="/y/" target="_blank"><base href="/z/"></head><a href="p">p</a><a href="#q">q</a>'
    )
    job.page(f"{H}/y/p", "p")
    text = job.mirror().text(f"{H}/x/")
    assert [href(text), href(text, 1)] == ["../y/p.html", f"{H}/y/#q"]
    assert '<base target="_blank">' in text


def test_a_gbk_page_becomes_utf8_and_its_queries_are_found(job: Any) -> None:
    page = '<html><head><meta charset="gbk"><title>中文</title></head><a href="/s?q=中">查</a></html>'
    job.page(f"{H}/", page.encode("gbk"), charset="gbk")
    job.page(f"{H}/s?q=%D6%D0", "found")
    mirror = job.mirror()
    text = mirror.text(f"{H}/")
    assert "<title>中文</title>" in text
    assert "gbk" not in text
    assert text.startswith('<html><head><meta charset="utf-8"/>')
    assert (mirror.target / "example.com" / unquote(href(text))).exists()


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>x", '<meta charset="utf-8"/><p>x'),
        ("<!doctype html><p>x", '<!doctype html><meta charset="utf-8"/><p>x'),
        ('<HEAD><META http-equiv=Content-Type content="text/html; charset=koi8-r">', '<HEAD><meta charset="utf-8"/><META http-equiv=Content-Type content="text/html; charset=utf-8">'),
        ('<?xml version="1.0" encoding="gbk"?><html><head/>', '<?xml version="1.0" encoding="utf-8"?><html><head/>'),
    ],
)  # fmt: skip
def test_the_charset_is_declared(job: Any, page: str, expected: str) -> None:
    job.page(f"{H}/", page, charset="utf-8")
    text = job.mirror().text(f"{H}/")
    assert text.startswith(expected.partition("<head/>")[0])
    assert text.count("utf-8") >= 1


def test_all_kinds_of_addresses(job: Any) -> None:
    job.page(f"{H}/k.png", b"png", "image/png")
    job.page(f"{H}/k", "page")
    job.page(
        f"{H}/d/",
        """<meta http-equiv="refresh" content="5; URL='/k'"><meta http-equiv="Content-Security-Policy" content="x">
        <link rel=stylesheet href=/k integrity="sha256-x" crossorigin><img srcset="/k.png 1x, /k.png?a,b 2x">
        <p style="background:url(/k.png)"><style>@import "/k"; a{b:url( '/k.png' )} /* url(/k.png) */</style>
        <noscript><img src="/k.png"></noscript><svg><image xlink:href="/k.png"/></svg><video poster="/k.png"></video>
        <iframe srcdoc="&lt;img src='/k.png'&gt;"></iframe><a ping="/p" href="mailto:a@b.c">m</a><a href="file:///etc/passwd">f</a>
        <script>var a = "/k.png";</script><a href=" &#9;/k ">k</a>""",
    )
    text = job.mirror().text(f"{H}/d/")
    assert 'content="5; URL=../k.html"' in text
    assert "Security-Policy" not in text
    assert "integrity" not in text
    assert 'srcset="../k.png 1x, http://example.com/k.png?a,b 2x"' in text
    assert 'style="background:url(&quot;../k.png&quot;)"' in text
    assert """<style>@import "../k.html"; a{b:url( "../k.png" )} /* url(/k.png) */</style>""" in text
    assert '<noscript><img src="../k.png"></noscript>' in text
    assert 'xlink:href="../k.png"' in text
    assert 'poster="../k.png"' in text
    assert """srcdoc="<img src='../k.png'>\"""" in text
    assert '<a href="mailto:a@b.c">m</a><a href="#">f</a>' in text
    assert 'var a = "/k.png";' in text
    assert '<a href="../k.html">k</a>' in text


def test_stylesheets_and_drawings_are_rewritten(job: Any) -> None:
    job.page(
        f"{H}/s/main?v=3", '@charset "gbk"; @import url(other.css); b{c:url("\\2f i.png")} d{e:url(#x)}', "text/css"
    )
    job.page(f"{H}/s/other.css", "", "text/css")
    job.page(f"{H}/i.png", b"png", "image/png")
    job.page(
        f"{H}/d.svg",
        '<svg viewBox="0 0 1 1"><a href="/i.png?x&amp;y"/><image xlink:href=\'i.png\'/></svg>',
        "image/svg+xml",
    )
    mirror = job.mirror()
    assert mirror.paths[f"{H}/s/main?v=3"] == "example.com/s/main@v=3.css"
    assert (
        mirror.text(f"{H}/s/main?v=3") == '@charset "utf-8"; @import url(other.css); b{c:url("../i.png")} d{e:url(#x)}'
    )
    assert mirror.text(f"{H}/d.svg") == (
        '<svg viewBox="0 0 1 1"><a href="http://example.com/i.png?x&amp;y"/><image xlink:href=\'i.png\'/></svg>'
    )


def test_compressed_chunked_and_repeated_answers(job: Any) -> None:
    data = gzip.compress(b"<p>zipped " * 50, mtime=0)
    head = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
    wire = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    for name in ("a", "b"):
        job.page(f"{H}/{name}.html", data, head=head, wire=wire)
    job.page(f"{H}/c.bin", data, "application/octet-stream", head=head, wire=wire)
    job.page(
        f"{H}/d.bin",
        b"plain",
        "application/octet-stream",
        head="Transfer-Encoding: chunked\r\n",
        wire=b"5\r\nplain\r\n0\r\n\r\n",
    )
    assert job.con.execute("SELECT count(*) FROM visit WHERE same_as = 1").fetchone() == (2,)
    mirror = job.mirror()
    assert mirror.text(f"{H}/a.html") == mirror.text(f"{H}/b.html") == '<meta charset="utf-8"/>' + "<p>zipped " * 50
    assert mirror.text(f"{H}/c.bin") == "<p>zipped " * 50
    assert mirror.text(f"{H}/d.bin") == "plain"


def test_what_does_not_read_back_is_named_and_the_rest_is_written(job: Any) -> None:
    job.page(f"{H}/a", "a", length=10)
    job.page(f"{H}/b", "b")
    mirror = job.mirror()
    assert mirror.report.files == 1
    assert mirror.report.unreadable[0].startswith(f"{H}/a: ")


def test_a_failed_refetch_keeps_the_old_copy_and_a_good_one_replaces_it(job: Any) -> None:
    job.page(f"{H}/a", "first")
    job.page(f"{H}/b", "first")
    job.mirror()
    job.page(f"{H}/a", "", outcome=Outcome.REFUSED, status=404, round=2)
    job.page(f"{H}/b", "second", round=2)
    mirror = job.mirror()
    assert mirror.text(f"{H}/a").endswith("first")
    assert mirror.text(f"{H}/b").endswith("second")


def test_names_stay_when_more_is_kept_later(job: Any) -> None:
    job.page(f"{H}/A", "A")
    before = job.mirror().paths
    job.page(f"{H}/a", "a")
    job.page(f"{H}/A/b", "b")
    after = job.mirror().paths
    assert before[f"{H}/A"] == after[f"{H}/A"]


def test_pages_behind_a_login_are_left_out_unless_asked_for(job: Any) -> None:
    job.page(f"{H}/", '<a href="/m">m</a>')
    job.page(f"{H}/m", "members", access="me")
    assert list(job.mirror().paths) == [f"{H}/"]
    assert list(job.mirror(access=frozenset({"me"})).paths) == [f"{H}/", f"{H}/m"]


def test_robots_and_refusals_are_no_files(job: Any) -> None:
    job.page(f"{H}/robots.txt", "User-agent: *", "text/plain", kind=Kind.ROBOTS)
    job.page(f"{H}/no", "no", outcome=Outcome.REFUSED, status=403)
    mirror = job.mirror()
    assert (mirror.paths, mirror.report.files) == ({}, 0)


def test_the_start_page_lists_seeds_and_hosts_escaped(job: Any) -> None:
    job.page(f"{H}/", "x", title="<b>Title & more</b>")
    job.page("http://example.com:8080/%3Cx%3E", "x", parent=1)
    text = (job.mirror().target / "index.html").read_text()
    assert '<a href="example.com/index.html">&lt;b&gt;Title &amp; more&lt;/b&gt;</a>' in text
    assert '<a href="example.com_8080/%253Cx%253E.html">example.com_8080</a>' in text
    assert "主机" in text
    assert "<b>" not in text


def test_a_symbolic_link_is_never_written_through(job: Any, tmp_path: Path) -> None:
    job.page(f"{H}/a.html", "a")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.html").write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(outside)
    with pytest.raises(ConfigError, match="symbolic link"):
        job.mirror(target=link)
    target = tmp_path / "target"
    target.mkdir()
    (target / "example.com").symlink_to(outside)
    with pytest.raises(ConfigError, match=r"example\.com"):
        job.mirror(target=target)
    (target / "example.com").unlink()
    (target / "example.com").mkdir()
    (target / "example.com" / "a.html").symlink_to(outside / "a.html")
    with pytest.raises(ConfigError, match=r"a\.html"):
        job.mirror(target=target)
    assert (outside / "a.html").read_text() == "mine"
    assert list(outside.iterdir()) == [outside / "a.html"]


def test_what_somebody_puts_into_an_empty_target_meanwhile_is_never_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with Folder(tmp_path / "m") as out:
        (tmp_path / "m" / "link").symlink_to(outside)
        (tmp_path / "m" / "folder").mkdir()
        assert out.write("link", [b"ours"], fresh=True).changed
        with pytest.raises(ConfigError, match="folder cannot be written"):
            out.write("folder", [b"ours"], fresh=True)
    assert outside.read_text() == "mine"
    assert [path.name for path in (tmp_path / "m").iterdir() if path.is_file()] == ["link"]
    assert not (tmp_path / "m" / "link").is_symlink()


def test_what_pages_repeat_is_remembered_within_a_limit() -> None:
    memories = rewrite.Memories(1000)
    for n in range(60):
        folder = f"{H}/{n % 20}/"
        memory = memories.of(folder, f"{n % 20}/p.html", "utf-8")
        to = rewrite.Addresses(folder, f"{n % 20}/p.html", "utf-8", lambda url: "", memory)
        links = "".join(f'<a href="{n}-{link}.html#{link}">x</a><img class=i src=i{link}>' for link in range(30))
        picture = f'<img src="data:image/png;base64,{"A" * 2000}">'
        done = rewrite.html(f"<head></head>{links}{picture}".encode(), to)
        assert f'href="{folder}{n}-29.html#29"'.encode() in done
        assert picture.encode() in done
        assert memories.held <= 1000 + 3 * 60
        assert not any(len(old) > 1000 for part in memory for old in part)
        assert to.missing == 60


def test_addresses_with_fragments_are_what_they_are_without_a_memory() -> None:
    written = [
        *("a#x", "a#", "#x", "a #x", " a#x", "?q#x", "a?q#x", "mailto:a@b#x", "file:///a#x", "javascript:a#x", "a#x%20y", "a#ü", "//o.org/a#x", "!#x")
    ]  # fmt: skip
    page = "".join(f'<a href="{address}">x</a>' for address in written * 2).encode()
    found: list[bytes] = []
    for address in written:
        to = rewrite.Addresses(f"{H}/d/p", "example.com/d/p.html", "utf-8", lookup)
        found.append(rewrite.html(f'<a id=i cite="" href="{address}">x</a>'.encode(), to).partition(b'href="')[2])
    to = rewrite.Addresses(f"{H}/d/p", "example.com/d/p.html", "utf-8", lookup)
    alone = [part.partition(b'"')[0] for part in found]
    together = [part.partition(b'"')[0] for part in rewrite.html(page, to).split(b'href="')[1:]]
    assert together == alone * 2
    assert together[0] == b"a.html#x"


def lookup(url: str) -> str:
    """`a` is kept, and nothing else."""
    return "example.com/d/a.html" if url == f"{H}/d/a" else ""


def test_a_target_that_is_a_file_is_refused(job: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="another folder"):
        job.mirror(target=tmp_path / "file")


def test_a_full_disk_leaves_no_half_file(job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job.page(f"{H}/a", "a")

    def full(*args: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        with pytest.raises(DiskFull):
            job.mirror(target=tmp_path / "m")
    assert [path.name for path in (tmp_path / "m").rglob("*") if path.is_file()] == [".nephila.db"]


def test_no_drafts_are_left(job: Any) -> None:
    job.page(f"{H}/a/b/c", "x")
    target = job.mirror().target
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()) == [
        ".nephila.db",
        "example.com/a/b/c.html",
        "index.html",
        "index.jsonl",
    ]


def test_a_target_that_cannot_be_written_is_the_users_mistake(
    job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.page(f"{H}/a", "a")

    make = os.mkdir

    def refused(*args: Any, **more: Any) -> None:
        if "dir_fd" in more:
            raise PermissionError(13, "Permission denied")
        make(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", refused)
        with pytest.raises(ConfigError, match="another"):
            job.mirror(target=tmp_path)


def test_every_link_of_a_site_of_odd_names_leads_to_its_page(job: Any) -> None:
    for path in ODD_PATHS:
        url = normalise(H + path)
        assert url is not None
        job.page(url, odd_page(path))
    mirror = job.mirror()
    assert len({path.casefold() for path in mirror.paths.values()}) == len(ODD_PATHS)
    for row in mirror.index:
        here = mirror.target / row["path"]
        links = re.findall(r'<a href="([^"]*)"', here.read_text())
        for link, path in zip(links, ODD_PATHS, strict=True):
            to = (here.parent / unquote(unescape(link))).resolve()
            assert mirror.target.resolve() in to.parents
            assert f'<p id="me">{escape(path)}</p>' in to.read_text(), link


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("charset", WORDS)
def test_a_site_in_an_old_charset(job: Any, charset: str, declared: bool) -> None:
    word = WORDS[charset]
    for path, answer in charset_site(charset, declared=declared).items():
        kind, _, said = answer.media_type.partition("; charset=")
        job.page(H + path, answer.body, kind, charset=said or (charset if kind == "text/html" else ""))
    mirror = job.mirror()
    home = mirror.text(f"{H}/")
    assert f"<title>{word}</title>" in home
    assert charset not in home
    for link in re.findall(r'<a href="([^"]*)"', home):
        assert f"<p>{word}</p>" in (mirror.target / "example.com" / unquote(unescape(link))).read_text()
    assert mirror.text(f"{H}/script.js") == f'var said = "{word}"'
    assert mirror.text(f"{H}/style.css") == f'.{word} #css::before {{ content: "{word}" }}'


def test_maps_frames_parameters_and_drawings_in_the_page(job: Any) -> None:
    job.page(f"{H}/k.png", b"png", "image/png")
    job.page(f"{H}/k", "page")
    job.page(
        f"{H}/d/",
        """<html manifest="m"><map name=m><area href='/k' shape=rect></map><img src=/k.png usemap="#m" lowsrc="/k.png">
        <object data="/k.png"><param name="movie" value="/k.png"><param name=x value="/k"></object>
        <form action="/k"><button formaction="/gone"></form><svg><use href="/k.png#i"/><a xlink:href="/k"/></svg>
        <img data-src="/k.png" data-srcset="/k.png 2x"><body background="/k.png"><blockquote cite="/k"></blockquote>
        <a href="">self</a><a href="?x">query</a><iframe src="/k"></iframe>""",
    )
    text = job.mirror().text(f"{H}/d/")
    for piece in (
        "<area href='../k.html' shape=rect>",
        '<img src="../k.png" usemap="#m" lowsrc="../k.png">',
        '<object data="../k.png"><param name="movie" value="../k.png"><param name=x value="/k">',
        f'<form action="../k.html"><button formaction="{H}/gone">',
        '<use href="../k.png#i"/><a xlink:href="../k.html"/>',
        '<img data-src="../k.png" data-srcset="../k.png 2x"><body background="../k.png"><blockquote cite="../k.html">',
        f'<a href="">self</a><a href="{H}/d/?x">query</a><iframe src="../k.html">',
    ):
        assert piece in text
    assert "manifest" not in text


def test_two_pages_of_one_folder_keep_their_own_queries_and_bases(job: Any) -> None:
    for name in ("a", "b"):
        job.page(f"{H}/{name}", '<a href="?x">x</a><base href="/y/"><a href="p">p</a><a href="/a">a</a>')
        job.page(f"{H}/{name}?x", name)
    job.page(f"{H}/y/p", "p")
    job.page(f"{H}/p", "wrong")
    mirror = job.mirror()
    for name in ("a", "b"):
        text = mirror.text(f"{H}/{name}")
        assert [href(text, n) for n in range(3)] == [f"{name}@x.html", "y/p.html", "a.html"]
    assert mirror.report.missing == 0


def test_a_page_that_does_not_decode_is_written_as_it_can_be_read(job: Any) -> None:
    job.page(f"{H}/a", b'<title>\xff\xe4</title><a href="/b\xff">x</a>', charset="utf-8")
    job.page(f"{H}/b%EF%BF%BD", "b")
    mirror = job.mirror()
    page = (mirror.target / mirror.paths[f"{H}/a"]).read_bytes()
    assert b"<title>\xff\xe4</title>" in page
    assert b'href="b%EF%BF%BD.html"' in page
