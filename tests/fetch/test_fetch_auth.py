"""Credentials on the wire: they reach exactly their origin, and an answer to a challenge is one answer."""

from __future__ import annotations

import base64
import hashlib
import re
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pycurl
import pytest
from fetch.rawweb import Talk, Web, answer, browsing, lease, run

from nephila.config import Config
from nephila.errors import ConfigError
from nephila.fetch import auth
from nephila.fetch.client import Client
from nephila.fetch.wanted import types_rule
from nephila.types import Failure, Outcome, Response

PASSWORD = "pass:wörd=1"


def for_web(web: Web, spec: str, **config: Any) -> Client:
    """A client with a credential for this server, which may reach other loopback names, too."""
    return Client(Config(auth=[f"{web.url().removesuffix('/')}={spec}"], allow_private=True, **config))


def sent(head: bytes, name: bytes = b"authorization") -> bytes:
    """The value of a request's header line, b"" when it has none."""
    found = re.search(rb"(?im)^" + name + rb": ([^\r]*)", head)
    return found[1] if found else b""


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (f"basic:me:{PASSWORD}", b"Basic " + base64.b64encode(f"me:{PASSWORD}".encode())),
        ("bearer:t0k.en=", b"Bearer t0k.en="),
    ],
)
def test_a_line_goes_to_its_origin_and_to_no_other(spec: str, line: bytes) -> None:
    async def work() -> None:
        async with Web(answer()) as web, Web(answer()) as other:
            fetch = for_web(web, spec)
            for url in (web.url("/a"), web.url(host="localhost"), other.url(), web.url("/b")):
                got = await fetch(lease(url))
                assert (got.status, b"uthorization" in got.request_head) == (200, False)
            await fetch.close()
            assert [sent(head) for head in web.heads] == [line, b"", line]
            assert [sent(head) for head in other.heads] == [b""]

    run(work())


def digest_wanted(head: bytes, user: str, password: str, nonce: str) -> bool:
    """RFC 7616 section 3.4.1, with MD5 and qop=auth."""
    given = dict(re.findall(r'(\w+)="?([^",]*)"?', sent(head).decode()))
    if given.get("nonce") != nonce:
        return False
    method, target, _ = head.split(b" ", 2)

    def md5(text: str) -> str:
        return hashlib.md5(text.encode()).hexdigest()

    ours, theirs = md5(f"{user}:{given['realm']}:{password}"), md5(f"{method.decode()}:{target.decode()}")
    return given["response"] == md5(f"{ours}:{nonce}:{given['nc']}:{given['cnonce']}:{given['qop']}:{theirs}")


def digest_site(user: str, password: str, *, nonce: str = "n1", body: bytes = b"who are you?") -> Any:
    async def script(talk: Talk) -> None:
        if digest_wanted(talk.head, user, password, nonce):
            await talk.say(answer(b"the page", "Content-Type: text/html"))
        else:
            challenge = f'WWW-Authenticate: Digest realm="r", nonce="{nonce}", qop="auth", algorithm=MD5'
            await talk.say(answer(body, challenge, 'WWW-Authenticate: Basic realm="r"', status="401 Unauthorized"))

    return script


@pytest.mark.parametrize("body", [b"who are you?", b"", b"x" * 300_000])
@pytest.mark.parametrize("rule", [False, True])
def test_digest_is_one_answer(body: bytes, rule: bool) -> None:
    """The challenge is not the answer, whatever its body; the password is never sent, and not even Basic is."""

    async def work() -> None:
        async with Web(digest_site("me", PASSWORD, body=body)) as web:
            fetch = for_web(web, f"digest:me:{PASSWORD}")
            if rule:
                fetch = Client(
                    fetch._config, allowed=frozenset({("127.0.0.1", web.port)}), wanted=types_rule(["text/html"])
                )
            for path in ("/a", "/b?q=1"):
                got = await fetch(lease(web.url(path)))
                assert isinstance(got, Response)
                assert (got.status, got.payload.head(99)) == (200, b"the page")
                assert got.head.startswith(b"HTTP/1.1 200")
                assert got.request_head.startswith(f"GET {path} ".encode())
                assert b"uthorization" not in got.request_head
            await fetch.close()
            assert [bool(sent(head)) for head in web.heads] == [False, True, True], "the second page needs no question"
            assert not any(b"Basic" in head or PASSWORD.encode() in head for head in web.heads)

    run(work())


@pytest.mark.parametrize("body", [b"who are you?", b""])
def test_a_wrong_password_is_an_answer(body: bytes) -> None:
    async def work() -> None:
        async with Web(digest_site("me", "right", body=body)) as web:
            fetch = for_web(web, "digest:me:wrong")
            got = await fetch(lease(web.url()))
            await fetch.close()
            assert (got.status, got.payload.head(99), len(web.heads)) == (401, body, 2)

    run(work())


def test_handles_of_a_member_serve_nobody_else() -> None:
    async def work() -> None:
        async with Web(digest_site("me", "pw")) as web, Web(digest_site("me", "pw")) as other:
            fetch = for_web(web, "digest:me:pw")
            assert (await fetch(lease(web.url()))).status == 200
            assert (await fetch(lease(other.url()))).status == 401
            assert (await fetch(lease(web.url(host="localhost")))).status == 401
            await fetch.close()
            assert [bool(sent(head)) for head in other.heads] == [False]

    run(work())


def test_negotiate_without_a_ticket_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "none"))
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "none"))

    async def work() -> None:
        challenge = answer(b"a ticket?", "WWW-Authenticate: Negotiate", status="401 Unauthorized")
        async with Web(challenge) as web:
            fetch = for_web(web, "negotiate")
            got = await fetch(lease(web.url()))
            await fetch.close()
            assert isinstance(got, Response), got
            assert (got.status, got.payload.head(99)) == (401, b"a ticket?")

    run(work())


def test_what_libcurl_lacks_is_said() -> None:
    config = Config(auth=["https://example.com=ntlm:me:s3cr3t"])
    if pycurl.version_info()[4] & pycurl.VERSION_NTLM:
        auth.check(config)
    else:
        with pytest.raises(ConfigError, match=r"https://example.com: this libcurl .* cannot do NTLM") as said:
            auth.check(config)
        assert "s3cr3t" not in str(said.value)


# --- client certificates --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority (ca.pem), a server and a member that it vouches for, and a stranger that it does not."""
    folder = tmp_path_factory.mktemp("ca")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder, timeout=60)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    try:
        openssl("req", "-x509", *key, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no usable openssl command: {error}")
    for name in ("server", "member"):
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
        openssl("req", "-x509", *key, *signed, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl("req", "-x509", *key, "-subj", "/CN=stranger", "-keyout", "stranger.key", "-out", "stranger.pem")
    return folder


def guarded(authority: Path) -> ssl.SSLContext:
    """A server's side of TLS that wants to see a certificate of the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    context.load_verify_locations(authority / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_client_certificate_opens_its_origin_only(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))

    async def work() -> None:
        async with (
            Web(answer(b"inside"), tls=guarded(authority)) as web,
            Web(answer(), tls=guarded(authority)) as other,
        ):
            fetch = for_web(web, f"cert:{authority}/member.pem:{authority}/member.key")
            got = await fetch(lease(web.url(), last=True))
            assert isinstance(got, Response), got
            assert (got.status, got.payload.head(99)) == (200, b"inside")
            assert isinstance(await fetch(lease(other.url(), last=True)), Failure)
            assert (await fetch(lease(web.url("/again")))).status == 200
            await fetch.close()
            assert other.heads == []

    run(work())


def test_a_certificate_that_the_site_does_not_know(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))

    async def work() -> None:
        async with Web(answer(), tls=guarded(authority)) as web:
            fetch = for_web(web, f"cert:{authority}/stranger.pem:{authority}/stranger.key")
            got = await fetch(lease(web.url(), last=True))
            await fetch.close()
            assert isinstance(got, Failure)
            assert (got.outcome, web.heads) == (Outcome.UNREACHABLE, [])

    run(work())


def test_a_proxy_that_asks_gets_nothing() -> None:
    """CVE-2026-86414: a CONNECT that is answered 401 must not get the origin's password."""

    async def work() -> None:
        ask = answer(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
        async with Web(ask) as proxy:
            for spec in ("basic:me:pw", "digest:me:pw", "bearer:pw"):
                config = Config(auth=[f"https://far.test={spec}"], proxy=[proxy.url().removesuffix("/")])
                fetch = Client(config)
                got = await fetch(lease("https://far.test/"))
                await fetch.close()
                assert isinstance(got, Failure), got
                assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "proxy_refused")
            assert proxy.heads
            assert [sent(head) for head in proxy.heads] == [b""] * len(proxy.heads)

    run(work())


def test_no_netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password s3cr3t\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    async def work() -> None:
        async with browsing(answer()) as (web, fetch):
            await fetch(lease(web.url()))
            assert sent(web.heads[0]) == b""

    run(work())
