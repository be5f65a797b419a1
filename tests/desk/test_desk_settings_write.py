"""crawl.toml: reads back as it was, holds no secret, is replaced whole; and what a resume may change."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import pytest

from nephila import settings
from nephila.config import EFFECT, FIXED, FREE, Config, fields
from nephila.errors import ConfigError

ODD = Config(
    seeds=["https://例子.中国/", 'https://a.example/"\\'],
    include=["\\d+\n\x7f\x01", "'''"],
    max_pages=3,
    max_time=0.1,
    delay="2",
    embeds=True,
    contact="Zoë <z@example.org>",
)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    settings.write(ODD, path)
    assert settings.load({}, {}, None, path) == ODD
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_key_is_there_with_its_meaning(tmp_path: Path) -> None:
    settings.write(Config(), tmp_path / "crawl.toml")
    text = (tmp_path / "crawl.toml").read_text()
    assert list(tomllib.loads(text)) == list(fields())
    for key, (doc, _) in fields().items():
        assert f"# {doc}\n{key} = " in text


SECRET = Config(
    seeds=["https://me:pass-one@a.example/", "https://b.example/"],
    header=["Authorization: Bearer pass-two", "X-Auth-Token: pass-three", "X-Plain: plain"],
    proxy=["http://me:pass-four@proxy.example:8080", "*.plain.example=socks5://plain.example"],
)


def test_secrets_are_never_written(tmp_path: Path) -> None:
    settings.write(SECRET, tmp_path / "crawl.toml")
    for file in tmp_path.iterdir():
        assert "pass-" not in file.read_text()
    text = (tmp_path / "crawl.toml").read_text()
    assert text.count("it must be given again") == 3
    assert tomllib.loads(text)["withheld"]["header"] == ["Authorization", "X-Auth-Token", "X-Plain"]


def test_a_plain_header_and_proxy_are_written(tmp_path: Path) -> None:
    plain = Config(header=["X-Plain: plain"], proxy=["http://proxy.example:8080", "a.example=direct"])
    settings.write(plain, tmp_path / "crawl.toml")
    assert settings.load({}, {}, None, tmp_path / "crawl.toml") == plain


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("header", r"secret that is not stored \(Authorization, X-Auth-Token, X-Plain\): give --header again"),
        ("proxy", r"\(user and password of http://proxy.example:8080\): give --proxy again"),
        ("seeds", r"\(user and password of https://a.example/\): give the address again"),
    ],
)
def test_a_resume_asks_for_the_secrets_again(tmp_path: Path, left_out: str, message: str) -> None:
    settings.write(SECRET, tmp_path / "crawl.toml")
    options = {"seeds": SECRET.seeds, "header": SECRET.header, "proxy": SECRET.proxy}
    assert settings.load(options, {}, None, tmp_path / "crawl.toml", require_secrets=True) == SECRET
    with pytest.raises(ConfigError, match=message):
        settings.load({**options, left_out: None}, {}, None, tmp_path / "crawl.toml", require_secrets=True)


def test_an_empty_value_gives_a_secret_up(tmp_path: Path) -> None:
    settings.write(Config(header=SECRET.header, proxy=SECRET.proxy), tmp_path / "crawl.toml")
    options = {"header": [""], "proxy": ""}
    config = settings.load(options, {}, None, tmp_path / "crawl.toml", require_secrets=True)
    assert (config.header, config.proxy) == ([], [])


def test_many_seeds_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    many = Config(seeds=[f"https://example.com/{i}" for i in range(settings.SEEDS_INLINE_MAX + 1)])
    settings.write(many, tmp_path / "crawl.toml")
    assert len((tmp_path / "crawl.toml").read_text()) < 20_000
    assert settings.load({}, {}, None, tmp_path / "crawl.toml") == many


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "crawl.toml"
    settings.write(Config(max_pages=1), path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        settings.write(Config(max_pages=2), path)
    monkeypatch.undo()
    assert settings.load({}, {}, None, path).max_pages == 1
    settings.write(Config(max_pages=3), path)
    assert settings.load({}, {}, None, path).max_pages == 3


def test_changes_carry_their_rule() -> None:
    found = settings.changes(Config(), Config(max_pages=5, scope="site", state_dir="/x"))
    assert [(c.key, c.old, c.new, c.rule) for c in found] == [
        ("scope", "host", "site", EFFECT),
        ("max_pages", 0, 5, FREE),
        ("state_dir", "", "/x", FIXED),
    ]


def test_a_secret_given_again_is_no_change(tmp_path: Path) -> None:
    settings.write(SECRET, tmp_path / "crawl.toml")
    old = settings.load({}, {}, None, tmp_path / "crawl.toml")
    assert old == Config(seeds=["https://a.example/", "https://b.example/"])
    assert settings.changes(old, SECRET) == []


def test_fixed_keys_are_refused() -> None:
    settings.refuse_fixed(settings.changes(Config(), Config(max_pages=5, scope="site")))
    with pytest.raises(ConfigError, match=r"started crawl: state_dir \(was '', now '/x'\); .* --fresh"):
        settings.refuse_fixed(settings.changes(Config(), Config(max_pages=5, state_dir="/x")))
