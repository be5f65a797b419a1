"""What a page links to, and what it says of itself."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from nephila.types import Kind, Page

Look = Callable[..., Page]
P, E, R, C, F, S, D = Kind.PAGE, Kind.EMBED, Kind.REDIRECT, Kind.CANONICAL, Kind.FORM, Kind.SITEMAP, Kind.FEED


def hrefs(page: Page, kind: Kind | None = None) -> list[str]:
    assert page.links is not None
    return [href for href, k in zip(page.links.hrefs, page.links.kinds, strict=True) if kind in (None, k)]


def urls(page: Page) -> list[str]:
    assert page.links is not None
    return [link.url for link in page.links]


# --- an href, however it is written ---------------------------------------------------------------------------------


def test_href_in_double_quotes(look: Look) -> None:
    assert urls(look('<a href="other.html">x</a>')) == ["http://site.test/dir/other.html"]


def test_href_in_single_quotes(look: Look) -> None:
    assert urls(look("<a href='other.html'>x</a>")) == ["http://site.test/dir/other.html"]


def test_href_without_quotes(look: Look) -> None:
    assert urls(look("<a href=other.html>x</a>")) == ["http://site.test/dir/other.html"]


@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("b.html", "http://site.test/dir/b.html"),
        ("./b.html", "http://site.test/dir/b.html"),
        ("../b.html", "http://site.test/b.html"),
        ("/b.html", "http://site.test/b.html"),
        ("?q=1", "http://site.test/dir/page.html?q=1"),
        ("//other.test/b", "http://other.test/b"),
        ("https://other.test/b", "https://other.test/b"),
    ],
)
def test_href_relative_and_absolute(look: Look, quote: str, href: str, url: str) -> None:
    assert urls(look(f"<a href={quote}{href}{quote}>x</a>")) == [url]


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_href_with_port(look: Look, quote: str) -> None:
    page = look(f"<a href={quote}http://site.test:8080/x{quote}>1</a><a href={quote}//site.test:81/y{quote}>2</a>")
    assert urls(page) == ["http://site.test:8080/x", "http://site.test:81/y"]


def test_href_in_upper_case_with_blanks(look: Look) -> None:
    assert hrefs(look("<A HREF = ' b.html\n' >x</A>")) == ["b.html"]


def test_href_with_character_references(look: Look) -> None:
    assert hrefs(look('<a href="/?a=1&amp;b=2&#38;c=3&d=4">x</a>')) == ["/?a=1&b=2&c=3&d=4"]


def test_one_bad_link_never_costs_the_others(look: Look) -> None:
    page = look(
        '<a href="/1">1</a><a href="http://[">bad</a><a href="/2">2</a><a href="http://x:99999/">3</a><a href="/4">'
    )
    assert [url for url in urls(page) if url.startswith("http://site.test")] == [
        "http://site.test/1",
        "http://site.test/2",
        "http://site.test/4",
    ]
    assert "http://[" in hrefs(page)


@pytest.mark.parametrize(
    "href",
    [
        "",
        "  ",
        "#",
        "#top",
        " #top",
        "javascript:void(0)",
        "JavaScript:x",
        " javascript:x",
        "java\nscript:x",
        "mailto:a@b.test",
        "tel:+1",
        "data:text/html,x",
        "about:blank",
    ],
)
def test_href_that_needs_no_request(look: Look, href: str) -> None:
    assert hrefs(look(f'<a href="{href}">x</a><a href="/y">y</a>')) == ["/y"]


def test_colon_in_a_path_is_no_scheme(look: Look) -> None:
    assert hrefs(look('<a href="/wiki/Talk:data:x">1</a><a href="?next=javascript:1">2</a>')) == [
        "/wiki/Talk:data:x",
        "?next=javascript:1",
    ]


def test_same_link_twice_is_one(look: Look) -> None:
    page = look('<a href="/x">1</a><a href=" /x">2</a><img src="/x"><a href="/y">3</a>')
    assert (hrefs(page, P), hrefs(page, E)) == (["/x", "/y"], ["/x"])


# --- kinds ----------------------------------------------------------------------------------------------------------

KINDS = [
    ("<area href=u>", [("u", P)]),
    ("<iframe src=u></iframe>", [("u", P)]),
    ("<iframe data-src=u></iframe>", [("u", P)]),
    ("<frameset><frame src=u longdesc=v></frameset>", [("u", P), ("v", P)]),
    ("<blockquote cite=u></blockquote><q cite=v></q>", [("u", P), ("v", P)]),
    ("<link rel=stylesheet href=u>", [("u", E)]),
    ("<link rel='Shortcut ICON' href=u>", [("u", E)]),
    ("<link rel=preload imagesrcset='u 1x, v 2x' href=w>", [("u", E), ("v", E), ("w", E)]),
    ("<link rel='alternate stylesheet' href=u>", [("u", E)]),
    ("<link rel=canonical href=u>", [("u", C)]),
    ("<link rel=next href=u><link rel=prev href=v>", [("u", P), ("v", P)]),
    ("<link rel=alternate hreflang=de href=u>", [("u", P)]),
    ("<link rel=alternate type=application/rss+xml href=u>", [("u", D)]),
    ("<link rel=alternate type='application/atom+xml; charset=utf-8' href=u>", [("u", D)]),
    ("<link rel=sitemap href=u>", [("u", S)]),
    ("<link rel=dns-prefetch href=//u.test><link rel='preconnect' href=//v.test>", []),
    ("<link rel=pingback href=u>", [("u", F)]),
    ("<img src=u srcset='v 1x' longdesc=w>", [("u", E), ("v", E), ("w", P)]),
    ("<img data-src=u data-srcset='v 1x, w 2x' data-original=x>", [("u", E), ("x", E), ("v", E), ("w", E)]),
    ("<div data-src=u></div>", [("u", E)]),
    ("<picture><source srcset='u, v 2x'></picture>", [("u", E), ("v", E)]),
    ("<video src=u poster=v><source src=w><track src=x></video>", [("w", E), ("u", E), ("v", E), ("x", E)]),
    ("<audio src=u></audio><embed src=v><object data=w></object>", [("u", E), ("v", E), ("w", E)]),
    ("<script src=u></script>", [("u", E)]),
    ("<form action=u></form><form method=post action=v></form>", [("u", F), ("v", F)]),
    ("<button formaction=u></button><input formaction=v>", [("u", F), ("v", F)]),
    ("<input type=IMAGE src=u><input src=notimage>", [("u", E)]),
    ("<body background=u><table background=v><td background=w>", [("u", E), ("v", E), ("w", E)]),
    ("<style>@import 'u'; p { background: url(v) }</style>", [("u", E), ("v", E)]),
    ("<p style=\"background: url('u')\">", [("u", E)]),
    (
        "<svg><image href=u /><use xlink:href=v /><use href='#id' /><script href=w></script></svg>",
        [("u", E), ("v", E), ("w", E)],
    ),
    ("<svg><a xlink:href=v>x</a><a href=u>y</a></svg>", [("u", P), ("v", P)]),
    ("<template><a href=u></a></template>", [("u", P)]),
    ("<noscript><a href=u></a><img src=v></noscript>", [("u", P), ("v", E)]),
    ("<iframe srcdoc='<a href=u>x</a><img src=v>'></iframe>", [("u", P), ("v", E)]),
    ("<a ping='u v' href=w>", [("w", P), ("u", F), ("v", F)]),
    ("<html manifest=u>", [("u", E)]),
]


@pytest.mark.parametrize(("html", "expected"), KINDS, ids=[html[:40] for html, _ in KINDS])
def test_kind_of_link(look: Look, html: str, expected: list[tuple[str, Kind]]) -> None:
    links = look("<!doctype html>" + html).links
    assert links is not None
    assert list(zip(links.hrefs, links.kinds, strict=True)) == expected


def test_sitemap_links_only_when_wanted(look: Look) -> None:
    assert hrefs(look("<link rel=sitemap href=u>", sitemaps=False)) == []


def test_frames_that_a_parser_drops_are_still_found(look: Look) -> None:
    assert hrefs(look("<h1>x</h1><FRAMESET><FRAME SRC=u></FRAMESET>"), P) == ["u"]


def test_srcdoc_with_a_base_of_its_own(look: Look) -> None:
    page = look("<iframe srcdoc='<base href=/b/><a href=u>x</a>'></iframe>")
    assert "http://site.test/b/u" in hrefs(page, P)


def test_link_looked_at(look: Look) -> None:
    page = look('<a href="/x" rel="nofollow  noopener">Some\n <b>text</b></a><a href=/y><img alt=picture></a>')
    assert page.links is not None
    one, two = page.links[0], page.links[1]
    assert (one.tag, one.attribute, one.anchor, one.rel, one.nofollow) == (
        "a",
        "href",
        "Some text",
        "nofollow  noopener",
        True,
    )
    assert (two.anchor, two.nofollow) == ("picture", False)


def test_nofollow_only_when_no_other_anchor_names_the_page(look: Look) -> None:
    page = look("<a rel=NoFollow href=/a></a><a rel=nofollow href=/b></a><a href=' /a'></a><a href=/c></a>")
    assert page.links is not None
    assert page.links.nofollow == {1}


# --- the document ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("<base href='/b/'>", "http://site.test/b/x"),
        ("<base href='sub/'>", "http://site.test/dir/sub/x"),
        ("<base href=' http://cdn.test/y/ '>", "http://cdn.test/y/x"),
        ("<base href=''>", "http://site.test/dir/x"),
        ("<base>", "http://site.test/dir/x"),
        ("<base target=_top><base href=/b/>", "http://site.test/b/x"),
        ("<base href=/b/><base href=/c/>", "http://site.test/b/x"),
        ("<base href='data:text/plain,x'><base href=/c/>", "http://site.test/dir/x"),
        ("<base href='javascript:1'>", "http://site.test/dir/x"),
        ("<base href='http://['>", "http://site.test/dir/x"),
        ("<template><base href=/t/></template>", "http://site.test/dir/x"),
    ],
)
def test_base(look: Look, base: str, url: str) -> None:
    """html.spec.whatwg.org 4.2.3: the first base with an href decides, even when it is of no use."""
    page = look(f"<link rel=stylesheet href=x>{base}<a href=x>x</a>")
    assert page.links is not None
    assert [link.url for link in page.links if link.href == "x"] == [url, url]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=u", ("u", R)),
        ("0;u", ("u", R)),
        ("0 ; URL = 'u' tail", ("u", R)),
        ("30;url=u", ("u", R)),
        ("31;url=u", ("u", P)),
        ("3.7,url=u", ("u", R)),
        ("0;url=http://h.test:81/", ("http://h.test:81/", R)),
        ("99999999999999999999;url=u", ("u", P)),
        ("5", None),
        ("url=u", None),
        ("-1;url=u", None),
        ("0;url=javascript:1", None),
    ],
)
def test_meta_refresh(look: Look, content: str, expected: tuple[str, Kind] | None) -> None:
    links = look(f'<meta http-equiv=Refresh content="{content}">').links
    assert links is not None
    assert list(zip(links.hrefs, links.kinds, strict=True)) == ([expected] if expected else [])


def test_meta_refresh_in_noscript_is_no_redirect(look: Look) -> None:
    assert hrefs(look('<noscript><meta http-equiv=refresh content="0;url=u"></noscript>'), P) == ["u"]


def test_title(look: Look) -> None:
    assert look("<svg><title>icon</title></svg><title>\n A&amp;B\t page </title><title>no</title>").title == "A&B page"
    assert len(look(f"<title>{'long ' * 1000}</title>").title) == 500
    assert look("<p>none").title == ""


def test_language(look: Look) -> None:
    fallback = [("content-language", "fr, en")]
    assert look("<html lang=de-AT>", headers=fallback).language == "de-AT"
    assert look("<html>", headers=fallback).language == "fr"
    assert look("<meta http-equiv=content-language content=it>").language == "it"


def test_canonical(look: Look) -> None:
    page = look("<base href=/b/><link rel=canonical href=one><link rel=canonical href=two>")
    assert page.canonical == "http://site.test/b/one"
    header = look("<base href=/b/>", headers=[("link", '<c>; rel="canonical"')])
    assert header.canonical == "http://site.test/dir/c"
    assert look("<p>", headers=[("link", '<c>; rel=canonical; anchor="/other"')]).canonical == ""


def test_bytes_of_an_address_in_the_header_stay_what_they_are(look: Look) -> None:
    raw = "</中文>; rel=canonical".encode().decode("latin-1")
    page = look("<p>", headers=[("link", raw), ("refresh", "0; url=/" + "中".encode("gbk").decode("latin-1"))])
    assert page.canonical == "http://site.test/%E4%B8%AD%E6%96%87"
    assert page.links is not None
    assert [link.url for link in page.links] == [page.canonical, "http://site.test/%D6%D0"]


def test_links_of_the_header(look: Look) -> None:
    value = '</s.css>; rel=preload; as=style, <n?a=1,2>; rel="next"; title="a, <b>; c", </hint>; rel=preconnect'
    page = look(
        "<base href=/b/>", headers=[("link", value), ("refresh", "999; url=r"), ("link", "broken, <k>; rel=next")]
    )
    assert page.links is not None
    found = {link.url: link.kind for link in page.links if link.tag == "header"}
    assert found == {
        "http://site.test/s.css": E,
        "http://site.test/dir/n?a=1,2": P,
        "http://site.test/dir/r": P,
        "http://site.test/dir/k": P,
    }


def test_links_of_the_header_are_bounded(look: Look) -> None:
    many = [("link", f"</{i}>; rel=next, </b{i}>; rel=next") for i in range(200)]
    assert len(hrefs(look("<p>", headers=many))) == 100


def test_links_of_the_header_count_for_any_type(look: Look) -> None:
    page = look(b"%PDF-1.4", "application/pdf", headers=[("link", "<c>; rel=canonical"), ("refresh", "0;url=r")])
    assert (page.media_type, page.canonical) == ("application/pdf", "http://site.test/dir/c")
    assert (hrefs(page, C), hrefs(page, R)) == (["c"], ["r"])
    assert look(b"%PDF-1.4", "application/pdf").links is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex, NOFOLLOW"], {"noindex", "nofollow"}),
        (["none"], {"noindex", "nofollow"}),
        (["noindex", "noarchive"], {"noindex", "noarchive"}),
        (["nephila: noindex"], {"noindex"}),
        (["Nephila : noindex, nofollow"], {"noindex", "nofollow"}),
        (["otherbot: noindex, nofollow"], set()),
        (["otherbot: noindex, nephila: nofollow"], {"nofollow"}),
        (["*: noindex"], {"noindex"}),
        (["max-snippet: 20, noindex"], {"max-snippet:20", "noindex"}),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], {"unavailable_after:25 jun 2010 15:00:00 pst"}),
        (["", " , "], set()),
    ],
)
def test_x_robots_tag(look: Look, values: list[str], expected: set[str]) -> None:
    assert look("<p>", headers=[("x-robots-tag", value) for value in values]).robots == expected


def test_meta_robots(look: Look) -> None:
    page = look(
        "<meta name=ROBOTS content='NoIndex,follow'><meta name=nephila content=noarchive><meta name=otherbot content=nosnippet>",
        headers=[("x-robots-tag", "nofollow")],
    )
    assert page.robots == {"noindex", "follow", "noarchive", "nofollow"}


# --- limits ---------------------------------------------------------------------------------------------------------


def test_links_max(look: Look) -> None:
    html = "".join(f"<a href=/{i}></a>" for i in range(10)) + "<img src=/i>"
    page = look(html, links_max=10)
    assert (len(hrefs(page)), page.links_cut) == (10, True)
    page = look(html, links_max=11)
    assert (len(hrefs(page)), page.links_cut) == (11, False)


def test_page_bytes_max(look: Look) -> None:
    body = "<a href=/1></a>" + "汉" * 100 + "<a href=/2></a>"
    page = look(body, bytes_max=100)
    assert (hrefs(page), page.charset) == (["/1"], "utf-8")


def test_page_nested_deeper_than_256_keeps_its_links(look: Look) -> None:
    page = look("<div>" * 5000 + "<a href=/deep>x</a>" + "</div>" * 5000 + "<a href=/end></a>")
    assert hrefs(page) == ["/deep", "/end"]


@pytest.mark.parametrize(
    "unit",
    [
        "<svg>",
        "<script ",
        '<script "',
        "<iframe srcdoc='",
        "<!--",
        "<a href='x",
        "<frame ",
        '<p style="url(">',
        "<base href=/x>",
    ],
)
def test_time_is_linear_in_odd_input(look: Look, unit: str) -> None:
    body = "<!doctype html>" + unit * (200_000 // len(unit))
    started = time.process_time()
    look(body, "application/xhtml+xml")
    assert time.process_time() - started < 3


# --- types ----------------------------------------------------------------------------------------------------------


def test_xhtml_empty_script_does_not_swallow_the_page(look: Look) -> None:
    body = '<?xml version="1.0"?><html xmlns="x"><head><script src="s.js"/><title/></head><body><a href="/x"/></body></html>'
    assert hrefs(look(body, "application/xhtml+xml")) == ["/x", "s.js"]
    page = look(body, "text/xml")
    assert (page.media_type, hrefs(page)) == ("text/xml", ["/x", "s.js"])


@pytest.mark.parametrize("content_type", [None, "", "*/*", "unknown/unknown", "application/x-unknown", "nonsense"])
def test_missing_type_is_sniffed(look: Look, content_type: str | None) -> None:
    page = look("\n <!DOCTYPE html><a href=/x>", content_type)
    assert (page.media_type, hrefs(page)) == ("text/html", ["/x"])


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", "image/png", "application/json"])
def test_declared_type_is_believed(look: Look, content_type: str) -> None:
    page = look("<!DOCTYPE html><a href=/x>", content_type)
    assert (page.media_type, page.links, page.document) == (content_type, None, None)


def test_robots_txt_is_not_read_here(look: Look) -> None:
    assert look("<a href=/x>", "text/html", kind=Kind.ROBOTS).links is None


def test_empty_body(look: Look) -> None:
    page = look(b"")
    assert (page.media_type, page.title, hrefs(page)) == ("text/html", "", [])


@pytest.mark.parametrize(
    "body",
    [
        '<p style="background:url(x.png)">',
        '<p style="background:u&#114;l(x.png)">',
        '<p style="background:url&lpar;x.png)">',
        "<table BACKGROUND\n=\nx.png>",
        '<b\tdata-src="x.png">',
        "<img data-original=x.png>",
        '<b DATA-SRCSET="x.png 2x">',
    ],
)
def test_what_may_hang_on_any_element_is_found_however_it_is_spelled(body: str) -> None:
    from nephila.page import charset, elements
    from nephila.page.harvest import Harvest
    from nephila.page.markup import Tree

    content = body.encode()
    harvest = Harvest(10)
    elements.parts(Tree(charset.document(content, "utf-8")), harvest)
    assert harvest.hrefs == ["x.png"]


def test_a_page_of_very_many_anchors_is_cut(look: Look) -> None:
    """Also where few of them are told apart: what stands behind them is not seen."""
    page = look("<a href=/same>x</a>" * 100_000 + "<a href=/last>x</a>", "text/html; charset=gbk")
    assert ([link.href for link in page.links], page.links_cut, page.flaw) == (["/same"], True, "cut.links")
