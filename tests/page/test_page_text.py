"""Charsets, stylesheets, image candidates, sitemaps and feeds."""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Callable

import pytest

from nephila.page import charset, css, headers, media, sitemap, srcset
from nephila.page.harvest import Harvest
from nephila.types import Kind, Page

Look = Callable[..., Page]

CHINESE = "这是一个关于中国历史的网页，我们在这里讨论各种问题，欢迎大家来访问。"
TRADITIONAL = "這是一個關於中國歷史的網頁，我們在這裡討論各種問題，歡迎大家來訪問。"
JAPANESE = "これは日本語のページです。歴史について書いています。"
KOREAN = "이것은 한국어로 쓴 페이지입니다. 역사에 대하여 이야기합니다."
RUSSIAN = "Это страница на русском языке, и говорит она об истории."


def hrefs(page: Page, kind: Kind | None = None) -> list[str]:
    if page.links is None:
        return []
    return [href for href, k in zip(page.links.hrefs, page.links.kinds, strict=True) if kind in (None, k)]


# --- charsets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["GBK", "gb2312", "gb18030", "x-gbk", "GB_2312-80", "chinese"])
@pytest.mark.parametrize("where", ["header", "meta", "late meta"])
def test_gbk_labels_read_everything_that_gb18030_holds(look: Look, label: str, where: str) -> None:
    """㐀 and 𠀀 take four bytes, which only GB18030 has: a page labelled GBK or GB2312 may hold them all the same."""
    text = "汉字 㐀𠀀 € 漢字"
    meta = {"header": "", "meta": f"<meta charset={label}>", "late meta": f"<!--{'x' * 2000}--><meta charset={label}>"}[
        where
    ]
    body = f"{meta}<title>{text}</title><a href='?q=汉字'>x</a>".encode("gb18030")
    page = look(body, f"text/html; charset={label}" if where == "header" else "text/html")
    assert (page.title, hrefs(page)) == (text, ["?q=汉字"])
    assert page.charset in ("gbk", "gb18030")
    assert page.links is not None
    assert page.links.charset == page.charset


@pytest.mark.parametrize(
    ("codec", "text", "names"),
    [
        ("gbk", CHINESE, {"gbk"}),
        ("gb18030", CHINESE, {"gbk", "gb18030"}),
        ("big5", TRADITIONAL, {"big5"}),
        ("utf-8", CHINESE, {"utf-8"}),
        ("shift_jis", JAPANESE, {"shift_jis"}),
        ("euc-jp", JAPANESE, {"euc-jp"}),
        ("iso-2022-jp", JAPANESE, {"iso-2022-jp"}),
        ("euc-kr", KOREAN, {"euc-kr"}),
        ("koi8-r", RUSSIAN, {"koi8-r", "koi8-u"}),
        ("windows-1251", RUSSIAN, {"windows-1251"}),
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset=none", "text/html; charset=unicode"])
def test_undeclared_charset_is_guessed(look: Look, codec: str, text: str, names: set[str], content_type: str) -> None:
    page = look(f"<title>{text}</title>".encode(codec), content_type)
    assert (page.title, page.charset in names) == (text, True)


@pytest.mark.parametrize("label", ["unicode", "none", "x-no-such"])
def test_meta_that_is_not_believed(look: Look, label: str) -> None:
    page = look(f"<meta charset='{label}'><title>{CHINESE}</title>".encode("gbk"))
    assert (page.title, page.charset) == (CHINESE, "gbk")
    old = f'<meta http-equiv=Content-Type content="text/html; charset={label}"><title>{CHINESE}</title>'
    assert look(old.encode("gbk")).title == CHINESE


def test_mark_beats_header_beats_meta(look: Look) -> None:
    body = "<meta charset=big5><title>汉字</title>"
    assert look(b"\xef\xbb\xbf" + body.encode(), "text/html; charset=gbk").title == "汉字"
    assert look(b"\xff\xfe" + body.encode("utf-16-le"), "text/html; charset=gbk").title == "汉字"
    assert look(body.encode("gbk"), "text/html; charset=gbk").title == "汉字"


def test_one_stray_byte_does_not_change_the_charset(look: Look) -> None:
    page = look(b"<title>" + CHINESE.encode() + b"</title>" + CHINESE.encode() * 20 + b"\xff\xb2")
    assert (page.charset, page.title) == ("utf-8", CHINESE)


@pytest.mark.parametrize(
    ("content", "declared", "expected"),
    [
        ("é".encode(), "", ("é", "utf-8")),
        (b"\xef\xbb\xbfa", "gbk", ("a", "utf-8")),
        ("汉".encode("gbk"), "GB2312", ("汉", "gbk")),
        ('@charset "gbk";汉'.encode("gbk"), "", ('@charset "gbk";汉', "gbk")),
        ('@charset "utf-16";é'.encode(), "", ('@charset "utf-16";é', "utf-8")),
        (
            '<?xml version="1.0" encoding="Big5"?>漢'.encode("big5"),
            "",
            ('<?xml version="1.0" encoding="Big5"?>漢', "big5"),
        ),
        (CHINESE.encode("gbk"), "x-no-such", (CHINESE, "gbk")),
    ],
)
def test_decode(content: bytes, declared: str, expected: tuple[str, str]) -> None:
    assert charset.decode(content, declared) == expected


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF89a", "image/gif"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP", "image/webp"),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (b"PK\x03\x04", "application/zip"),
        (b"\n<?xml version='1.0'?>", "text/xml"),
        (b"\xef\xbb\xbf<html>", "text/html"),
        (b"<!-- x -->", "text/html"),
        (b"<abbr>", "text/plain"),
        (b"hello", "text/plain"),
        (b"", "text/plain"),
        (b"\0\1\2", "application/octet-stream"),
    ],
)
def test_sniff(content: bytes, name: str) -> None:
    assert media.sniff(content) == name


# --- stylesheets and image candidates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{background:url(x.png)}", ["x.png"]),
        ("a{background:URL( 'x.png' )}", ["x.png"]),
        ("@import \"a.css\" screen;@IMPORT url(b.css);@import/**/'c.css';", ["a.css", "b.css", "c.css"]),
        ("/* url(no) */ url(yes) /* url(no)", ["yes"]),
        ("a::before{content:'url(no)'} b{c:url(yes)}", ["yes"]),
        ('content:"\\"url(no)"; url("a\\"b")', ['a"b']),
        (r"url(a\)b.png) url(\61 b.png)", ["a)b.png", "ab.png"]),
        ("url(data:image/png;base64,AA==) url('DATA:x') url(#id) url()", []),
        ("@namespace svg url(http://www.w3.org/2000/svg); url(x)", ["x"]),
        ("my-url(no) url(x)", ["x"]),
        ("url(a b) url(x)", ["x"]),
        ("@font-face{src:url(a.eot?#iefix) format('x'),url(\"b.woff\")}", ["a.eot?#iefix", "b.woff"]),
        ("url(x", ["x"]),
        ("url('x", ["x"]),
        ("a{b:'unclosed\n;c:url(x)}", ["x"]),
    ],
)
def test_css_urls(text: str, expected: list[str]) -> None:
    assert [url for url, _ in css.urls(text)] == expected


def test_css_page(look: Look) -> None:
    page = look("@import 'a.css'; b{c:url(d.png)}", "text/css", url="http://site.test/css/main.css")
    assert page.links is not None
    assert [(link.url, link.kind, link.attribute) for link in page.links] == [
        ("http://site.test/css/a.css", Kind.EMBED, "import"),
        ("http://site.test/css/d.png", Kind.EMBED, "url"),
    ]


@pytest.mark.parametrize(
    "unit", ["url(", "url('", "/*", "'", '"\\', "@import /*", "@import '", "\\", "@namespace ", "url(a b"]
)
def test_css_time_is_linear(unit: str) -> None:
    started = time.process_time()
    list(css.urls(unit * (500_000 // len(unit))))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png,b.png", ["a.png,b.png"]),
        ("a,b.png 1x,c,d.png 2x", ["a,b.png", "c,d.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        (" , a.png 100w 50h ,, b.png", ["a.png", "b.png"]),
        ("/w_100,h_50/a.png 100w, /w_200,h_100/a.png 200w", ["/w_100,h_50/a.png", "/w_200,h_100/a.png"]),
        ("a.png (1x, 2x), b.png", ["a.png", "b.png"]),
        ("", []),
        (",,,", []),
    ],
)
def test_srcset(text: str, expected: list[str]) -> None:
    assert srcset.urls(text) == expected


def test_srcset_time_is_linear() -> None:
    started = time.process_time()
    for unit in (",", "a (", "a ,", "a )", "a,"):
        srcset.urls(unit * 200_000)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("unit", ["<", "<a>;", ",", '<a>;x="', "<a>,", ";"])
def test_link_header_time_is_linear(unit: str) -> None:
    started = time.process_time()
    assert len(headers.links(unit * 60_000)) <= headers.LINKS_MAX
    assert time.process_time() - started < 2


# --- sitemaps -------------------------------------------------------------------------------------------------------

URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


def located(body: str | bytes) -> list[str]:
    harvest = Harvest(1000)
    sitemap.read(body if isinstance(body, bytes) else body.encode(), "", harvest)
    return harvest.hrefs


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<url><loc> http://a.test/?x=1&amp;y=2 </loc></url>", ["http://a.test/?x=1&y=2"]),
        ("<url><loc>http://a.test/?x=1&copy=2</loc></url>", ["http://a.test/?x=1&copy=2"]),
        ("<url><loc><![CDATA[http://a.test/?x=1&y=2]]></loc></url>", ["http://a.test/?x=1&y=2"]),
        ("<url><loc>http://a.test/&#x6c49;&#23383;</loc></url>", ["http://a.test/汉字"]),
        ("<!-- <url><loc>http://no.test/</loc></url> --><URL><LOC>http://a.test/</LOC></URL>", ["http://a.test/"]),
        (
            "<url><loc>http://a.test/1<lastmod>x</lastmod></url><url><loc>http://a.test/2</loc></url>",
            ["http://a.test/1", "http://a.test/2"],
        ),
        (
            "<url><loc>http://a.test/</loc><image:image><image:loc>http://no.test/i.png</image:loc></image:image></url>",
            ["http://a.test/"],
        ),
        ("<url><loc></loc></url><url><loc>&own;</loc></url>", []),
    ],
)
def test_sitemap_entries(body: str, expected: list[str]) -> None:
    assert located(URLSET.format(body)) == expected
    assert located("\ufeff\n\n" + '<?xml version="1.0" encoding="UTF-8"?>\n' + URLSET.format(body)) == expected
    assert located(URLSET.format(body).replace("xmlns", "xmlns:wrong")) == expected


def test_sitemap_with_a_prefix() -> None:
    assert located("<s:urlset xmlns:s='x'><s:url><s:loc>http://a.test/</s:loc></s:url></s:urlset>") == [
        "http://a.test/"
    ]


def test_sitemap_cut_anywhere_keeps_what_is_whole() -> None:
    whole = URLSET.format("".join(f"<url><loc>http://a.test/page{i}</loc></url>" for i in range(5)))
    urls = [f"http://a.test/page{i}" for i in range(5)]
    for end in range(len(whole)):
        found = located(whole[:end])
        assert found == urls[: len(found)]
        assert len(found) >= whole[:end].count("</loc>")


def test_sitemap_index(look: Look) -> None:
    body = (
        "<sitemapindex><sitemap><loc>/a.xml.gz</loc></sitemap><sitemap>http://site.test/b.xml</sitemap></sitemapindex>"
    )
    page = look(body, "application/xml", kind=Kind.SITEMAP)
    assert page.links is not None
    assert [(link.url, link.kind) for link in page.links] == [
        ("http://site.test/a.xml.gz", Kind.SITEMAP),
        ("http://site.test/b.xml", Kind.SITEMAP),
    ]


def test_sitemap_found_as_a_page(look: Look) -> None:
    body = URLSET.format("<url><loc>/x</loc></url>")
    assert hrefs(look(body, "text/xml")) == ["/x"]
    assert hrefs(look(body, "text/xml", sitemaps=False)) == []
    assert hrefs(look("<svg><loc>/x</loc></svg>", "text/xml")) == []


def test_text_sitemap() -> None:
    assert located("\ufeffhttp://a.test/1\r\n\r\n https://a.test/2 \nftps://no\nwords") == [
        "http://a.test/1",
        "https://a.test/2",
    ]


def test_html_error_page_is_no_sitemap() -> None:
    assert (
        located("<!doctype html><html><body><a href='http://a.test/'>x</a><loc>http://a.test/</loc></body></html>")
        == []
    )


def test_sitemap_in_gzip(look: Look) -> None:
    packed = gzip.compress(URLSET.format("<url><loc>http://a.test/</loc></url>").encode(), mtime=0)
    assert located(packed) == ["http://a.test/"]
    assert located(packed + b"\0\0junk") == ["http://a.test/"]
    assert located(packed[:-9]) == ["http://a.test/"]
    assert located(gzip.compress(packed, mtime=0)) == []


def test_a_sitemap_of_too_many_addresses_is_cut(look: Look) -> None:
    page = look("".join(f"http://s.test/{n}\n" for n in range(100_001)), "text/plain", kind=Kind.SITEMAP)
    assert (len(page.links), page.flaw) == (100_000, "cut.links")


@pytest.mark.parametrize(
    "entry",
    [
        "<url><loc> http://s.test/{}?a=1&amp;b=2 </loc><lastmod>x</lastmod></url>",
        "<url><loc>http://s.test/{}</loc><x:link rel='alternate' href='/fr/{}'/></url>",
        "<url><loc>http://s.test/{}</loc><image:image><image:loc>http://s.test/no</image:loc></image:image></url>",
        "<url><loc>http://s.test/{}</loc><link rel='alternate' href='/no'/></url>",
        "<url><loc>http://s.test/{}",
        "<url ><loc>http://s.test/{}</loc></url>",
    ],
)
def test_a_sitemap_as_the_protocol_shows_it_reads_like_any_other(look: Look, entry: str) -> None:
    """A comment in it is all that makes it one of the others."""
    entries = "".join(entry.replace("{}", str(n)) for n in range(50))
    one, two = (look(f"<urlset>{more}{entries}</urlset>", "text/xml", kind=Kind.SITEMAP) for more in ("", "<!-- x -->"))
    assert one.links is not None
    assert two.links is not None
    assert (list(one.links.hrefs), one.links.kinds) == (list(two.links.hrefs), two.links.kinds)
    assert len(one.links) >= 49


def test_gzip_bomb_is_cut() -> None:
    packed = gzip.compress(b" " * (30 << 20), mtime=0)
    assert len(sitemap.unpacked(packed)[0]) == sitemap.RATIO_MAX * len(packed)
    assert len(sitemap.unpacked(gzip.compress(b" " * (4 << 20), mtime=0))[0]) == 1 << 20


def test_entities_are_never_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 30))
    body = f'<!DOCTYPE x [<!ENTITY l0 "http://no.test/">{laughs}<!-- ]> --> ]>' + URLSET.format(
        "<url><loc>&l29;</loc></url><url><loc>http://a.test/</loc></url>"
    )
    assert located(body) == ["http://a.test/"]


@pytest.mark.parametrize(
    "unit", ["<!--", "<![CDATA[", "<loc>", "<!DOCTYPE [", '<!"', "<url", "&amp", "<a b='", "<!x [<!--"]
)
def test_sitemap_time_is_linear(unit: str) -> None:
    started = time.process_time()
    located("<urlset>" + unit * (400_000 // len(unit)))
    assert time.process_time() - started < 3


# --- feeds ----------------------------------------------------------------------------------------------------------


def test_rss(look: Look) -> None:
    body = """<?xml version="1.0"?><rss><channel><link>http://site.test/home</link><atom:link rel="next" href="?page=2"/>
      <item><title>1</title><link>http://site.test/1?a=1&amp;b=2</link><guid>http://site.test/guid</guid></item>
      <item><guid>http://site.test/2</guid></item><item><guid>tag:no,url</guid></item>
      <item><link><![CDATA[ /3 ]]></link></item></channel></rss>"""
    for content_type in ("application/rss+xml", "text/xml", "application/xml; charset=utf-8"):
        page = look(body, content_type)
        assert hrefs(page, Kind.PAGE) == ["http://site.test/1?a=1&b=2", "http://site.test/2", "/3"]
        assert hrefs(page, Kind.FEED) == ["?page=2"]
    assert len(hrefs(look(body, "text/html", kind=Kind.FEED), Kind.PAGE)) == 3


def test_atom(look: Look) -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://site.test/blog/"><link href="/home"/>
      <entry><link rel="edit" href="edit"/><link rel="alternate" href="one"/><link href="other"/></entry>
      <entry><link href="two"/></entry></feed>"""
    page = look(body, "application/atom+xml")
    assert page.links is not None
    assert [link.url for link in page.links] == ["http://site.test/blog/one", "http://site.test/blog/two"]


# --- nothing raises -------------------------------------------------------------------------------------------------


def test_no_body_makes_reading_raise(look: Look) -> None:
    rng = random.Random(7)
    pieces = [
        b"<a href=",
        b"'",
        b'"',
        b">",
        b"<",
        b"/",
        b"<base href=",
        b"<svg>",
        b"<meta http-equiv=refresh content=",
        b"5;url=",
    ]
    pieces += [
        b"<style>url(",
        b"<frameset><frame src=",
        b"<iframe srcdoc=",
        b"\xff\xfe",
        b"\0",
        b"&#xd800;",
        "汉".encode("gbk"),
    ]
    pieces += [
        b"<loc>",
        b"<url>",
        b"<item>",
        b"<link>",
        b"<![CDATA[",
        b"<!DOCTYPE [",
        b"http://[",
        b"srcset=a,",
        b" style='url(",
        b"\\",
    ]
    types = [
        "text/html",
        "text/css",
        "text/xml",
        "application/xhtml+xml",
        "application/rss+xml",
        None,
        "text/html;charset=replacement",
    ]
    for _ in range(1500):
        body = b"".join(rng.choices(pieces, k=rng.randint(1, 20)))
        value = rng.choice([b"<a>; rel", b"x", body]).decode("latin-1")
        page = look(
            body,
            rng.choice(types),
            kind=rng.choice([Kind.PAGE, Kind.SITEMAP]),
            headers=[("link", value), ("refresh", value), ("x-robots-tag", value)],
        )
        assert [link.kind for link in page.links or ()] == (page.links.kinds if page.links else [])
