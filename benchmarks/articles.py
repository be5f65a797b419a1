"""How well main text is found: Nephila's `text` against trafilatura, on pages whose text is known.

    python -m benchmarks.articles [--site DIR]

Pages are made up: eight forms of site in four languages and their charsets, each host with its menus, side columns, notices and
footers. `--site DIR` (or Debian's python3-doc, if installed) adds real pages, written by Sphinx, whose text is what stands in
`[role=main]`. The score is F1 over words (CJK: pairs of characters) of the text found against the text that is there. Nephila sees
whole sites, as it does in a crawl, and in a second row one page at a time; trafilatura (`pip install 'nephila[bench]'`) always does.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from turbohtml import parse

from nephila.types import Page
from nephila.views import article
from nephila.views.reading import Reading
from nephila.views.repeats import Repeats
from nephila.views.source import Kept

PAGES = 12
LANGUAGES = {"en": "utf-8", "zh": "gb18030", "ja": "shift_jis", "ko": "euc-kr"}
_ALPHABETS = {
    "en": ["the", "of", "crawler", "page", "index", "river", "mountain", "house", "and", "light", "paper", "year", "old", "net", "city", "wrote"],
    "zh": list("天网北京大学研究搜索引擎收集网页保存历史文字山水城市光明时间人民新闻技术工程"),
    "ja": list("検索索引文書山川都市光時間人民新聞技術工程のはをにがとでしたます"),
    "ko": ["검색", "색인", "문서", "산과", "강이", "도시는", "빛을", "시간", "사람", "신문", "기술", "공정"],
}  # fmt: skip


class Labelled(NamedTuple):
    host: str
    form: str
    html: bytes
    charset: str
    text: str


class Words:
    """Made-up sentences of a language."""

    def __init__(self, language: str, seed: object) -> None:
        self._language, self._random = language, random.Random(str(seed))

    def sentence(self, words: int) -> str:
        gap = "" if self._language in ("zh", "ja") else " "
        comma, stop = ("，", "。") if gap == "" else (", ", ".")
        parts = [gap.join(self._random.choices(_ALPHABETS[self._language], k=max(words // 2, 1))) for _ in range(2)]
        return comma.join(parts) + stop

    def paragraph(self, sentences: int = 4) -> str:
        return "".join(self.sentence(self._random.randint(6, 20)) + " " for _ in range(sentences)).strip()

    def few(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def made_up() -> Iterator[Labelled]:
    for language, charset in LANGUAGES.items():
        for form, body in FORMS.items():
            host = f"{form}.{language}.example"
            around = Words(language, host)
            menu = "".join(f"<li><a href='/s{i}'>{around.sentence(2)}</a></li>" for i in range(9))
            notice = f"<div class='cc'><p>{around.paragraph(3)}</p><button>{around.sentence(1)}</button></div>"
            foot = f"<div class='bottom'><p>{around.paragraph(2)}</p><p>© 2020 {around.sentence(3)}</p></div>"
            for n in range(PAGES):
                words = Words(language, (host, n))
                content, text = body(words)
                side = "".join(f"<p><a href='/r{n}{i}'>{words.sentence(6)}</a></p>" for i in range(5))
                html = (
                    f"<html><head><meta charset={charset}><title>{words.sentence(4)}</title></head><body>{notice}"
                    f"<div id=top><ul>{menu}</ul></div><div class=wrap>{content}<div class=right><h3>{around.sentence(2)}</h3>"
                    f"{side}</div></div>{foot}</body></html>"
                )
                yield Labelled(host, form, html.encode(charset, "xmlcharrefreplace"), charset, text)


def _paragraphs(words: Words, low: int, high: int) -> list[str]:
    return [words.paragraph(words.few(2, 6)) for _ in range(words.few(low, high))]


def _article(words: Words) -> tuple[str, str]:
    title, texts = words.sentence(5), _paragraphs(words, 4, 12)
    return f"<article><h1>{title}</h1>{''.join(f'<p>{t}</p>' for t in texts)}</article>", " ".join([title, *texts])


def _news(words: Words) -> tuple[str, str]:
    """As many news sites write: no tag says what it is, paragraphs are divided by <br>."""
    title, texts = words.sentence(5), _paragraphs(words, 3, 9)
    return f"<div class=a1><div class=t>{title}</div><div class=c>{'<br><br>'.join(texts)}</div></div>", " ".join(
        [title, *texts]
    )


def _forum(words: Words) -> tuple[str, str]:
    posts = [(words.sentence(2), words.paragraph(words.few(1, 4))) for _ in range(words.few(5, 14))]
    rows = "".join(f"<div class=post><span>{who}</span><div>{what}</div></div>" for who, what in posts)
    return f"<div class=thread>{rows}</div>", " ".join(f"{who} {what}" for who, what in posts)


def _list(words: Words) -> tuple[str, str]:
    entries = [(words.sentence(5), words.sentence(8)) for _ in range(words.few(10, 25))]
    rows = "".join(f"<li><a href=x>{head}</a><p>{text}</p></li>" for head, text in entries)
    return f"<div><ul class=hits>{rows}</ul></div>", " ".join(f"{head} {text}" for head, text in entries)


def _product(words: Words) -> tuple[str, str]:
    title, about = words.sentence(4), words.paragraph(2)
    facts = [(words.sentence(1), words.sentence(2)) for _ in range(12)]
    table = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in facts)
    return (
        f"<div class=p><h1>{title}</h1><p>{about}</p><table>{table}</table></div>",
        " ".join([title, about, *(f"{k} {v}" for k, v in facts)]),
    )


def _short(words: Words) -> tuple[str, str]:
    title, text = words.sentence(4), words.sentence(12)
    return f"<div><h2>{title}</h2><p>{text}</p></div>", f"{title} {text}"


def _manual(words: Words) -> tuple[str, str]:
    parts = [(words.sentence(3), words.paragraph(3), f"x = f({words.few(1, 99)})") for _ in range(6)]
    body = "".join(f"<section><h2>{h}</h2><p>{t}</p><pre>{c}</pre></section>" for h, t, c in parts)
    return f"<main>{body}</main>", " ".join(" ".join(part) for part in parts)


def _questions(words: Words) -> tuple[str, str]:
    pairs = [(words.sentence(6), words.paragraph(1)) for _ in range(10)]
    return f"<dl>{''.join(f'<dt>{q}</dt><dd>{a}</dd>' for q, a in pairs)}</dl>", " ".join(f"{q} {a}" for q, a in pairs)


FORMS: dict[str, Callable[[Words], tuple[str, str]]] = {
    "article": _article, "news": _news, "forum": _forum, "list": _list, "product": _product, "short": _short,
    "manual": _manual, "questions": _questions,
}  # fmt: skip


def sphinx(folder: Path, most: int = 100) -> Iterator[Labelled]:
    for path in sorted(folder.rglob("*.html"))[::3][:most]:
        html = path.read_bytes()
        main = parse(html, encoding="utf-8").select_one("[role=main]")
        if main is not None and len(main.text) > 200:
            yield Labelled("docs", "sphinx", html, "utf-8", main.to_text())


def whole_sites(pages: list[Labelled]) -> list[str]:
    with Repeats() as repeats:
        for page in pages:
            if repeats.wanted(page.host):
                repeats.learn(page.host, (text for _, text in article.blocks(_tree(page))))
        return [_text(page, repeats.of(page.host)) for page in pages]


def one_page(pages: list[Labelled]) -> list[str]:
    return [_text(page, frozenset()) for page in pages]


def trafilatura(pages: list[Labelled]) -> list[str]:
    from trafilatura import extract  # type: ignore[import-not-found,unused-ignore]

    return [extract(page.html.decode(page.charset, "replace"), favor_recall=True) or "" for page in pages]


def _tree(page: Labelled):  # type: ignore[no-untyped-def]
    return parse(page.html, encoding=page.charset, positions=False)


def _text(page: Labelled, furniture: frozenset[int]) -> str:
    tree = _tree(page)
    reading = Reading(Page(media_type="text/html", charset=page.charset, document=lambda: tree), page.html)
    return article.of(reading, KEPT, furniture).text


KEPT = msgspec.structs.replace(
    Kept(*(field.type() for field in msgspec.structs.fields(Kept))), url="http://example.com/", started=time.time()
)
"""A visit of which only address and time count here."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\w+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def bag(text: str) -> Counter[str]:
    words: list[str] = []
    for run in _WORD.findall(text.lower()):
        words += [run[i : i + 2] for i in range(max(len(run) - 1, 1))] if _CJK.match(run) else [run]
    return Counter(words)


def f1(found: str, there: str) -> float:
    a, b = bag(found), bag(there)
    both = (a & b).total()
    return 2 * both / (a.total() + b.total()) if both else 0.0


def main() -> None:
    parser = argparse.ArgumentParser("benchmarks.articles")
    parser.add_argument("--site", type=Path, default=Path("/usr/share/doc/python3/html"))
    site = parser.parse_args().site
    pages = [*made_up(), *(sphinx(site) if site.is_dir() else [])]
    forms = list(dict.fromkeys(page.form for page in pages))
    print(f"{len(pages)} pages of {len({page.host for page in pages})} hosts")
    print("| F1 | " + " | ".join(forms) + " | all | ms per page |\n|---" + "|---" * (len(forms) + 2) + "|")
    for name, way in (("whole sites", whole_sites), ("one page", one_page), ("trafilatura", trafilatura)):
        started = time.perf_counter()
        try:
            found = way(pages)
        except ImportError:
            print(f"| {name} | not installed: pip install 'nephila[bench]' |")
            continue
        ms = (time.perf_counter() - started) / len(pages) * 1000
        scores = defaultdict(list)
        for page, text in zip(pages, found, strict=True):
            scores[page.form].append(f1(text, page.text))
        means = [sum(scores[form]) / len(scores[form]) for form in forms]
        everything = sum(map(sum, scores.values())) / len(pages)
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in [*means, everything]) + f" | {ms:.1f} |")


if __name__ == "__main__":
    main()
