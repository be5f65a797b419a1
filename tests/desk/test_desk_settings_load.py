"""Precedence, the ways people write values, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nephila import settings
from nephila.config import Config
from nephila.errors import ConfigError


@pytest.fixture
def toml(tmp_path: Path) -> Any:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def test_defaults_when_nothing_is_given() -> None:
    assert settings.load({}, {}) == Config()


@pytest.mark.parametrize(
    ("sources", "right"),
    [
        ({"option", "env", "config", "job"}, 1),
        ({"env", "config", "job"}, 2),
        ({"config", "job"}, 3),
        ({"job"}, 4),
        (set(), 0),
    ],
)
def test_precedence(toml: Any, sources: set[str], right: int) -> None:
    config = settings.load(
        {"max_pages": "1" if "option" in sources else None},
        {"NEPHILA_MAX_PAGES": "2"} if "env" in sources else {},
        toml("c.toml", "max_pages = 3") if "config" in sources else None,
        toml("crawl.toml", "max_pages = 4") if "job" in sources else None,
    )
    assert config.max_pages == right


def test_an_option_that_equals_the_default_still_wins(toml: Any) -> None:
    assert settings.load({"max_pages": "0"}, {}, toml("c.toml", "max_pages = 3")).max_pages == 0


def test_lists_replace_and_seeds_add_up(toml: Any) -> None:
    job = toml("crawl.toml", 'seeds = ["https://a.example/"]\nexclude = ["old"]')
    config = settings.load({"seeds": ["https://b.example/", "https://a.example/"], "exclude": ["new"]}, {}, None, job)
    assert config.seeds == ["https://a.example/", "https://b.example/"]
    assert config.exclude == ["new"]


def test_an_old_name_of_the_key_tree_is_read(toml: Any) -> None:
    """Jobs of 0.1 say so; there was nothing else, and the set is filled anew at each start."""
    assert settings.load({}, {}, None, toml("crawl.toml", 'seen = "exact"')).seen == "keytree"


def test_job_file_may_be_absent_config_file_may_not(tmp_path: Path) -> None:
    assert settings.load({}, {}, None, tmp_path / "no.toml") == Config()
    with pytest.raises(ConfigError, match=r"no\.toml cannot be read as settings: No such file"):
        settings.load({}, {}, tmp_path / "no.toml")


@pytest.mark.parametrize(
    ("key", "text", "right"),
    [
        ("max_bytes", "10MB", 10_000_000),
        ("max_bytes", "1GiB", 1 << 30),
        ("max_bytes", "1.5k", 1500),
        ("max_bytes", "12 kb", 12_000),
        ("max_pages", "1_000", 1000),
        ("max_depth", "-1", -1),
        ("max_time", "90", 90.0),
        ("max_time", "10m", 600.0),
        ("max_time", "2h", 7200.0),
        ("max_time", "1h30m", 5400.0),
        ("max_time", "500ms", 0.5),
        ("delay", "auto", "auto"),
        ("delay", "2", "2"),
        ("delay", "1m", "60"),
        ("delay", "500ms", "0.5"),
        ("embeds", "yes", True),
        ("embeds", "1", True),
        ("http2", "false", False),
        ("types", "application/pdf, image/*", ["application/pdf", "image/*"]),
        ("include", "a,b\nc", ["a,b", "c"]),
        ("contact", " me@example.org ", "me@example.org"),
    ],
)
def test_texts_are_read_as_people_write_them(key: str, text: str, right: Any) -> None:
    value = getattr(settings.load({}, {f"NEPHILA_{key.upper()}": text}), key)
    assert value == right
    assert type(value) is type(right)


def test_toml_numbers_and_texts(toml: Any) -> None:
    config = settings.load({}, {}, toml("c.toml", 'max_bytes = "10MB"\nmax_time = 60\ndelay = 2.5\nembeds = true'))
    assert (config.max_bytes, config.max_time, config.delay, config.embeds) == (10_000_000, 60.0, "2.5", True)


@pytest.mark.parametrize(
    ("options", "env", "text", "message"),
    [
        ({}, {}, "\n\nmax_page = 3", r"c\.toml:3: max_page is not a key of Nephila; did you mean max_pages\?"),
        ({}, {}, "max-pages = 3", r"c\.toml:1: max-pages is not a key of Nephila; did you mean max_pages\?"),
        ({}, {}, "[limits]\nmax_pages = 3", r"c\.toml:1: limits is not a key of Nephila"),
        ({}, {}, "max_pages = \nembeds = true", r"c\.toml cannot be read as settings: .*line 1"),
        ({}, {}, "embeds = 3", r"c\.toml:1: embeds: 3 does not fit; true or false is expected"),
        ({}, {}, "max_pages = true", r"max_pages: True does not fit; a whole number"),
        ({}, {}, "include = 'x'\nexclude = [1]", r"c\.toml:2: exclude: \[1\] does not fit; a list of texts"),
        ({"max_pages": "lots"}, {}, "", r"--max-pages: 'lots' does not fit; a whole number is expected"),
        ({"max_pages": "1.5"}, {}, "", r"--max-pages: '1.5' does not fit"),
        ({"max_bytes": "10 apples"}, {}, "", r"--max-bytes: '10 apples' does not fit; a size is expected"),
        ({"max_time": "soon"}, {}, "", r"--max-time: 'soon' does not fit; a duration is expected"),
        ({"max_time": "1.2.3"}, {}, "", r"--max-time: '1.2.3' does not fit; a duration is expected"),
        ({"delay": "slow"}, {}, "", r"--delay: 'slow' does not fit; auto or a duration"),
        ({}, {"NEPHILA_EMBEDS": "maybe"}, "", r"NEPHILA_EMBEDS: 'maybe' does not fit; true or false"),
        ({}, {"NEPHILA_MAX_PAGE": "1"}, "", r"NEPHILA_MAX_PAGE is not a variable .* NEPHILA_MAX_PAGES\?"),
    ],
)
def test_mistakes_are_named(toml: Any, options: dict[str, Any], env: dict[str, str], text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings.load(options, env, toml("c.toml", text))


def test_variables_of_other_tools_are_left_alone() -> None:
    assert settings.load({}, {"NEPHILA_CORPORA": "/somewhere", "NEPHILA_LONG": "1", "PATH": "x"}) == Config()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scope": "hosts"}, "scope = 'hosts': one of host, site, name, prefix, any is expected; did you mean host?"),
        ({"scope": ""}, "scope = '': one of host, site, name, prefix, any is expected"),
        ({"order": "random"}, "order = 'random': one of bfs, dfs is expected"),
        ({"durability": "pwer"}, "did you mean power?"),
        ({"seen": "trie"}, "seen = 'trie': one of keytree, hash, md5, file, kv, bloom, lru, keytree-naive, "),
        ({"delay": "-1"}, "delay: '-1' is not of the right form"),
        ({"per_host": 0}, "per_host = 0: 1 to 1000 is expected"),
        ({"connections": 1001}, "connections = 1001: 1 to 1000 is expected"),
        ({"max_depth": 251}, "max_depth = 251: -1 to 250 is expected"),
        ({"workers": -2}, "workers = -2: -1 to 64 is expected"),
        ({"workers": 65}, "workers = 65: -1 to 64 is expected"),
        ({"max_pages": -1}, "max_pages = -1: at least 0 is expected"),
        ({"max_time": float("nan")}, "max_time = nan"),
        ({"header_timeout_s": 0.0}, "header_timeout_s = 0: at least 0.001 is expected"),
        ({"delay_min_s": 61.0}, "delay_min_s = 61 is more than delay_max_s = 60"),
        ({"header": ["no colon"]}, "header: a value is not of the right form; 'Name: value' is expected"),
        ({"header": ["X: a\r\nY: b"]}, "header: a value holds a control character"),
        ({"user_agent": "x\ny"}, "user_agent: a value holds a control character"),
        ({"contact": "\udcff"}, "contact: a value holds a control character or is not UTF-8"),
        ({"proxy": ["localhost:8080"]}, "proxy: a value is not of the right form; SCHEME://HOST:PORT"),
        ({"proxy": ["ftp://h:1"]}, "with scheme http, https, socks4, socks4a, socks5 or socks5h"),
        ({"proxy": ["http://h:99999"]}, "proxy"),
        ({"proxy": ["a.example=direct", "a.example=http://h:1"]}, "a.example has proxies and `direct`"),
        ({"resolve": ["example.com:443"]}, "resolve: 'example.com:443' is not of the right form; HOST:PORT:ADDRESS"),
        ({"resolve": ["example.com:0:127.0.0.1"]}, "resolve"),
        ({"resolve": ["example.com:80:localhost"]}, "resolve"),
        ({"types": ["pdf"]}, "types: 'pdf' is not of the right form; TYPE/SUBTYPE"),
        ({"insecure": ["https://x/"]}, "insecure: 'https://x/' is not of the right form; a host name"),
        ({"include": ["("]}, "include"),
        ({"seeds": ["gopher://x/"]}, "gopher"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings.check(Config(**values))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"delay": "0.5", "workers": 0, "max_depth": 0, "connections": 1000, "scope": "any", "order": "dfs"},
        {"resolve": ["a.example:443:192.0.2.1", "b.example:80:[2001:db8::1]", "c.example:1:::1"]},
        {"proxy": ["socks5h://user:pw@127.0.0.1:9050"]},
        {"types": ["image/*", "*/*", "application/vnd.ms-excel"], "header": ["X-A: b", "X-Empty:"]},
        {"include": ["/news/", "中文"], "exclude": [r"\.zip$"], "seeds": ["example.com", "https://例子.中国/"]},
    ],
)
def test_values_that_work_pass(values: dict[str, Any]) -> None:
    settings.check(Config(**values))


def test_secrets_from_files_and_variables(toml: Any) -> None:
    toml("token", "# of the test account\nAuthorization: Bearer abc\n")
    env = {"TOKEN": "xyz", "NEPHILA_PROXY": "env:PROXY", "PROXY": "http://u:p@h:1"}
    file = toml("c.toml", 'header = ["@token", "Cookie: env:TOKEN", "X-At: @home"]')
    config = settings.load({}, env, file)
    assert config.header == ["Authorization: Bearer abc", "Cookie: xyz", "X-At: @home"]
    assert config.proxy == ["http://u:p@h:1"]


def test_proxies_from_files_and_variables(toml: Any) -> None:
    """The lines of a file are rules; after SITE= only a variable stands for a secret."""
    toml("ways", "# two\nhttp://u:p@h:1\na.example=socks5://u:q=@h:2\n")
    file = toml("c.toml", 'proxy = ["@ways", "*.b.example=env:B", "http://token=@h:3"]')
    config = settings.load({}, {"B": "https://u:r@h:4"}, file)
    assert config.proxy == [
        "http://u:p@h:1",
        "a.example=socks5://u:q=@h:2",
        "*.b.example=https://u:r@h:4",
        "http://token=@h:3",
    ]


def test_a_secret_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match="there is no environment variable NONE"):
        settings.load({"header": ["Cookie: env:NONE"]}, {})
    with pytest.raises(ConfigError, match="@/nonexistent/x: the file cannot be read"):
        settings.load({"header": ["@/nonexistent/x"]}, {})


def test_a_list_of_addresses_cannot_open_files(toml: Any) -> None:
    secret = toml("private", "content")
    assert settings.load({"seeds": [f"@{secret}"]}, {}).seeds == [f"@{secret}"]


def test_a_wrong_secret_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        settings.check(Config(header=["Authorization Bearer hunter2"]))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "bare"),
    [
        ("https://u:p@host/@x", "https://host/@x"),
        ("u:p@host", "host"),
        ("//u@host/", "//host/"),
        ("https:u:p@host/", "https:host/"),
        ("https:\\\\u:p@host/", "https:\\\\host/"),
        ("https://a@b@host/", "https://host/"),
        ("https://host/?q=a@b", "https://host/?q=a@b"),
        ("host/@user", "host/@user"),
    ],
)
def test_userinfo_is_cut_out(address: str, bare: str) -> None:
    assert settings.without_userinfo(address) == bare
