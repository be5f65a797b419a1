"""Tag soup: pages that no person wrote, of the things that make HTML hard to read, each from a seed."""

from __future__ import annotations

import random

_NAMES = (
    "a area link meta img script style title iframe form button input select option svg path use table tr td th tbody"
    " caption div p ul li b i nobr font template noscript base textarea html head body frameset frame object param video"
    " source q ins del span math foreignObject desc dd dt h1 pre listing xmp plaintext isindex image col colgroup noembed"
    " noframes marquee applet embed optgroup hr br ruby rt"
)
_ATTRIBUTES = (
    "href src rel style data-src srcset background content http-equiv name charset lang action cite type value ping HREF"
    " xlink:href class id poster data formaction"
)
NAMES, ATTRIBUTES = _NAMES.split(), _ATTRIBUTES.split()
VALUES = [
    *(
        "x.html",
        "a/b?c=1&amp;d=2",
        "a?b=1&copy=2",
        "#f",
        "y#z",
        " sp #q",
        "&#35;k",
        "u&lt;v",
        "&copy",
        "&",
        "a&b",
        "a&b;",
    ),
    *(
        "a&amp",
        "nofollow",
        "x nofollow",
        "NOFOLLOW",
        "url(i.png)",
        "background:url(&quot;j.png&quot;)",
        "utf-8",
        "refresh",
    ),
    *(
        "0;url=r.html",
        "canonical",
        "stylesheet",
        "",
        "\t\n",
        "javascript:x",
        "http://o/p",
        "en",
        "a\r\nb",
        "é",
        "\u00a0x",
    ),
    *("image", "movie", "a>b", "a'b"),
]
TEXTS = [
    *(
        "text",
        "&amp;",
        "<!-- c -->",
        "<!-->",
        "<!--->",
        "<!-- a --!>",
        "<!doctype html>",
        "<!x>",
        "</>",
        "</ p>",
        "<?x y?>",
    ),
    *(
        "<",
        "< a",
        "<a",
        "<1",
        "\n",
        "&lt;a href=q&gt;",
        "<![CDATA[x]]>",
        "-->",
        "]]>",
        "<!--<script>",
        "</script>",
        "\x0c",
    ),
    *("</style>", "</title>", "\xe9", "\0"),
]
BLOCKS = [
    "<a href=k.html>k</a>",
    "<script>var a='<a href=n.html>';</script>",
    "<style>@import 'i.css'; b{background:url(b.png)}</style>",
    "<svg><path d=x /></svg>",
    "<svg viewBox=1><title>a</title><use href='#i'/><g><path/></g></svg>",
    "<select><option value=1>x</option></select>",
    "<table><tr><td><a href=t.html>t</a></td></tr></table>",
]
START = "<!doctype html><html lang=en><head><meta charset=utf-8><title>T &amp; t</title></head><body>"


def soup(chance: random.Random) -> bytes:
    """A page of up to twenty pieces."""
    parts = [START] if chance.random() < 0.5 else []
    for _ in range(chance.choice([1, 3, 8, 20])):
        kind = chance.random()
        parts.append(_tag(chance) if kind < 0.7 else chance.choice(TEXTS if kind < 0.85 else BLOCKS))
    return "".join(parts).encode()


def _tag(chance: random.Random) -> str:
    name = chance.choice(NAMES)
    if chance.random() < 0.2:
        name = name.upper()
    if chance.random() < 0.3:
        return f"</{name}{chance.choice(['', ' ', ' x=y', '/'])}>"
    tag = f"<{name}"
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        attribute, value, quote = chance.choice(ATTRIBUTES), chance.choice(VALUES), chance.choice(['"', "'", "", None])
        tag += chance.choice([" ", "\n", "/", " / ", "\t"]) + attribute
        if quote is not None:
            tag += chance.choice(["=", " = ", "="]) + quote + value + quote
    return tag + chance.choice([">", ">", ">", "/>", " >"])
