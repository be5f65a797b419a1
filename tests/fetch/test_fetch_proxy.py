"""Ways out: every kind of proxy, every fault of one, and never past it.

The sites have names that resolve to a decoy: a listener that counts who connects, where a request without its proxy would
arrive. The proxies know where the sites really are.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.fetch.client import Client
from nephila.fetch.dns import Resolver
from nephila.testing.proxies import Proxy
from nephila.types import Failure, Lease, Outcome, Resolution, Response

KINDS = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
DECOY = "127.0.0.9"
SHORT = {"connect_timeout_s": 0.3, "header_timeout_s": 0.3, "tls_timeout_s": 0.3}


class Place:
    """A site with and without TLS, and where a proxy finds it."""

    def __init__(self, plain: Web, secure: Web) -> None:
        self.plain, self.secure = plain, secure
        self.urls = [site.url("/page", host="site.test") for site in (plain, secure)]
        self.routes = {
            f"{host}:{site.port}": ("127.0.0.1", site.port) for site in (plain, secure) for host in ("site.test", DECOY)
        }

    def client(self, *proxies: str, **config: Any) -> Client:
        resolve = [f"site.test:{site.port}:{DECOY}" for site in (self.plain, self.secure)]
        return client(proxy=list(proxies), resolve=resolve, **{"http2": False} | config)


@asynccontextmanager
async def place(tls: ssl.SSLContext) -> AsyncIterator[Place]:
    """In the end nobody has come to the sites by another way than the proxies."""
    async with Web(answer()) as plain, Web(answer(), tls=tls) as secure:
        met: list[int] = []
        decoys = [
            await asyncio.start_server(lambda r, w: met.append(1), DECOY, site.port, family=socket.AF_INET)
            for site in (plain, secure)
        ]
        yield Place(plain, secure)
        for decoy in decoys:
            decoy.close()
        assert met == []


@pytest.fixture(autouse=True)
def trusted(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))


# --- every kind -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_pages_come_through(kind: str, tls: ssl.SSLContext) -> None:
    """SOCKS 4 and 5 leave the name to us, the others get it as it is."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes) as proxy:
                fetch = here.client(proxy.url)
                for url in here.urls:
                    got = await fetch(lease(url, cookie="a=b"))
                    assert (got.status, got.payload.head(9), got.ip) == (200, b"hello", "127.0.0.1")
                name = DECOY if kind in ("socks4", "socks5") else "site.test"
                assert proxy.targets == [f"{name}:{here.plain.port}", f"{name}:{here.secure.port}"]
                assert [b"Cookie: a=b" in site.heads[0] for site in (here.plain, here.secure)] == [True, True]
                await fetch.close()

    run(work())


def test_a_tunnel_is_used_again_and_another_proxy_gets_its_own(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes) as one, Proxy("socks5h", routes=here.routes) as two:
                fetch = here.client(one.url, two.url)
                for proxy in (0, 0, 1, 1, 0):
                    assert (await fetch(through(here.urls[1], proxy))).status == 200
                assert (one.connections, two.connections, here.secure.connections) == (1, 1, 2)
                await fetch.close()

    run(work())


def through(url: str, proxy: int) -> Lease:
    """A lease for which the frontier has chosen."""
    return msgspec.structs.replace(lease(url), proxy=proxy)


def test_the_record_of_a_request_holds_what_the_site_got(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes, credentials="user:pass") as proxy:
                fetch = here.client(proxy.with_user("user:pass"), header=["X-Mine: 1"])
                plain, secure = [await fetch(lease(url)) for url in here.urls]
                assert plain.request_head.startswith(b"GET http://site.test:")
                assert secure.request_head.startswith(b"GET /page HTTP/1.1\r\n")
                for got in (plain, secure):
                    assert b"X-Mine: 1" in got.request_head
                    assert b"Proxy-Authorization" not in got.request_head
                assert secure.header("x-proxy") == ""
                assert [b"X-Mine" in head for head in proxy.said if head.startswith(b"CONNECT")] == [False]
                await fetch.close()

    run(work())


# --- faults ---------------------------------------------------------------------------------------------------------

FAULTS = [
    ("refuse", "http https socks4 socks4a socks5 socks5h", "proxy_refused"),
    ("unauthorized", "http https", "proxy_refused"),
    ("unauthorized", "socks4 socks5h", "proxy_closed"),
    ("garbage", "http https socks4 socks5h", "proxy_closed"),
    ("auth", "http https socks5 socks5h", "proxy_auth"),
    ("close", "http https socks4 socks5 socks5h", "proxy_closed"),
    ("stall", "http https socks4 socks5 socks5h", "proxy_timeout"),
    ("down", "http https socks4 socks5 socks5h", "proxy_unreachable"),
]


@pytest.mark.parametrize(
    ("fault", "kind", "reason"), [(fault, kind, reason) for fault, kinds, reason in FAULTS for kind in kinds.split()]
)
def test_a_fault_of_the_tunnel_names_the_proxy(fault: str, kind: str, reason: str, tls: ssl.SSLContext) -> None:
    """And the next request, through the same proxy when it is well again, is answered."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes) as proxy:
                fetch = here.client(proxy.with_user("user:pass"), **SHORT)
                set_fault(proxy, fault)
                failed = await fetch(lease(here.urls[1]))
                assert (failed.outcome, failed.reason) == (Outcome.UNREACHABLE, reason)
                assert failed.detail.startswith(f"{proxy.url}: ")
                assert here.secure.connections == 0
                set_fault(proxy, "")
                assert (await fetch(lease(here.urls[1]))).status == 200
                await fetch.close()

    run(work())


def set_fault(proxy: Proxy, fault: str) -> None:
    if fault == "down":
        proxy.down()
    elif proxy.listening:
        proxy.fault = fault
    else:
        proxy.up()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("auth", "proxy_auth"), ("close", "proxy_closed"), ("stall", "proxy_timeout"), ("down", "proxy_unreachable")],
)
@pytest.mark.parametrize("kind", ["http", "https"])
def test_a_fault_in_place_of_a_plain_page(fault: str, reason: str, kind: str, tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes) as proxy:
                fetch = here.client(proxy.url, **SHORT)
                set_fault(proxy, fault)
                failed = await fetch(lease(here.urls[0]))
                assert (failed.outcome, failed.reason, failed.status) == (Outcome.UNREACHABLE, reason, 0)
                await fetch.close()

    run(work())


@pytest.mark.parametrize("status", [401, 403, 502])
def test_an_error_page_over_plain_http_is_an_answer(status: int, tls: ssl.SSLContext) -> None:
    """Whose it is nobody can tell: it is kept as any other."""

    async def work() -> None:
        async with place(tls) as here, Web(answer(b"no", status=f"{status} No")) as site:
            with Proxy(routes={f"site.test:{site.port}": ("127.0.0.1", site.port)}) as proxy:
                fetch = here.client(proxy.url)
                assert (await fetch(lease(site.url(host="site.test")))).status == status
                await fetch.close()

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_a_407_of_the_site_itself(kind: str, tls: ssl.SSLContext) -> None:
    """Behind a tunnel, or without any proxy, it is an answer like another; told in the proxy's place it is the proxy's."""

    async def work() -> None:
        async with Web(answer(b"", status="407 Who")) as plain, Web(answer(b"", status="407 Who"), tls=tls) as secure:
            direct = client(plain)
            assert (await direct(lease(plain.url()))).status == 407
            await direct.close()
            here = Place(plain, secure)
            with Proxy(kind, tls=tls, routes=here.routes) as proxy:
                fetch = here.client(proxy.with_user("user:pass"))
                first, second = [await fetch(lease(url)) for url in here.urls]
                assert isinstance(second, Response)
                assert second.status == 407
                if kind.startswith("http"):
                    assert (first.reason, len(plain.heads)) == ("proxy_auth", 2)
                else:
                    assert first.status == 407
                assert not any(b"dXNlcjpwYXNz" in head for head in plain.heads + secure.heads)
                await fetch.close()

    run(work())


def test_faults_behind_the_tunnel_are_the_sites(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here, Web(lambda talk: asyncio.sleep(5)) as slow:
            wrong = f"wrong.test:{here.secure.port}"
            routes = {f"slow.test:{slow.port}": ("127.0.0.1", slow.port), wrong: ("127.0.0.1", here.secure.port)}
            with Proxy(routes=routes) as proxy, Proxy("socks5h", routes=routes) as socks:
                for url in (proxy.url, socks.url):
                    fetch = client(proxy=[url], **SHORT)
                    assert (await fetch(lease(f"https://{wrong}/"))).reason == "tls.wrong_host"
                    await fetch.close()
                fetch = client(proxy=[socks.url], **SHORT)
                assert (await fetch(lease(slow.url(host="slow.test")))).reason == "timeout.headers"
                await fetch.close()

    run(work())


def test_a_proxy_whose_certificate_nobody_trusts(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")

    async def work() -> None:
        async with place(tls) as here:
            with Proxy("https", tls=tls, routes=here.routes) as proxy:
                for insecure, reasons in (([], ["proxy_tls"] * 2), (["127.0.0.1", "site.test"], ["", ""])):
                    fetch = here.client(proxy.url, insecure=insecure)
                    assert [getattr(await fetch(lease(url)), "reason", "") for url in here.urls] == reasons
                    await fetch.close()

    run(work())


def test_a_proxy_that_speaks_no_tls(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes) as proxy:
                fetch = here.client(f"https://{proxy.address}", **SHORT)
                assert [(await fetch(lease(url))).reason for url in here.urls] == ["proxy_tls"] * 2
                await fetch.close()

    run(work())


def full_listener() -> Iterator[str]:
    """An address whose line of connections is full: a connect there has no answer."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        for one in waiting:
            one.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_proxy_that_takes_no_connection_in_time(kind: str, tls: ssl.SSLContext) -> None:
    async def work(address: str) -> None:
        async with place(tls) as here:
            fetch = here.client(f"{kind}://{address}", **SHORT)
            assert (await fetch(lease(here.urls[0]))).reason == "proxy_unreachable"
            await fetch.close()

    for address in full_listener():
        run(work(address))


def test_a_proxy_whose_name_is_not_there(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            fetch = here.client("http://proxy.invalid:1")
            assert (await fetch(lease(here.urls[1]))).reason == "proxy_unreachable"
            await fetch.close()

    run(work())


# --- credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["Basic", "Digest"])
@pytest.mark.parametrize("kind", ["http", "https"])
def test_credentials_are_given_when_a_407_asks_for_them(kind: str, scheme: str, tls: ssl.SSLContext) -> None:
    """Once asked, a proxy gets them with every request; the lease is one visit all the same."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes, credentials="us er:p:w", scheme=scheme) as proxy:
                fetch = here.client(proxy.with_user("us%20er:p%3Aw"))
                for url in here.urls * 2:
                    assert (await fetch(lease(url))).status == 200
                given = [b"Proxy-Authorization: " + scheme.encode() in head for head in proxy.said]
                assert given == [False, True, True, True]
                heads = here.plain.heads + here.secure.heads
                assert not any(b"proxy-auth" in head.lower() for head in heads)
                await fetch.close()

    run(work())


@pytest.mark.parametrize("credentials", ["", "user:wrong"])
@pytest.mark.parametrize("kind", ["http", "https", "socks5", "socks5h"])
def test_wrong_credentials(kind: str, credentials: str, tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes, credentials="user:pass") as proxy:
                fetch = here.client(proxy.with_user(credentials))
                assert [(await fetch(lease(url))).reason for url in here.urls] == ["proxy_auth"] * 2
                assert here.plain.connections + here.secure.connections == 0
                await fetch.close()

    run(work())


@pytest.mark.parametrize("kind", ["socks5", "socks5h"])
def test_socks_credentials(kind: str, tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes, credentials="user:pass") as proxy:
                fetch = here.client(proxy.with_user("user:pass"))
                assert [(await fetch(lease(url))).status for url in here.urls] == [200, 200]
                await fetch.close()

    run(work())


def test_a_401_to_connect_gets_nobodys_credentials(tls: ssl.SSLContext) -> None:
    """Neither the site's nor the proxy's (as in CVE-2026-86414)."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(fault="unauthorized", routes=here.routes) as proxy:
                secret = ["Authorization: Bearer of-the-site", "Cookie: of=the-site"]
                fetch = here.client(proxy.with_user("user:pass"), header=secret, seeds=[here.urls[1]])
                for _ in range(2):
                    assert (await fetch(lease(here.urls[1]))).reason == "proxy_refused"
                said = b"".join(proxy.said).lower()
                assert len(proxy.said) == 2
                assert not any(word in said for word in (b"authorization", b"cookie", b"of-the-site", b"dxnlcjpwyxnz"))
                await fetch.close()

    run(work())


def test_a_401_to_connect_is_no_challenge_of_the_site(tls: ssl.SSLContext) -> None:
    """Digest is answered by libcurl itself, but not to a proxy."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(fault="unauthorized", routes=here.routes) as proxy:
                spec = f"https://site.test:{here.secure.port}=digest:me:of-the-site"
                fetch = here.client(proxy.url, auth=[spec])
                assert (await fetch(lease(here.urls[1]))).reason == "proxy_refused"
                assert not any(b"authorization" in head.lower() for head in proxy.said)
                proxy.fault = ""
                assert (await fetch(lease(here.urls[1]))).status == 200
                assert not any(b"authorization" in head.lower() for head in proxy.said)
                await fetch.close()

    run(work())


def test_a_proxys_credentials_go_to_no_other_proxy(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            more = {"routes": here.routes, "credentials": "user:pass"}
            with Proxy(**more) as one, Proxy(fault="auth", routes=here.routes) as other:
                plain = f"http://site.test:{here.plain.port}"
                fetch = here.client(one.with_user("user:pass"), f"{plain}={other.url}")
                assert (await fetch(lease(here.urls[1]))).status == 200
                assert (await fetch(lease(here.urls[0]))).reason == "proxy_auth"
                assert (await fetch(lease(here.urls[1]))).status == 200
                assert [b"Proxy-Auth" in head for head in other.said] == [False]
                await fetch.close()

    run(work())


# --- which way, and what is refused ---------------------------------------------------------------------------------


def test_rules_per_site(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here, Web(answer(b"direct")) as free:
            routes = here.routes | {f"x.site.test:{here.plain.port}": ("127.0.0.1", here.plain.port)}
            with Proxy(routes=routes) as one, Proxy(routes=routes) as two, Proxy(routes=routes) as three:
                rules = [one.url, f"site.test={two.url}", f"*.site.test={three.url}", "127.0.0.1=direct"]
                fetch = here.client(*rules, allow_private=True)
                urls = [*here.urls, f"http://x.site.test:{here.plain.port}/", free.url()]
                assert [(await fetch(lease(url))).status for url in urls] == [200] * 4
                assert [len(proxy.targets) for proxy in (one, two, three)] == [0, 2, 1]
                assert free.connections == 1
                await fetch.close()

    run(work())


@pytest.mark.parametrize("place_in_list", [-1, 0, 5])
def test_a_lease_cannot_lead_past_the_rules(place_in_list: int, tls: ssl.SSLContext) -> None:
    """Whatever it says, the door takes a proxy of the pool."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes) as other, Proxy(routes=here.routes) as right:
                fetch = here.client(f"else.test={other.url}", f"site.test={right.url}")
                assert (await fetch(through(here.urls[0], place_in_list))).status == 200
                assert (len(other.targets), len(right.targets)) == (0, 1)
                await fetch.close()

    run(work())


PRIVATE = ["http://127.0.0.1/", "https://10.0.0.1/", "http://[::1]/", "http://localhost/", "http://169.254.169.254/x"]


@pytest.mark.parametrize("kind", KINDS)
def test_private_targets_are_refused_by_name(kind: str, tls: ssl.SSLContext) -> None:
    async def work() -> None:
        with Proxy(kind, tls=tls) as proxy:
            fetch = client(proxy=[proxy.url])
            for url in [*PRIVATE, f"http://{proxy.address}/"]:
                got = await fetch(lease(url))
                assert (got.outcome, got.reason) == (Outcome.BLOCKED, "blocked.private_address")
            assert proxy.connections == 0
            await fetch.close()

    run(work())


@pytest.mark.parametrize("kind", ["socks4", "socks5"])
def test_a_name_that_is_ours_to_resolve_is_refused_when_private(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(_: Resolver, host: str) -> Resolution:
        return Resolution(("10.0.0.1", "127.0.0.1"))

    monkeypatch.setattr(Resolver, "__call__", ask)

    async def work() -> None:
        with Proxy(kind) as proxy:
            fetch = client(proxy=[proxy.url])
            got = await fetch(lease("http://rebind.example/"))
            assert (got.outcome, got.reason, proxy.connections) == (Outcome.BLOCKED, "blocked.private_address", 0)
            await fetch.close()

    run(work())


def test_socks_4_has_no_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(_: Resolver, host: str) -> Resolution:
        return Resolution(("2001:500:8f::53",))

    monkeypatch.setattr(Resolver, "__call__", ask)

    async def work() -> None:
        with Proxy("socks4") as proxy:
            fetch = client(proxy=[proxy.url])
            got = await fetch(lease("http://six.example/"))
            assert (got.outcome, got.reason, proxy.connections) == (Outcome.UNREACHABLE, "proxy_refused", 0)
            await fetch.close()

    run(work())


@pytest.mark.parametrize("kind", ["http", "socks4a", "socks5h"])
def test_a_name_that_the_proxy_resolves_is_never_looked_up(kind: str, tls: ssl.SSLContext, monkeypatch: Any) -> None:
    async def ask(_: Resolver, host: str) -> Resolution:
        raise AssertionError(host)

    monkeypatch.setattr(Resolver, "__call__", ask)

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(kind, tls=tls, routes=here.routes) as proxy:
                fetch = client(proxy=[proxy.url])
                got = [await fetch(lease(url)) for url in here.urls]
                assert not any(isinstance(one, Failure) for one in got)
                await fetch.close()

    run(work())


def test_http3_does_not_go_past_a_proxy(tls: ssl.SSLContext) -> None:
    """No datagram reaches where the site is said to be."""

    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes) as proxy, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as decoy:
                decoy.bind((DECOY, here.secure.port))
                decoy.setblocking(False)
                fetch = here.client(proxy.url, http2=True, http3=True)
                assert (await fetch(lease(here.urls[1]))).protocol == "http/1.1"
                with pytest.raises(BlockingIOError):
                    decoy.recv(1)
                await fetch.close()

    run(work())


def test_the_name_of_a_proxy_may_be_pinned(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with place(tls) as here:
            with Proxy(routes=here.routes) as proxy:
                fetch = client(proxy=[f"http://way.test:{proxy.port}"], resolve=[f"way.test:{proxy.port}:127.0.0.1"])
                assert (await fetch(lease(here.urls[0]))).status == 200
                await fetch.close()

    run(work())
