"""Made-up sites for mirrors: every naming trap at once, and sites in charsets of before UTF-8."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from nephila.testing.sites import Answer, Site, table

PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\5\0\1\xff"
    b"\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)

ODD_PATHS = [
    "/",
    *("/A.html", "/a.html", "/x/A/y", "/x/a/y", "/caf%C3%A9", "/cafe%CC%81", "/%C3%9F", "/ss"),
    *("/file", "/file/below", "/file/below/deeper", "/x", "/x/", "/x/index.html", "/x/index"),
    *("/q?q=1", "/q?q=2", "/q?", "/q", "/q?a=b/c", "/q@q=1", "/q.php?id=1", "/q.php?id=1&x=%E4%B8%AD"),
    *(
        "/con",
        "/NUL.txt",
        "/AUX/x",
        "/COM%C2%B9",
        "/LPT1.html",
        "/desktop.ini",
        "/LONGNA~1.HTM",
        "/trailing.",
        "/trailing%20",
    ),
    *(
        "/..%2F..%2Fetc",
        "/%5Cback",
        "/a%00b",
        "//double//slash",
        "/~user/",
        "/-dash",
        "/.hidden",
        "/a:b*c%3Fd%22%3C%7C%3E",
    ),
    *(
        "/index.jsonl",
        "/index.html",
        "/.nephila.db",
        "/..%5C..%5Cx",
        "/%2E%2E%2E",
        "/C:/x",
        "/x;y=1,2",
        "/100%25",
        "/%23hash",
    ),
    *("/%FF%41", "/%E2%80%AEgpj.exe", "/%E4%B8%AD%E6%96%87/%E9%A1%B5", "/'quote'%22", "/a+b&c"),
    *(
        "/" + "long" * 100,
        "/" + "long" * 100 + "2",
        "/" + "%E4%B8%AD" * 90,
        "/" + "/".join(f"step{n}" for n in range(60)),
    ),
]
"""Paths of pages that some file system, or two of them together, would lose."""


def odd_page(path: str) -> bytes:
    hrefs = [f"/.{to}" if to.startswith("//") else to for to in ODD_PATHS]  # two slashes in front would name a host
    links = "".join(f'<li><a href="{escape(href)}">{escape(href)}</a>' for href in hrefs)
    return f'<!doctype html><title>odd</title><p id="me">{escape(path)}</p><img src="/i?of={quote(path, "")}"><ul>{links}'.encode()


def odd_site() -> Site:
    """One page for each of ODD_PATHS, with its path on it, a link to each other, and a picture of its own."""
    pages = {path: Answer(odd_page(path)) for path in ODD_PATHS}
    return table(pages | {f"/i?of={quote(path, '')}": Answer(PIXEL, media_type="image/png") for path in ODD_PATHS})


WORDS = {"gb18030": "汉语词典𠀀", "big5": "漢語詞典", "shift_jis": "日本語テスト", "euc-kr": "한국어"}
"""Charset → a word that cannot be read in another one."""


def charset_site(charset: str, *, declared: bool = True) -> dict[str, Answer]:
    """Path → answer: a page, a stylesheet and a script in one charset, and a page that a query of its bytes leads to."""
    word = WORDS[charset]
    coded = quote(word.encode(charset), safe="!$&()*+,-./:;=?@[\\]^_`{|}~")  # as the URL standard has it in queries
    html = f"text/html; charset={charset}" if declared else "text/html"
    page = (
        f'<!doctype html><html><head><meta charset="{charset}"><title>{word}</title>'
        f'<link rel="stylesheet" href="style.css" charset="{charset}"><script src="script.js"></script></head>'
        f'<body class="{word}"><p id="css"></p><p id="script"></p><a href="/find?q={word}">{word}</a>'
        f'<a href="/{word}">path</a><script>document.getElementById("script").textContent = said</script></body></html>'
    )
    css = f'.{word} #css::before {{ content: "{word}" }}'
    found = f'<html><head><meta charset="{charset}"></head><p>{word}</p></html>'
    return {
        "/": Answer(page.encode(charset), media_type=html),
        "/style.css": Answer(css.encode(charset), media_type="text/css"),
        "/script.js": Answer(f'var said = "{word}"'.encode(charset), media_type="text/javascript"),
        f"/find?q={coded}": Answer(found.encode(charset), media_type=html),
        f"/{quote(word)}": Answer(found.encode(charset), media_type=html),
    }
