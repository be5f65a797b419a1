"""Credentials as people write them: every form is understood, nothing is guessed, and no message shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from nephila import credentials, settings
from nephila.config import Config
from nephila.credentials import Credential, Login
from nephila.errors import ConfigError

PLACE = "https://example.com"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.com=basic:me:a:b=c", Credential(PLACE, "basic", "me", "a:b=c")),
        ("HTTPS://Example.COM:443/=Digest::pw", Credential(PLACE, "digest", "", "pw")),
        ("http://[::1]:8080=bearer:x.y=", Credential("http://[::1]:8080", "bearer", secret="x.y=")),
        ("https://例え.jp=negotiate", Credential("https://xn--r8jz45g.jp", "negotiate")),
        ("https://example.com=cert:/a.pem", Credential(PLACE, "cert", cert="/a.pem", key="/a.pem")),
        ("https://example.com=cert:/a.pem:/k.pem", Credential(PLACE, "cert", cert="/a.pem", key="/k.pem")),
    ],
)
def test_forms(text: str, expected: Credential) -> None:
    assert credentials.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s3cr3t", "ORIGIN=SPEC is expected"),
        ("example.com=basic:me:s3cr3t", "with scheme"),
        ("https://example.com/path=basic:me:s3cr3t", "without user or path"),
        ("https://s3cr3t@example.com=negotiate", "without user or path"),
        ("ftps://example.com=basic:me:s3cr3t", "ORIGIN=SPEC is expected"),
        ("ftp://example.com=digest:me:s3cr3t", "basic:USER:PASSWORD only"),
        ("https://example.com=s3cr3t", "https://example.com: one of basic:USER:PASSWORD"),
        ("https://example.com=basic:s3cr3t", "basic:USER:PASSWORD is expected"),
        ("https://example.com=bearer:s3c r3t", "printable"),
        ("https://example.com=negotiate:s3cr3t", "kinit"),
        ("https://example.com=cert:", "cert:FILE"),
        ("http://example.com=cert:/a.pem", "over https only"),
    ],
)
def test_what_cannot_be_one_is_said_without_the_secret(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        credentials.parse(text)
    assert said in str(error.value)
    assert "s3cr3t" not in str(error.value)


def loaded(*auth: str, env: dict[str, str] | None = None, file: Path | None = None, **more: object) -> Config:
    return settings.load({"auth": [*auth] or None} | more, env or {}, file)


def test_a_secret_may_lie_in_a_file_or_a_variable(tmp_path: Path) -> None:
    token, both, whole = (tmp_path / name for name in ("token", "both", "whole"))
    token.write_text("# mine\nt0k\n")
    both.write_text("me:pw\n")
    whole.write_text("https://a.example=basic:me:pw\nhttps://b.example=negotiate\n")
    env = {"PW": "p:w", "SPEC": "bearer:t1", "LIST": "ignored"}
    forms = [
        f"https://1.example=bearer:@{token}",
        "https://2.example=basic:me:env:PW",
        f"https://3.example=digest:@{both}",
        "https://4.example=env:SPEC",
        f"@{whole}",
    ]
    assert loaded(*forms, env=env).auth == [
        "https://1.example=bearer:t0k",
        "https://2.example=basic:me:p:w",
        "https://3.example=digest:me:pw",
        "https://4.example=bearer:t1",
        "https://a.example=basic:me:pw",
        "https://b.example=negotiate",
    ]


def test_an_empty_file_is_no_password(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    with pytest.raises(ConfigError, match="the file is empty"):
        loaded(f"https://example.com=bearer:@{tmp_path}/empty")


def test_a_settings_file_holds_no_password(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('auth = ["https://a.example=basic:me:s3cr3t"]\n')
    with pytest.raises(ConfigError, match="does not belong into a settings file") as error:
        loaded(file=file)
    assert "s3cr3t" not in str(error.value)
    file.write_text(
        'auth = ["https://a.example=env:SPEC", "https://b.example=negotiate", "https://c.example=cert:c.pem"]'
    )
    given = loaded(file=file, env={"SPEC": "basic:me:s3cr3t"})
    assert given.auth == [
        "https://a.example=basic:me:s3cr3t",
        "https://b.example=negotiate",
        f"https://c.example=cert:{tmp_path}/c.pem",
    ]


def test_what_holds_no_secret_is_stored_and_the_rest_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    settings.write(loaded("https://a.example=negotiate"), path)
    assert settings.load({}, {}, None, path, require_secrets=True).auth == ["https://a.example=negotiate"]
    settings.write(loaded("https://a.example=negotiate", "https://b.example=basic:me:s3cr3t"), path)
    assert "s3cr3t" not in path.read_text()
    with pytest.raises(ConfigError, match=r"negotiate@a.example, basic@b.example\): give --auth again"):
        settings.load({}, {}, None, path, require_secrets=True)
    again = settings.load({"auth": ["https://b.example=basic:me:new"]}, {}, None, path, require_secrets=True)
    assert again.auth == ["https://b.example=basic:me:new"]
    assert settings.load({"auth": [""]}, {}, None, path, require_secrets=True).auth == []


def test_user_and_password_of_a_seed_count_as_basic() -> None:
    config = Config(seeds=["https://me:p%40s%3As@example.com/x", "https://example.com/@home", "http://you@b.example/"])
    assert credentials.by_origin(config) == {
        PLACE: (Credential(PLACE, "basic", "me", "p@s:s"),),
        "http://b.example": (Credential("http://b.example", "basic", "you"),),
    }
    said = Config(seeds=config.seeds, auth=["https://example.com=digest:me:pw"])
    assert credentials.by_origin(said)[PLACE] == (Credential(PLACE, "digest", "me", "pw"),)


def test_one_origin_has_one_credential_and_perhaps_a_certificate() -> None:
    both = ["https://example.com=basic:me:pw", "https://example.com=cert:/a.pem"]
    assert credentials.names(Config(auth=both)) == {PLACE: "basic@example.com cert@example.com"}
    with pytest.raises(ConfigError, match=r"https://example\.com has two credentials"):
        credentials.by_origin(Config(auth=["https://example.com=basic:me:pw", "https://example.com:443=bearer:x"]))
    with pytest.raises(ConfigError, match=r"https://example\.com has two credentials"):
        credentials.by_origin(Config(seeds=["https://me:a@example.com/", "https://me:b@example.com/"]))


def test_a_secret_header_gives_access_to_the_origins_of_the_seeds() -> None:
    config = Config(seeds=["https://example.com/a", "b.example:81"], header=["X-Auth-Token: x"], cookies="/c.txt")
    assert credentials.names(config) == {
        PLACE: "header",
        "https://b.example:81": "header",
        "http://b.example:81": "header",
    }
    assert credentials.held(config) == {"header", "cookies"}
    assert credentials.names(Config(seeds=config.seeds, header=["Accept: x"])) == {}


def test_a_header_and_a_credential_do_not_argue() -> None:
    config = Config(seeds=[PLACE], header=["Authorization: x"], auth=["https://example.com=bearer:y"])
    with pytest.raises(ConfigError, match="is also sent the header Authorization"):
        settings.check(config)


def test_a_certificate_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("no certificate")
    for name in ("a.pem", "none.pem"):
        with pytest.raises(ConfigError, match="are no certificate with its key in PEM form"):
            settings.check(Config(auth=[f"https://example.com=cert:{tmp_path}/{name}"]))


# --- logins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://h.example/login=me:p:w=1", Login("https://h.example/login", "me", "p:w=1")),
        ("https://h.example/m.php?mod=logging&action=login=张三:pw", Login("https://h.example/m.php?mod=logging&action=login", "张三", "pw")),
        ("https://h.example:8443/l=a b@c:pw", Login("https://h.example:8443/l", "a b@c", "pw")),
        ("https://h.example=me:pw", Login("https://h.example/", "me", "pw")),
    ],
)  # fmt: skip
def test_forms_of_a_login(text: str, expected: Login) -> None:
    assert credentials.parse_login(text) == expected


@pytest.mark.parametrize(
    "text",
    ["s3cr3t", "h.example/login=me:s3cr3t", "https://h.example/login=s3cr3t", "https://u:s3cr3t@h.example/login=me:pw"],
)
def test_what_cannot_be_a_login_is_said_without_the_secret(text: str) -> None:
    with pytest.raises(ConfigError, match="login: URL=USER:PASSWORD is expected") as error:
        credentials.parse_login(text)
    assert "s3cr3t" not in str(error.value)


def test_the_secret_of_a_login_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("p=@w\n")
    env = {"PW": "p:w", "BOTH": "me:pw"}
    forms = [
        "https://a.example/l=me:env:PW",
        "https://b.example/l?a=b=env:BOTH",
        f"https://c.example/l=me:@{tmp_path}/pw",
    ]
    given = settings.load({"login": [*forms, "https://d.example/l=me:a=@b"]}, env)
    assert given.login == [
        "https://a.example/l=me:p:w",
        "https://b.example/l?a=b=me:pw",
        "https://c.example/l=me:p=@w",
        "https://d.example/l=me:a=@b",
    ]
    file = tmp_path / "settings.toml"
    file.write_text('login = ["https://a.example/l=negotiate:s3cr3t"]\n')
    with pytest.raises(ConfigError, match="does not belong into a settings file"):
        settings.load({}, {}, file)


def test_a_login_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "crawl.toml"
    settings.write(Config(login=["https://a.example/l=me:s3cr3t"]), path)
    assert "s3cr3t" not in path.read_text()
    with pytest.raises(ConfigError, match=r"\(https://a.example/l\): give --login again"):
        settings.load({}, {}, None, path, require_secrets=True)


def test_a_site_has_one_login() -> None:
    with pytest.raises(ConfigError, match=r"login: a\.example has two logins"):
        settings.check(Config(login=["https://a.example/l=me:pw", "https://www.a.example/l=you:pw"]))
    both = Config(login=["https://a.example/l=me:pw", "https://b.example/l=you:pw"])
    assert credentials.held(both) == {"login@a.example", "login@b.example"}
