"""Addresses and settings that cannot work: one clear line, exit code 2, no folder made; seeds that fail say how."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from commands.stranger import FINISHED, NO_SEED, USAGE, Answer, Listener, Prompt, SiteServer, sites

from nephila import cli


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["http://example.com/a b"], "contains a space"),
        (["gopher://example.com/"], "only http://, https:// and ftp:// are crawled"),
        (["http://"], "has no host"),
        (["http://example.com:99999/"], "a port is a number from 1 to 65535"),
        (["http://example.com/", "--include", "(a"], "include: '(a' is not a regular expression"),
        (["http://example.com/", "--exclude", "[z-a]"], "exclude"),
        (["http://example.com/", "--scope", "hots"], "did you mean host?"),
        (["http://example.com/", "--max-page", "3"], "did you mean --max-pages?"),
        (["http://example.com/", "--retry", "REFUSE"], "did you mean REFUSED?"),
        (["-i", "nowhere.txt"], "nowhere.txt cannot be read"),
        (["-o", "nowhere"], "holds no crawl to carry on"),
        ([], "give an address to start from"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["crawl", *args]) == USAGE
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_does_not_exist_is_named_with_its_place(prompt: Prompt) -> None:
    (prompt.cwd / "my.toml").write_text("delay = 0\n\nmax_page = 3\n")
    said = prompt.run("crawl", "http://127.0.0.1:9/", "--config", "my.toml")
    assert said.code == USAGE
    assert said.err == "nephila: my.toml:3: max_page is not a key of Nephila; did you mean max_pages?\n"


def test_a_seed_where_nobody_listens(prompt: Prompt) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = prompt.crawl_here(f"http://127.0.0.1:{port}/", "-o", "job")
    assert said.code == NO_SEED, said.text
    assert "no seed could be fetched" in said.out
    assert f"http://127.0.0.1:{port}/ UNREACHABLE connect.refused" in said.out


def test_seeds_that_answer_no(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """Not found, elsewhere by redirect, disallowed by robots.txt, a robots.txt that is never there: each says so."""
    there = {"/robots.txt": Answer(b"", 404), "/": sites.page([], "elsewhere")}
    elsewhere = serve(there)
    site = serve(
        {
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", media_type="text/plain"),
            "/moved": sites.redirect(f"http://127.0.0.2:{elsewhere.port}/"),
        }
    )
    silent = serve("robots503")
    crawls = {
        f"{site.url('/gone')} REFUSED status.404": [site.url("/gone")],
        f"{site.url('/private')} DENIED robots_disallow": [site.url("/private")],
        f"{silent.url()} DENIED robots_unreachable": [silent.url()],
        "which is outside the scope (see --scope)": [site.url("/moved")],
    }
    for n, (sentence, args) in enumerate(crawls.items()):
        said = prompt.crawl_here(*args, "-o", f"job{n}", config="host_refusals_max = 50")
        assert said.code == NO_SEED, said.text
        assert sentence in said.out + said.err, said.text
    assert f"MOVED http://127.0.0.2:{elsewhere.port}/" in said.out
    assert elsewhere.hits() == []


def test_a_seed_that_is_no_page_is_kept(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    pdf = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
    site = serve({"/paper.pdf": Answer(pdf, media_type="application/pdf")})
    said = prompt.crawl_here(site.url("/paper.pdf"))
    assert said.code == FINISHED, said.text
    folder = f"127.0.0.1_{site.port}"
    assert prompt.outcomes(folder) == {site.url("/paper.pdf"): "OK"}
    assert prompt.rows(folder, "SELECT media_type, bytes FROM visit WHERE status = 200") == [
        ("application/pdf", len(pdf))
    ]


def test_an_address_without_scheme_falls_back_to_http(prompt: Prompt) -> None:
    with Listener({"/": sites.page([], "plain")}) as site:
        said = prompt.crawl_here(f"127.0.0.1:{site.port}/", "-o", "job")
    assert said.code == FINISHED, said.text
    assert "trying http" in said.err
    assert prompt.outcomes("job")[site.url()] == "OK"
