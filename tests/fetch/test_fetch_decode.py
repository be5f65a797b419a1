"""Decoding of bodies: every coding, damage, bombs, labels that lie; and the public corpus of compressed bodies."""

from __future__ import annotations

import gzip
import io
import random
import tempfile
import zlib

import brotli
import pytest
import zstandard

from nephila.fetch.decode import LAYERS, decode
from nephila.fetch.setup import HEADERS
from nephila.types import Body

PAGE = b"<p>" + bytes(random.Random(7).choices(b"abcdefgh <>/", k=60_000))


def run(data: bytes, coding: str, limit: int = 16 << 20, ratio: int = 200) -> tuple[bytes, str]:
    return tuple(decode(Body(data), coding, limit, ratio))


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", gzip.compress(PAGE)),
        ("X-GZip", gzip.compress(PAGE)),
        ("gzip", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", zlib.compress(PAGE)[2:-4]),
        ("br", brotli.compress(PAGE, quality=3)),
        ("zstd", zstandard.compress(PAGE)),
        ("zstd", zstandard.compress(PAGE[:9]) + zstandard.compress(PAGE[9:])),
        ("gzip, br", brotli.compress(gzip.compress(PAGE), quality=1)),
        ("identity", PAGE),
        ("utf-8", PAGE),
        ("none", PAGE),
        ("", PAGE),
    ],
)
def test_whole(coding: str, data: bytes) -> None:
    assert run(data, coding) == (PAGE, "")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_spooled_body_decodes_like_one_in_memory(coding: str) -> None:
    big = bytes(random.Random(3).choices(b"abcdefgh", k=3 << 20))
    pack = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": lambda b: brotli.compress(b, quality=1),
        "zstd": zstandard.compress,
    }
    data = pack[coding](big)
    file = open_spool(data)
    with file:
        assert decode(Body(file=file, size=len(data)), coding, 16 << 20, 200) == (big, "")


def open_spool(data: bytes) -> io.BufferedRandom:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the test closes it
    file.write(data)
    file.flush()
    return file


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_limit_cuts_without_a_problem(coding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}[coding]
    assert run(pack(PAGE), coding, limit=1000) == (PAGE[:1000], "")


@pytest.mark.parametrize("seed", range(20))
def test_cut_gzip_keeps_a_prefix(seed: int) -> None:
    data = gzip.compress(PAGE)
    content, problem = run(data[: random.Random(seed).randrange(20, len(data) - 1)], "gzip")
    assert problem == "decode"
    assert PAGE.startswith(content)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, br", "zstd, gzip"])
def test_noise_never_raises(coding: str) -> None:
    rng = random.Random(coding)
    for prefix in (b"", b"\x1f\x8b\x08", b"\x78\x9c", b"\x28\xb5\x2f\xfd"):
        for _ in range(30):
            run(prefix + rng.randbytes(rng.randrange(1, 300)), coding, limit=1 << 20)


def test_every_coding_that_is_asked_for_is_decoded() -> None:
    asked = HEADERS["accept-encoding"].partition(": ")[2].split(", ")
    assert set(asked) <= set(LAYERS)


def test_four_codings_are_a_bomb() -> None:
    data = PAGE
    for _ in range(4):
        data = gzip.compress(data)
    assert run(data, "gzip, gzip, gzip, gzip") == (b"", "bomb")


def test_a_zstd_window_too_large_is_damage() -> None:
    """Beyond 8 MiB (RFC 9659) a decoder would have to hold what the server likes."""
    wide = zstandard.ZstdCompressionParameters(window_log=24, compression_level=1, write_content_size=False)
    pack = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    assert run(pack.compress(PAGE) + pack.flush(), "zstd") == (b"", "decode")


def test_small_page_of_high_ratio_is_no_bomb() -> None:
    blank = b" " * 500_000
    assert run(gzip.compress(blank), "gzip") == (blank, "")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_plain_body_with_a_label_is_read(coding: str) -> None:
    assert run(PAGE, coding) == (PAGE, "label")


@pytest.mark.parametrize("coding", ["utf-8, gzip", "gzip, none", "aws-chunked,gzip"])
def test_words_beside_a_coding_that_change_nothing(coding: str) -> None:
    assert run(gzip.compress(PAGE), coding) == (PAGE, "")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bomb_is_one_however_little_of_it_is_wanted(coding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}[coding]
    assert run(pack(b"\0" * (8 << 20)), coding, limit=1 << 20) == (b"", "bomb")
