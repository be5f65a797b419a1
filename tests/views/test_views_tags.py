"""Tags are found where a tokenizer finds them, and changed without touching anything else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import scrambled
from soup import soup

from nephila.views import tags
from nephila.views.tags import ADDRESS, NOSCRIPT, STYLE, TAG

SITES = ("/usr/share/doc/postgresql-doc-15/html", "/usr/share/doc/python3/html")
scanned = pytest.mark.skipif(tags._scan is None, reason="the scan was not built: no C compiler")


def found(page: bytes) -> list[tuple[int, bytes]]:
    return [(what, page[start:stop]) for what, start, stop in tags.records(page)]


@scanned
def test_the_scan_and_the_tokenizer_agree_on_tag_soup() -> None:
    for seed in range(2_000):
        page = soup(random.Random(seed))
        assert tags.records(page) == list(tags._tokenized(page)), seed


@scanned
@pytest.mark.parametrize("site", SITES)
def test_the_scan_and_the_tokenizer_agree_on_real_pages(site: str) -> None:
    paths = sorted(Path(site).glob("*.html"))
    if not paths:
        pytest.skip(f"system: {site} is not installed")
    for path in random.Random(1).sample(paths, min(12, len(paths))):
        page = path.read_bytes()
        assert tags.records(page) == list(tags._tokenized(page)), path


@scanned
@pytest.mark.parametrize("seed", range(3))
def test_the_scan_and_the_tokenizer_agree_on_cut_and_scrambled_pages(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        page = bytearray(b"".join(soup(chance) for _ in range(2)))
        for _ in range(chance.randrange(6)):
            page[chance.randrange(len(page))] = chance.choice(b"<>\"'=/!- &\n")
        cut = bytes(page[: chance.randrange(len(page))])
        assert tags.records(cut) == list(tags._tokenized(cut)), cut


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b'<a href="x">', [(ADDRESS, b"x")]),
        (b"<a href='x'><A HREF=x >", [(TAG, b"<a href='x'>"), (TAG, b"<A HREF=x >")]),
        (b'<a href="x&amp;y">', [(TAG, b'<a href="x&amp;y">')]),
        (b'<img src="x" srcset="y">', [(TAG, b'<img src="x" srcset="y">')]),
        (b'<a href="x" href="y">', [(TAG, b'<a href="x" href="y">')]),
        (b'<a href=""><a href>', [(TAG, b'<a href="">'), (TAG, b"<a href>")]),
        (b"<p class=x id='y'>", []),
        (b"<head><meta name=x><base>", [(TAG, b"<head>"), (TAG, b"<meta name=x>"), (TAG, b"<base>")]),
        (b"<b title='<a href=x>'>", []),
        (b'<!-- <a href="x"> --><!--><a href="y">', [(ADDRESS, b"y")]),
        (b'<script>"<a href=x>"</script ><a href="y">', [(ADDRESS, b"y")]),
        (b'<script><!-- <script> </script> <a href="n"> --></script><a href="y">', [(ADDRESS, b"y")]),
        (b"<style>a{}</style>", [(STYLE, b"a{}")]),
        (b"<style media='x'></style>", []),
        (b'<noscript><img src="x"></noscript>', [(NOSCRIPT, b'<img src="x">')]),
        (b'<textarea><a href="x"></textarea><title><a href="x"></title>', []),
        (b'<plaintext><a href="x">', []),
        (b'</a href="x"><a href="y">', [(ADDRESS, b"y")]),
        (b'<? a href="x"><! a href="x"></ a href="x"><a href="y">', [(ADDRESS, b"y")]),
        (b'<a href="x" ', []),
        (b'<a href="x', []),
        (b'3 < 4 <5 <a href="y">', [(ADDRESS, b"y")]),
    ],
)  # fmt: skip
def test_what_is_found(page: bytes, expected: list[tuple[int, bytes]]) -> None:
    assert found(page) == expected
    assert [(what, page[start:stop]) for what, start, stop in tags._tokenized(page)] == expected


def test_a_page_with_more_tags_than_one_call_takes() -> None:
    page = b'<style>a</style><a href="x">' * 9_000
    assert found(page) == [(STYLE, b"a"), (ADDRESS, b"x")] * 9_000


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        (b"<a href=x>", "x"),
        (b"<a HREF = 'x'>", "x"),
        (b"<a/href=x/>", "x/"),
        (b'<a href="a?b=1&amp;c">', "a?b=1&c"),
        (b'<a href="a?b=1&copy=2">', "a?b=1&copy=2"),
        (b'<a href="a?b=1&copyx">', "a?b=1&copyx"),
        (b'<a href="&copy">', "©"),
        (b'<a href="&copy;=1&#x2F;&#47;&nope;&">', "©=1//&nope;&"),
        (b'<a href="\xff">', "\udcff"),
        (b"<a href>", ""),
        (b"<a x=1 href=1 href=2>", "1"),
    ],
)
def test_an_attribute(tag: bytes, value: str) -> None:
    assert next(each.value for each in tags.attributes(tag) if each.name == "href") == value


@pytest.mark.parametrize(
    ("tag", "new", "expected"),
    [
        (b"<A  Class=b HREF=x>", 'y&"', b'<A  Class=b HREF="y&amp;&quot;">'),
        (b"<a href='x' \n>", "y'", b"<a href='y&#39;' \n>"),
        (b'<a href = "x"/>', "y", b'<a href = "y"/>'),
        (b"<a b href=x c>", None, b"<a b c>"),
    ],
)
def test_only_the_value_is_changed(tag: bytes, new: str | None, expected: bytes) -> None:
    attribute = next(each for each in tags.attributes(tag) if each.name == "href")
    assert tags.edited(tag, [(attribute, new)]) == expected


def test_drawings_are_xml() -> None:
    page = (
        b'<?xml-stylesheet href="s.css"?><svg><title/><script/><!-- <a href="n"> --><![CDATA[<a href="n">]]>'
        b"<style type='x'>a&gt;{}</style><style/><a xlink:href='x'/></svg>"
    )
    records = [(what, page[start:stop]) for what, start, stop in tags.drawn(page)]
    assert [text for what, text in records if what == STYLE] == [b"a&gt;{}"]
    assert [text for what, text in records if what == TAG and b"href" in text] == [
        b'<?xml-stylesheet href="s.css"?>',
        b"<a xlink:href='x'/>",
    ]


@pytest.mark.long
def test_no_byte_outside_is_touched(tmp_path: Path) -> None:
    for n in range(200):
        (tmp_path / f"{n}.html").write_bytes(b"".join(soup(random.Random(n * 10 + k)) for k in range(10)))
    files = [file for folder in (tmp_path, *map(Path, SITES)) for file in sorted(folder.glob("*.html"))[::2]]
    scrambled.hold(tmp_path, Path(tags.__file__).with_name("tags.c"), CHECK, NOISE, files, every=1)


NOISE = r'''"<>/!-\"'= &#;?hHrefStyle"'''
CHECK = r"""
static int check(uint8_t *part, size_t length) {
    int64_t cap = 2 + (int64_t)next(40), from = 0;
    int32_t *out = malloc((size_t)cap * FIELDS * sizeof *out), last = 0;
    while (from < (int64_t)length) {
        int64_t before = from, found = nephila_tags(part, (int64_t)length, &from, out, cap);
        if (from <= before || from > (int64_t)length || found > cap) return 3;
        for (int64_t k = 0; k < found; k++) {
            int32_t *record = out + FIELDS * k;
            if (record[1] < last || record[2] < record[1] || (size_t)record[2] > length) return 4;
            last = record[2];
        }
    }
    free(out);
    return 0;
}
"""
