"""What each option of `crawl` does, seen from the server's side and in the folder."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands.stranger import FINISHED, INTERRUPTED, NO_SEED, USAGE, Answer, Listener, Prompt, SiteServer, sites

from nephila.testing.certificates import Authority, server_side
from nephila.testing.proxies import Proxy

Serve = Callable[..., SiteServer]


def paths(site: SiteServer) -> list[str]:
    """What was asked for, robots.txt left out."""
    return sorted(hit.path for hit in site.hits() if hit.path != "/robots.txt")


# --- addresses -------------------------------------------------------------------------------------------------------


def test_a_thousand_addresses_from_a_file_and_from_standard_input(prompt: Prompt, serve: Serve) -> None:
    site = serve({f"/{i}": sites.page([], str(i)) for i in range(1000)})
    lines = "".join(f"{site.url(f'/{i}')}\n" for i in range(1000))
    (prompt.cwd / "list.txt").write_text(f"# my list\n\n{lines}")
    said = prompt.crawl_here("-i", "list.txt", "-o", "one", "--per-host", "16")
    assert said.code == FINISHED, said.text
    assert len(prompt.outcomes("one")) == 1000
    said = prompt.crawl("-i", "-", "-o", "two", "--per-host", "16", stdin=lines)
    assert said.code == FINISHED, said.text
    assert len(prompt.outcomes("two")) == 1000
    assert prompt.crawl_here("-o", "two").out.startswith("finished on")
    assert len(site.hits()) == 2002


def test_a_wrong_line_among_many_is_named(prompt: Prompt) -> None:
    (prompt.cwd / "list.txt").write_text("http://127.0.0.1:9/\ngopher://127.0.0.1/\n")
    said = prompt.crawl_here("-i", "list.txt", "-o", "job")
    assert said.code == USAGE
    assert "'gopher://127.0.0.1/' starts with gopher:" in said.err
    assert not (prompt.cwd / "job").exists()


def test_a_dry_run_stores_nothing(prompt: Prompt, serve: Serve) -> None:
    site = serve(
        {
            "/robots.txt": Answer(
                b"User-agent: *\nCrawl-delay: 2\nDisallow: /b\nSitemap: /s.xml\n", media_type="text/plain"
            ),
            "/": sites.page(["/a", "/b", "http://elsewhere.test/"], "start"),
        }
    )
    before = sorted(prompt.cwd.iterdir())
    said = prompt.crawl_here(site.url(), "--dry-run", "--max-pages", "7")
    assert said.code == FINISHED, said.text
    for words in (
        "max_pages = 7",
        "robots.txt: status 200, found",
        "Crawl-delay: 2 s",
        "/s.xml",
        "links: 3, the first 3:",
    ):
        assert words in said.out, said.text
    rules = {line.split()[-1]: line.split()[0] for line in said.out.splitlines() if line.startswith("    ")}
    assert rules == {
        site.url("/a"): "wanted",
        site.url("/b"): "robots_disallow",
        "http://elsewhere.test/": "scope.host",
    }
    assert sorted(prompt.cwd.iterdir()) == before
    assert paths(site) == ["/"]


def test_a_dry_run_of_a_seed_that_is_down(prompt: Prompt) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = prompt.crawl_here(f"http://127.0.0.1:{port}/", "--dry-run")
    assert said.code == FINISHED
    assert "connect.refused" in said.out


def test_retry_asks_again_for_what_ended_so(prompt: Prompt, serve: Serve) -> None:
    pages = {"/": sites.page(["/late", "/gone"], "start"), "/late": [Answer(b"", 404), Answer(sites.page([], "late"))]}
    site = serve(pages)
    assert prompt.crawl_here(site.url(), "-o", "job").code == FINISHED
    said = prompt.crawl_here("-o", "job", "--retry", "refused,unreachable")
    assert said.code == FINISHED, said.text
    assert "2 URLs that ended as REFUSED, UNREACHABLE are queued again" in said.err
    outcomes = prompt.outcomes("job")
    assert (outcomes[site.url("/late")], outcomes[site.url("/gone")]) == ("OK", "REFUSED")
    assert paths(site) == ["/", "/gone", "/gone", "/late", "/late"]
    said = prompt.crawl_here("-o", "job", "--retry", "TOO_LARGE")
    assert (said.code, len(site.hits())) == (FINISHED, 6), said.text


# --- what is wanted --------------------------------------------------------------------------------------------------


def test_include_exclude_and_depth(prompt: Prompt, serve: Serve) -> None:
    links = {"/": ["/a/1", "/b/1"], "/a/1": ["/a/2", "/b/2"], "/a/2": ["/a/3"], "/b/1": ["/b/3"]}
    every = [*links, "/a/3", "/b/2", "/b/3"]
    expected = {
        ("--include", "/a/"): ["/", "/a/1", "/a/2", "/a/3"],
        ("--exclude", "/a/"): ["/", "/b/1", "/b/3"],
        ("--include", "/a/", "--exclude", "3$"): ["/", "/a/1", "/a/2"],
        ("--max-depth", "1"): ["/", "/a/1", "/b/1"],
        ("--max-depth", "0"): ["/"],
    }
    for n, (options, wanted) in enumerate(expected.items()):
        site = serve({path: sites.page(links.get(path, []), path) for path in every})
        assert prompt.crawl_here(site.url(), "-o", f"job{n}", *options).code == FINISHED
        assert paths(site) == wanted, options


def test_types_keep_some_bodies_and_read_pages_all_the_same(prompt: Prompt, serve: Serve) -> None:
    pdf, image = (Answer(kind.encode(), media_type=kind) for kind in ("application/pdf", "image/png"))
    site = serve({"/": sites.page(["/paper", "/image"], "start"), "/paper": pdf, "/image": image})
    said = prompt.crawl_here(site.url(), "-o", "job", "--types", "application/pdf,text/css")
    assert said.code == FINISHED, said.text
    outcomes = {url.partition("//")[2].partition("/")[2]: outcome for url, outcome in prompt.outcomes("job").items()}
    assert (outcomes["paper"], outcomes["image"]) == ("OK", "SKIPPED")


def test_embeds_from_other_hosts_and_sitemaps(prompt: Prompt, serve: Serve) -> None:
    site = serve({}, hosts=2)
    here, there = (f"http://127.0.0.{n}:{site.port}" for n in (1, 2))
    sitemap = f"<urlset><url><loc>{here}/deep</loc></url></urlset>".encode()
    pages = {
        "/robots.txt": Answer(f"Sitemap: {here}/sitemap.xml\n".encode(), media_type="text/plain"),
        "/": sites.page([f"{there}/page"], "start", f'<img src="{there}/image.png">'),
        "/image.png": Answer(b"image", media_type="image/png"),
        "/page": sites.page([], "elsewhere"),
        "/sitemap.xml": Answer(sitemap, media_type="application/xml"),
        "/deep": sites.page([], "deep"),
    }
    expected = {
        (): {f"{here}/"},
        ("--embeds",): {f"{here}/", f"{there}/image.png"},
        ("--sitemaps",): {f"{here}/", f"{here}/sitemap.xml", f"{here}/deep"},
    }
    for n, (options, wanted) in enumerate(expected.items()):
        site.desk.site = sites.table(pages)  # type: ignore[arg-type]
        said = prompt.crawl_here(site.url(), "-o", f"job{n}", *options, "--allow-private")
        assert said.code == FINISHED, said.text
        assert {url for url, outcome in prompt.outcomes(f"job{n}").items() if outcome == "OK"} == wanted, options


SCOPES = {
    "host": {"http://www.sina.test.com.cn:PORT/"},
    "site": {"http://www.sina.test.com.cn:PORT/", "http://news.test.com.cn:PORT/"},
    "name": {"http://www.sina.test.com.cn:PORT/", "http://news.test.com.cn:PORT/", "http://test.net:PORT/"},
    "any": {
        "http://www.sina.test.com.cn:PORT/",
        "http://news.test.com.cn:PORT/",
        "http://test.net:PORT/",
        "http://other.org:PORT/",
    },
    "prefix": {"http://www.sina.test.com.cn:PORT/dir/", "http://www.sina.test.com.cn:PORT/dir/below"},
}


@pytest.mark.parametrize("scope", list(SCOPES))
def test_scopes_with_names_that_resolve_to_loopback(scope: str, prompt: Prompt, serve: Serve) -> None:
    site = serve({})
    names = ["www.sina.test.com.cn", "news.test.com.cn", "test.net", "other.org"]
    links = [f"http://{name}:{site.port}/" for name in names]
    pages = {"/": sites.page(links, "start"), "/dir/": sites.page([*links, "below", "/beside"], "dir")}
    site.desk.site = sites.table(pages | {"/dir/below": sites.page([], "b"), "/beside": sites.page([], "c")})  # type: ignore[arg-type]
    seed = links[0] + ("dir/" if scope == "prefix" else "")
    pins = [option for name in names for option in ("--resolve", f"{name}:{site.port}:127.0.0.1")]
    said = prompt.crawl_here(seed, "-o", "job", "--scope", scope, *pins)
    assert said.code == FINISHED, said.text
    assert set(prompt.outcomes("job")) == {url.replace("PORT", str(site.port)) for url in SCOPES[scope]}
    assert {hit.host for hit in site.hits()} == {url.split("/")[2] for url in prompt.outcomes("job")}
    warning = "--scope name took in 2 domains, which need not be one owner's: test.com.cn, test.net"
    assert (warning in said.err) == (scope == "name")


# --- the door --------------------------------------------------------------------------------------------------------


def test_headers_and_user_agents(prompt: Prompt) -> None:
    with Listener({"/": sites.page([], "start")}) as site:
        assert (
            prompt.crawl_here(site.url(), "-o", "a", "--header", "Accept-Language: zh", "--contact", "me@x.org").code
            == 0
        )
        assert prompt.crawl_here(site.url(), "-o", "b", "--user-agent", "Mine/1.0").code == FINISHED
    first, second = (one.headers for one in site.seen if one.target == "/")
    assert first["accept-language"] == "zh"
    assert first["user-agent"].startswith("nephila/")
    assert first["user-agent"].endswith("(+me@x.org)")
    assert second["user-agent"] == "Mine/1.0"


def test_a_proxy_gets_every_request(prompt: Prompt) -> None:
    with Listener({"http://far.test/": sites.page(["/a"], "start"), "http://far.test/a": sites.page([], "a")}) as proxy:
        said = prompt.crawl_here("http://far.test/", "-o", "job", "--proxy", proxy.url())
        assert said.code == FINISHED, said.text
    assert proxy.asked() == ["http://far.test/", "http://far.test/a"]
    assert proxy.seen[0].target == "http://far.test/robots.txt"


def test_a_proxy_that_is_down(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, nobody is blamed, and everything is still there for when it works."""
    monkeypatch.setenv("NEPHILA_OFFLINE_AFTER_S", "1")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = prompt.crawl_here("http://far.test/", "-o", "job", "--proxy", f"http://127.0.0.1:{port}")
    assert said.code == INTERRUPTED, said.text
    assert f"no proxy works: http://127.0.0.1:{port} proxy_unreachable" in said.out
    assert f"no proxy works (http://127.0.0.1:{port}: proxy_unreachable): waiting" in said.err
    with Listener({"/": sites.page([], "start")}) as site, Proxy() as proxy:
        proxy.routes["far.test:80"] = "127.0.0.1", site.port
        again = prompt.crawl_here("-o", "job", "--proxy", proxy.url)
    assert again.code == FINISHED, again.text
    assert prompt.outcomes("job") == {"http://far.test/": "OK"}


def test_cookies_are_sent_back_restarts_included(prompt: Prompt) -> None:
    def answer(target: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        more = {"Set-Cookie": "visitor=42; Path=/; Max-Age=3600"} if target == "/" else {}
        return (404 if target == "/robots.txt" else 200), more, sites.page(["/a", "/b"], target)

    with Listener(answer) as site:
        prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "2")
        prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "3")
    cookies = {one.target: one.headers.get("cookie", "") for one in site.seen if one.target != "/robots.txt"}
    assert cookies == {"/": "", "/a": "visitor=42", "/b": "visitor=42"}


def test_insecure_is_for_the_named_host_only(prompt: Prompt, tls: ssl.SSLContext) -> None:
    with Listener({"/": sites.page([], "start")}, tls=tls) as site:
        said = prompt.crawl_here(site.url(), "-o", "a")
        assert (said.code, "UNREACHABLE tls.self_signed" in said.out) == (NO_SEED, True), said.text
        assert site.asked() == []
        assert prompt.crawl_here(site.url(), "-o", "b", "--insecure", "other.test").code == NO_SEED
        said = prompt.crawl_here(site.url(), "-o", "c", "--insecure", "127.0.0.1")
        assert said.code == FINISHED
        assert "is read although its certificate does not hold (insecure.self_signed)" in said.text
        assert re.search(r"because +insecure.self_signed +1\b", said.out)
    assert site.asked() == ["/"]
    kept = prompt.rows("c", "SELECT DISTINCT outcome, reason FROM visit WHERE status = 200")
    assert kept == [("OK", "insecure.self_signed")]
    assert "insecure.self_signed" in prompt.here("status", "c").out
    metadata = b"".join(gzip.decompress(path.read_bytes()) for path in (prompt.cwd / "c" / "archive").iterdir()).decode(
        "latin-1"
    )
    named = re.findall(r"tlsCertificate: sha256:([0-9a-f]{64})(?: (\S+))?\r", metadata)
    assert [bool(whole) for _, whole in named] == [True, False], "robots.txt has it whole, the page names it"
    assert hashlib.sha256(base64.b64decode(named[0][1])).hexdigest() == named[0][0] == named[1][0]
    assert metadata.count("tlsFailed: tls.self_signed ") == metadata.count("tlsFailedAt: 20") == 2


def test_certificates_of_another_authority(prompt: Prompt, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with Listener({"/": sites.page([], "start")}, tls=server_side(authority.issue())) as site:
        said = prompt.crawl_here(site.url(), "-o", "a", "--ca", f"../{authority.file.name}")
        assert (said.code, "insecure" in said.text) == (FINISHED, False), said.text
        assert f'ca = "{prompt.cwd}/../{authority.file.name}"' in (prompt.cwd / "a" / "crawl.toml").read_text()
        for path, why in (("none.pem", "No such file"), ("a/crawl.toml", "no certificates in it")):
            said = prompt.crawl_here(site.url(), "-o", "b", "--ca", path)
            assert (said.code, f"{path} cannot be used ({why}" in said.err) == (USAGE, True), said.text
    assert site.asked() == ["/"]


def test_an_address_of_the_newer_family_is_a_seed_like_any_other(prompt: Prompt) -> None:
    """Its folder, its links, its robots.txt, and no permission for other addresses of this machine."""
    with Listener({"/": sites.page(["/a?b", "http://[::2]/"], "start"), "/a?b": b"a"}, address="::1") as site:
        seed = site.url(host="[::1]")
        said = prompt.crawl_here(seed, "--scope", "any")
        assert said.code == FINISHED, said.text
        folder = f"__1_{site.port}"
        assert prompt.outcomes(folder) == {seed: "OK", f"{seed}a?b": "OK", "http://[::2]/": "BLOCKED"}
        assert prompt.rows(folder, "SELECT DISTINCT ip FROM visit WHERE outcome = 'OK'") == [("::1",)]
        again = prompt.crawl_here(f"[::1]:{site.port}", "-o", "guessed")
        assert (again.code, prompt.outcomes("guessed")[seed]) == (FINISHED, "OK"), again.text
    assert {one.target for one in site.seen} >= {"/robots.txt", "/", "/a?b"}


def test_limit_rate(prompt: Prompt, serve: Serve) -> None:
    site = serve({"/big": Answer(bytes(600_000), media_type="application/octet-stream")})
    start = time.monotonic()
    assert prompt.crawl_here(site.url("/big"), "-o", "job", "--limit-rate", "400k").code == FINISHED
    assert time.monotonic() - start > 0.9


def test_mirror_is_written_at_the_end(prompt: Prompt, serve: Serve) -> None:
    site = serve({"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")})
    said = prompt.crawl_here(site.url(), "-o", "job", "--mirror")
    assert said.code == FINISHED, said.text
    assert (prompt.cwd / "job" / "views" / "mirror" / "index.html").exists()


def test_the_database_may_lie_elsewhere(prompt: Prompt, serve: Serve, tmp_path: Path) -> None:
    site = serve({"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")})
    place = str(tmp_path / "state")
    assert prompt.crawl_here(site.url(), "-o", "job", "--state-dir", place, "--max-pages", "1").code == 3
    assert (tmp_path / "state" / "crawl.db").exists()
    assert not (prompt.cwd / "job" / "crawl.db").exists()
    assert prompt.crawl_here("-o", "job", "--max-pages", "0").code == FINISHED
    assert "kept 2" in prompt.here("status", "job").out


# --- the guard -------------------------------------------------------------------------------------------------------


class Trap:
    """Listens and counts whoever connects."""

    def __init__(self) -> None:
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self.sock.accept()[0].close()
            except OSError:
                return
            self.connections += 1


@pytest.mark.parametrize("how", ["link", "redirect", "robots"])
def test_a_public_page_cannot_send_us_inside(how: str, prompt: Prompt, serve: Serve) -> None:
    trap = Trap()
    inside = f"http://127.0.0.1:{trap.port}/"
    pages: dict[str, Answer | bytes] = {"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")}
    if how == "link":
        pages["/a"] = sites.page([inside, f"http://localhost:{trap.port}/"], "a", f'<img src="{inside}x.png">')
    elif how == "redirect":
        pages["/a"] = sites.redirect(inside)
    else:
        pages["/robots.txt"] = sites.redirect(f"{inside}robots.txt")
    site = serve(pages)
    pin = f"public.test:{site.port}:127.0.0.1"
    said = prompt.crawl_here(f"http://public.test:{site.port}/", "-o", "job", "--scope", "any", "--resolve", pin)
    trap.sock.close()
    assert trap.connections == 0
    reasons = prompt.rows(
        "job", "SELECT DISTINCT outcome, reason FROM visit WHERE outcome IN ('BLOCKED', 'DENIED') ORDER BY 1"
    )
    denied = [("DENIED", "robots_unreachable")] if how == "robots" else []
    assert reasons == [("BLOCKED", "blocked.private_address"), *denied], said.text
    assert said.code == (NO_SEED if how == "robots" else FINISHED)
