"""Names, TLS and HTTP/2: what lies between the client and a site."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fetch.rawweb import Web, answer, client, lease, run

from nephila.fetch.dns import Resolver
from nephila.types import Outcome, Resolution, Response


def test_resolve_setting_takes_the_place_of_the_name_server() -> None:
    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(resolve=[f"shop.example:{web.port}:127.0.0.1"])
            got = await fetch(lease(web.url(host="shop.example")))
            assert (got.status, got.ip) == (200, "127.0.0.1")
            assert f"Host: shop.example:{web.port}".encode() in web.heads[0]
            await fetch.close()

    run(work())


def test_addresses_of_one_request_do_not_stay_for_the_next() -> None:
    async def work() -> None:
        async with Web(answer(b"1")) as web, Web(answer(b"2")) as other:
            fetch = client(
                allow_private=True, resolve=[f"a.example:{web.port}:127.0.0.1", f"b.example:{other.port}:127.0.0.1"]
            )
            urls = [
                web.url(host="a.example"),
                web.url(),
                other.url(host="b.example"),
                other.url(),
                web.url(host="a.example"),
            ]
            said = [(await fetch(lease(url))).payload.head(1) for url in urls]
            assert said == [b"1", b"1", b"2", b"2", b"1"]
            await fetch.close()

    run(work())


def resolves_to(monkeypatch: pytest.MonkeyPatch, found: Resolution, wait_s: float = 0.0) -> None:
    """Whatever is looked up has this answer."""

    async def answer(_: Resolver, host: str) -> Resolution:
        await asyncio.sleep(wait_s)
        return found

    monkeypatch.setattr(Resolver, "__call__", answer)


@pytest.mark.parametrize("reason", ["dns.not_found", "dns.temporary"])
def test_trouble_with_a_name(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, Resolution(reason=reason))

    async def work() -> None:
        fetch = client()
        got = await fetch(lease("http://nowhere.example/"))
        assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, reason)
        await fetch.close()

    run(work())


def test_silent_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, Resolution(("127.0.0.1",)), wait_s=5.0)

    async def work() -> None:
        fetch = client(dns_timeout_s=0.1)
        got = await fetch(lease("http://slow.example/"))
        assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "timeout.dns")
        await fetch.close()

    run(work())


def test_answer_of_the_name_server_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name that resolves into the private network (rebinding)."""
    resolves_to(monkeypatch, Resolution(("127.0.0.1",)))

    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client()
            got = await fetch(lease(web.url(host="rebind.example")))
            assert (got.outcome, got.reason, web.connections) == (Outcome.BLOCKED, "blocked.private_address", 0)
            await fetch.close()

    run(work())


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(web)
            assert (await fetch(lease(web.url()))).status == 200
            await fetch.close()

    run(work())


def test_passwords_of_the_environment_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password s3cr3t\ndefault login me password s3cr3t\n")
    (tmp_path / ".netrc").chmod(0o600)
    (tmp_path / ".curlrc").write_text('user = "me:s3cr3t"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))

    async def work() -> None:
        async with Web(answer()) as web:
            fetch = client(web)
            assert (await fetch(lease(web.url()))).status == 200
            assert b"authorization" not in web.heads[0].lower()
            await fetch.close()

    run(work())


def test_certificate_that_nobody_trusts(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with Web(answer(), tls=tls) as web:
            fetch = client(web)
            got = await fetch(lease(web.url()))
            assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "tls.self_signed")
            assert "self-signed" in got.detail
            assert web.heads == []
            await fetch.close()

    run(work())


def test_insecure_host(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with Web(answer(), tls=tls) as web:
            fetch = client(web, insecure=["127.0.0.1"], http2=False)
            first, second = [await fetch(lease(web.url())) for _ in range(2)]
            assert (first.status, first.tls[:7]) == (200, "TLSv1.3")
            assert (web.connections, len(web.heads)) == (2, 2), "one that fails, one for both requests"
            assert second.tls == first.tls
            assert 0 < first.timings.connect < first.timings.tls <= first.timings.sent
            await fetch.close()

    run(work())


def test_one_insecure_host_does_not_make_the_next_so(tls: ssl.SSLContext) -> None:
    async def work() -> None:
        async with Web(answer(), tls=tls) as web:
            fetch = client(insecure=["127.0.0.1"], allow_private=True)
            assert isinstance(await fetch(lease(web.url())), Response)
            assert (await fetch(lease(web.url(host="localhost")))).reason == "tls.self_signed"
            assert isinstance(await fetch(lease(web.url())), Response)
            await fetch.close()

    run(work())


def test_trusted_file_of_the_environment_and_a_wrong_name(
    tls: ssl.SSLContext, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))

    async def work() -> None:
        async with Web(answer(), tls=tls) as web:
            fetch = client(allow_private=True, resolve=[f"wrong.example:{web.port}:127.0.0.1"])
            assert (await fetch(lease(web.url(host="localhost")))).status == 200
            assert (await fetch(lease(web.url(host="wrong.example")))).reason == "tls.wrong_host"
            await fetch.close()

    run(work())


def test_plain_server_asked_for_tls() -> None:
    async def work() -> None:
        async with await asyncio.start_server(_plain, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            fetch = client(allow_private=True)
            got = await fetch(lease(f"https://127.0.0.1:{port}/"))
            assert (got.outcome, got.reason) == (Outcome.UNREACHABLE, "tls.plain")
            await fetch.close()

    run(work())


async def _plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@asynccontextmanager
async def nginx(folder: Path, certificate: tuple[Path, Path]) -> AsyncIterator[int]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("no nginx here, the HTTP/2 server of this test")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "web").mkdir()
    (folder / "web" / "a.html").write_bytes(b"<p>two</p>" * 5000)
    temp = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/err; events {{}}\n"
        f"http {{ access_log off; {temp} server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {certificate[0]};"
        f" ssl_certificate_key {certificate[1]}; root {folder}/web; }} }}\n"
    )
    server = await asyncio.create_subprocess_exec(
        program, "-p", str(folder), "-c", str(folder / "nginx.conf"), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            await asyncio.sleep(0.02)
        yield port
    finally:
        server.terminate()
        await server.wait()


def test_http2(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    async def work() -> None:
        async with nginx(tmp_path, certificate) as port:
            fetch = client(allow_private=True, insecure=["127.0.0.1"])
            url = f"https://127.0.0.1:{port}/a.html"
            got = await fetch(lease(url))
            assert (got.status, got.protocol, got.payload.head(99_999)) == (200, "h2", b"<p>two</p>" * 5000)
            assert got.head.startswith(b"HTTP/2 200")
            assert got.request_head.startswith(b"GET /a.html HTTP/2\r\n")
            many = await asyncio.gather(*(fetch(lease(url)) for _ in range(20)))
            assert {(one.protocol, one.payload.size, one.timings.connect) for one in many} == {("h2", 50_000, 0.0)}
            cut = client(allow_private=True, insecure=["127.0.0.1"], body_bytes_max=20_000)
            first, second = [await cut(lease(url)) for _ in range(2)]
            assert (first.truncated, first.body.size, second.body.size) == ("length", 20_000, 20_000)
            old = client(allow_private=True, insecure=["127.0.0.1"], http2=False)
            assert (await old(lease(url))).protocol == "http/1.1"
            for each in (fetch, cut, old):
                await each.close()

    run(work(), 20)
