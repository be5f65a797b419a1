"""Section G: pages in the wrong charset, in none, too large, too deep, and links wherever they hide."""

from __future__ import annotations

import functools
import gzip
from typing import Any

from nephila.testing.torture.cases import UNASKED, case, says
from nephila.testing.torture.server import Talk, answer, html, page

CHINESE = "汉字编码检测的网页与文字"
RARE = "㐂𠀀龦"
"""In GB18030 four bytes each, in GB2312 not at all."""
RUSSIAN = "Обычная страница на русском языке"
READ: dict[str, Any] = {"read_seconds_max": 1.0}
LINKS_MAX = 20_000


def titled(title: str, codec: str, head: str = "", more: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}<title>{title}</title></head><body>{more}</body></html>".encode(codec)


def typed(body: bytes, content_type: str) -> bytes:
    return answer(body, f"Content-Type: {content_type}")


def shows(
    row: str, name: str, body: bytes, charset: str, title: str = CHINESE, *, header: str = "", **more: Any
) -> None:
    """A case of a page that is served as `text/html` with `header` behind it, and has to be read so."""
    says(row, name, typed(body, f"text/html{header}"), visit={"charset": charset, "title": title}, **more)


def meta(label: str) -> str:
    return f'<meta charset="{label}">'


# --- G1: header, meta and BOM disagree ----------------------------------------------------------------------------------

shows(
    "G1", "bom-over-all", b"\xff\xfe" + titled(CHINESE, "utf-16-le", meta("gbk")), "utf-16le", header="; charset=utf-8"
)
shows(
    "G1", "bom-over-header", b"\xef\xbb\xbf" + titled(CHINESE, "utf-8", meta("big5")), "utf-8", header="; charset=gbk"
)
shows("G1", "header-over-meta", titled(CHINESE, "gbk", meta("utf-8")), "gbk", header="; charset=gbk", quick=True)
shows(
    "G1",
    "meta-over-guess",
    titled(RUSSIAN.encode("cp1251").decode("latin-1"), "latin-1", meta("windows-1252")),
    "windows-1252",
    RUSSIAN.encode("cp1251").decode("cp1252"),
)
shows("G1", "first-of-two-metas", titled(CHINESE, "gbk", meta("gbk") + meta("utf-8")), "gbk")

# --- G2: labelled gb2312, written in GBK or GB18030 ---------------------------------------------------------------------

shows("G2", "header", titled(RARE, "gb18030"), "gbk", RARE, header="; charset=gb2312", quick=True)
shows("G2", "meta", titled(RARE, "gb18030", meta("gb2312")), "gbk", RARE)
shows("G2", "gb18030", titled(RARE, "gb18030", meta("gb18030")), "gb18030", RARE)
shows("G2", "euro-as-0x80", titled("1 €", "cp1252", meta("gb2312")), "gbk", "1 €")

# --- G3: labels spelled in every way ------------------------------------------------------------------------------------

for number, header in enumerate(
    [
        "; Charset=GB2312",
        "; charset='gb2312'",
        ';charset="gb2312";',
        "; CHARSET = gb2312",
        "; charset= gb2312 ;x=y",
        "; charset=gb_2312-80",
        "; charset=none",
        "; charset=unicode",
        "; charset=",
        "; charset=x-unheard-of",
    ]
):
    shows("G3", f"header-{number}", titled(CHINESE * 4, "gbk"), "gbk", CHINESE * 4, header=header)
for label in ("UTF8", "utf-8;", " utf8 ", "unicode-1-1-utf-8"):
    shows("G3", f"meta-{label.strip(' ;')}", titled(CHINESE, "utf-8", meta(label)), "utf-8")
shows("G3", "x-sjis", titled("日本語", "cp932", meta("x-sjis")), "shift_jis", "日本語", quick=True)
shows("G3", "meta-unicode", titled(CHINESE * 4, "gbk", meta("unicode")), "gbk", CHINESE * 4)
shows("G3", "meta-none", titled(CHINESE, "utf-8", meta("none")), "utf-8")

# --- G4: UTF-16 ---------------------------------------------------------------------------------------------------------

shows("G4", "le-bom", b"\xff\xfe" + titled(CHINESE, "utf-16-le"), "utf-16le", quick=True)
shows("G4", "be-bom", b"\xfe\xff" + titled(CHINESE, "utf-16-be"), "utf-16be")
shows("G4", "le-by-header", titled(CHINESE, "utf-16-le"), "utf-16le", header="; charset=utf-16")
shows("G4", "be-by-header", titled(CHINESE, "utf-16-be"), "utf-16be", header="; charset=utf-16be")
shows(
    "G4", "le-unsaid", titled("plain words in two bytes each", "utf-16-le"), "utf-16le", "plain words in two bytes each"
)
shows(
    "G4", "be-unsaid", titled("plain words in two bytes each", "utf-16-be"), "utf-16be", "plain words in two bytes each"
)
shows("G4", "meta-in-ascii", titled(CHINESE, "utf-8", meta("utf-16")), "utf-8")
shows("G4", "odd-last-byte", b"\xff\xfe" + titled(CHINESE, "utf-16-le") + b"<", "utf-16le")

# --- G5: a late, hidden or broken meta ----------------------------------------------------------------------------------

shows("G5", "late", titled(CHINESE, "gbk", f"<!--{'x' * 1500}-->" + meta("gbk")), "gbk", quick=True)
shows("G5", "in-comment", titled(CHINESE, "utf-8", f"<!-- {meta('gbk')} -->{meta('utf-8')}"), "utf-8")
shows("G5", "in-script", titled(CHINESE, "utf-8", f"<script>'{meta('gbk')}'</script>{meta('utf-8')}"), "utf-8")
shows(
    "G5",
    "httpequiv",
    titled(CHINESE * 4, "gbk", '<meta httpequiv="Content-Type" content="text/html; charset=gbk">'),
    "gbk",
    CHINESE * 4,
)
shows(
    "G5",
    "content-first",
    titled(CHINESE, "gbk", '<meta content="text/html; charset=gbk" http-equiv="Content-Type">'),
    "gbk",
)
shows("G5", "xml-declaration", b'<?xml version="1.0" encoding="gbk"?>' + titled(CHINESE * 4, "gbk"), "gbk", CHINESE * 4)

# --- G6: nothing said ---------------------------------------------------------------------------------------------------

UNSAID = {
    "shift_jis": ("cp932", "これは日本語で書かれた普通の文章です。文字コードを当てます。"),
    "euc-jp": ("euc_jp", "これは日本語で書かれた普通の文章です。文字コードを当てます。"),
    "big5": ("big5", "這是一個用繁體中文寫成的普通網頁，沒有說明它的編碼方式。"),
    "euc-kr": ("euc_kr", "이것은 한국어로 쓰인 평범한 문장입니다. 문자 집합을 맞추어야 합니다."),
    "koi8-u": ("koi8_r", "Это обычная страница на русском языке, и кодировка её нигде не названа."),
    "windows-1251": ("cp1251", "Это обычная страница на русском языке, и кодировка её нигде не названа."),
    "windows-1253": ("cp1253", "Αυτή είναι μια συνηθισμένη σελίδα στα ελληνικά χωρίς δήλωση κωδικοποίησης."),
    "windows-1255": ("cp1255", "זהו דף רגיל בעברית שאין בו שום הצהרה על קידוד התווים שלו בכלל"),
}
for label, (codec, words) in UNSAID.items():
    shows("G6", label, titled(words, codec, more=words * 3), label, words, quick=label == "big5")

# --- G7: queries of a page that is not UTF-8 ----------------------------------------------------------------------------


@case("G7", "gbk", also={"/s?q=%D6%D0%CE%C4": "OK", "/%E4%B8%AD?a=%D6%D0": "OK", "/u?q=%E4%B8%AD": "OK"}, quick=True)
async def _query(talk: Talk) -> None:
    links = ["/s?q=中文", "/中?a=中", "/u?q=%E4%B8%AD"]
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    await talk.say(typed(titled("t", "gbk", meta("gbk"), anchors), "text/html"))


@case("G7", "lacking", also={"/s?q=%26%2327721%3B": "OK"})
async def _lacking(talk: Talk) -> None:
    """The page's charset has no such character: a numeric reference, as a form would send it."""
    await talk.say(typed(titled("t", "ascii", meta("iso-8859-2"), '<a href="/s?q=&#27721;">x</a>'), "text/html"))


# --- G8: too much of everything -----------------------------------------------------------------------------------------

LARGE: dict[str, Any] = {
    "page_bytes_max": 16 << 20,
    "body_bytes_max": 64 << 20,
    "exclude": ["/n"],
    "body_timeout_s": 60.0,
    "header_timeout_s": 20.0,
    "low_speed_s": 30.0,
    "delay": "0",
}
"""Links are met, and refused."""


@functools.cache
def many_links() -> bytes:
    return b"".join(b"<a href=/n%x>" % n for n in range(1_000_000))


@functools.cache
def many_attributes() -> bytes:
    return b" ".join(b"a%x" % n for n in range(1_000_000))


@case("G8", "one-line-of-20-mb", reason="cut.page", links=1, settings=LARGE)
async def _one_line(talk: Talk) -> None:
    body = page("/n/first").removesuffix(b"</body></html>") + b"x" * (20 << 20) + b"<a href=/n/last>"
    await talk.say(typed(body, "text/html"))


@case("G8", "a-million-links", reason="cut.links", links=LINKS_MAX, settings=LARGE)
async def _million_links(talk: Talk) -> None:
    await talk.say(typed(many_links(), "text/html; charset=utf-8"))


@case("G8", "a-million-links-tree", reason="cut.links", links=LINKS_MAX, settings=LARGE)
async def _million_links_tree(talk: Talk) -> None:
    await talk.say(typed(many_links(), "text/html; charset=gbk"))


@case("G8", "a-million-attributes", links=1, settings=LARGE)
async def _million_attributes(talk: Talk) -> None:
    await talk.say(typed(b"<p %b><a href=/n/x>x</a>" % many_attributes(), "text/html"))


@case("G8", "a-long-link", links=1, settings=LARGE)
async def _long_link(talk: Talk) -> None:
    """Met, refused as too long, and cut where it is written down."""
    await talk.say(typed(b"<a href=/%b>x</a>" % (b"x" * (1 << 20)), "text/html"))


# --- G9: what takes long to read ----------------------------------------------------------------------------------------

SLOW = b"<template></template>" + b"".join(b"<p><font color=%d>" % n for n in range(50_000))
"""Every paragraph opens all fonts anew: a tree of it takes time by the square, and memory at up to 1 GiB a second, so that the
time allowed must be over before the memory is."""

says(
    "G9",
    "fonts",
    typed(SLOW, "text/html; charset=utf-8"),
    outcome="UNREADABLE",
    reason="read_time",
    requests=2,
    settings={"read_seconds_max": 0.4},
)
says("G9", "fonts-scanned", typed(SLOW[21:], "text/html; charset=utf-8"), settings=READ)
says("G9", "nested-100000-deep", typed(b"<div>" * 100_000 + b"<a href=/#x>x</a>", "text/html"), settings=READ)
says("G9", "unclosed-anchors", typed(b"<a href=/#x>" * 50_000, "text/html; charset=gbk"), settings=READ)
says("G9", "unclosed-scripts", typed(b"<script>" * 100_000, "text/html"), settings=READ)
says("G9", "tables", typed(b"<table><tr><td>" * 30_000, "text/html"), settings=READ)
says("G9", "half-a-tag", typed(b"<a href=" * 100_000, "text/html"), settings=READ)

# --- G10: links wherever they hide --------------------------------------------------------------------------------------

HIDDEN = b"""<!doctype html><html manifest=/manifest><head>
<link rel=stylesheet href=/sheet><style>@import '/import'; p { background: url( "/style" ) }</style>
<noscript><link rel=stylesheet href=/noscript></noscript></head>
<body background=/background><img srcset="/small 1x, /large 2x" src=/src><p style="background:url(/attribute)">
<svg><image xlink:href=/xlink /><a href=/svg>x</a></svg><img data-src=/lazy><template><a href=/template>x</a></template>
<a href="/new
line">x</a><a href="\t/tab">x</a><a href="/refer&#x0A;ence">x</a><a href=/unquoted>x</a><a href=/twice href=/again>x</a>
<a href='&#47;escaped'>x</a><area href=/area><iframe src=/frame></iframe><iframe srcdoc="&lt;a href=/srcdoc&gt;x&lt;/a&gt;"></iframe>
<form action=/form></form><a ping=/ping href=/pinged>x</a><object data=/object></object><video poster=/poster></video>
<blockquote cite=/cite></blockquote><script src=/script></script>"""
NAMED = (
    "manifest sheet import style noscript background small large src attribute xlink svg lazy template newline tab reference"
    " unquoted twice escaped area frame srcdoc pinged object poster cite script"
)


@case(
    "G10",
    "everywhere",
    also={f"/{name}": "OK" for name in NAMED.split()} | dict.fromkeys(("/form", "/ping", "/again"), UNASKED),
    quick=True,
)
async def _everywhere(talk: Talk) -> None:
    await talk.say(typed(HIDDEN, "text/html; charset=utf-8") if talk.path == "/" else html())


GUESSED = b"""<script type=application/ld+json>{"url": "/ld"}</script><p onclick="location='/click'">see /in/text
<!-- <a href=/comment/x> --><script>go('/got'); fetch('/sent', {method: 'POST'})</script>"""


@case(
    "G10",
    "guessed",
    also=dict.fromkeys(("/ld", "/click", "/in/text", "/comment/x", "/got"), "OK") | {"/sent": UNASKED},
    settings={"guess_links": True},
)
async def _guessed(talk: Talk) -> None:
    await talk.say(typed(GUESSED, "text/html; charset=utf-8") if talk.path == "/" else html())


@case("G10", "not-guessed", links=0, requests=1)
async def _not_guessed(talk: Talk) -> None:
    await talk.say(typed(GUESSED, "text/html; charset=utf-8"))


# --- G11: one broken link among a hundred -------------------------------------------------------------------------------

for number, broken in enumerate(
    ["http://[bad", "http://a b/", "http://x:99999/", "//", "http://%00/", "&#xD800;://", "http://xn--a/"]
):

    @case("G11", f"broken-{number}", also={f"/{n}": "OK" for n in (0, 49, 98)}, quick=not number)
    async def _broken(talk: Talk, broken: str = broken) -> None:
        links = [f"/{n}" for n in range(99)]
        await talk.say(html(*links[:50], broken, *links[50:]) if talk.path == "/" else html())


# --- G12: types that lie ------------------------------------------------------------------------------------------------

LYING = page("/never")
says("G12", "html-as-png", typed(LYING, "image/png"), links=0, visit={"media_type": "image/png"}, quick=True)
says("G12", "html-as-text", typed(LYING, "text/plain"), links=0)
says("G12", "xml-as-html", typed(b"<?xml version='1.0'?><data><see to='/never'/></data>", "text/html"), links=0)
says("G12", "gzip-as-html", typed(gzip.compress(LYING, mtime=0), "text/html"), links=0)
says("G12", "noise-as-html", typed(bytes(range(256)) * 64, "text/html"))
says("G12", "png-as-html", typed(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 64, "text/html"))
says("G12", "html-as-xml", typed(b"<html><body><a href='/#a'>x</a>", "application/xml"))
says("G12", "html-as-css", typed(LYING, "text/css"), links=0)
says("G12", "html-unsaid", answer(page("/#a")), visit={"media_type": "text/html"})
says("G12", "nothing-as-html", typed(b"", "text/html"), links=0)
