"""`nephila explain` from the prompt, on crawls over real sockets: the archive, credentials, the guard, and the options it tells."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from commands.stranger import FINISHED, LIMIT, USAGE, Prompt, sites, until
from commands.test_commands_members import PASSWORD, guarded

from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer


@pytest.fixture
def site(serve: Any) -> SiteServer:
    pages: dict[str, Any] = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", media_type="text/plain"),
        "/": sites.page(["/a", "/paper.pdf", "/private", "/admin/logout", "/log-off"], "start"),
        "/a": sites.page(["b"], "a", '<a href="./b#part">the <b>second</b> one</a>'),
        "/b": sites.page(["/c"], "b"),
        "/c": sites.page([], "c"),
        "/paper.pdf": Answer(b"%PDF", media_type="application/pdf"),
    }
    return serve(pages | dict.fromkeys(("/private", "/admin/logout", "/log-off"), sites.page([], "x")), hosts=2)  # type: ignore[no-any-return]


def ask(prompt: Prompt, *args: str) -> dict[str, Any]:
    said = prompt.here("explain", "job", *args, "--json")
    assert said.code == 0, said.text
    answer: dict[str, Any] = json.loads(said.out)
    return answer


def step(answer: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (step for step in answer["steps"] if step["name"] == name)
    return found  # type: ignore[no-any-return]


def test_a_page_its_record_and_the_text_of_its_links(site: SiteServer, prompt: Prompt) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--exclude", "log.?o").code == FINISHED
    answer = ask(prompt, site.url("/b"))
    (linked,) = step(answer, "links")["facts"]["pages"]
    assert (linked["url"], linked["href"], linked["text"]) == (site.url("/a"), "b", "b")
    record = step(answer, "archive")["facts"]
    ((length,),) = prompt.rows("job", f"SELECT length FROM visit WHERE offset = {record['offset']} AND file > 0")
    assert record["length"] == length
    assert step(answer, "path")["facts"]["urls"] == [site.url(), site.url("/a"), site.url("/b")]
    shown = prompt.here("explain", "job", site.url("/private")).out
    assert shown.startswith(f"It is not there, because the robots.txt of {site.url().rstrip('/')} forbids it (line 2")
    assert "would be fetched with --no-robots" in shown
    refused = prompt.here("explain", "job", "--refused").out
    assert (
        f"2  exclude:log.?o\n            the pattern log.?o of exclude is found in the address\n              {site.url()}"
        in refused
    )


def test_what_is_wrong_is_said(site: SiteServer, prompt: Prompt) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "1").code == LIMIT
    for args, said in [
        ((), "give an address"),
        ((site.url(), "--refused"), "give an address"),
        ((site.url(), "--set", "max_depth"), "--set max_depth: KEY=VALUE is expected"),
        ((site.url(), "--set", "max_deth=4"), "did you mean max_depth?"),
        ((site.url(), "--set", "max_depth=deep"), "a whole number is expected"),
        ((site.url(), "--set", "scope=moon"), "scope"),
        ((site.url(), "--set", f"login={site.url()}=me:{PASSWORD}"), "--set login: a secret changes no rule"),
    ]:
        found = prompt.here("explain", "job", *args)
        assert (found.code, said in found.err, PASSWORD in found.text) == (USAGE, True, False), found.text
    assert prompt.here("explain", "nowhere", site.url()).code == USAGE


@pytest.mark.parametrize("key", ["max_depth=4", "max-depth=4"])
def test_what_if(site: SiteServer, prompt: Prompt, key: str) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-depth", "1").code == FINISHED
    answer = ask(prompt, site.url("/b"), "--set", key)
    assert (answer["verdict"], answer["would"][0]["set"], answer["would"][0]["fetched"]) == (
        "too_deep",
        {"max_depth": 4},
        True,
    )
    answer = ask(prompt, site.url("/b"), "--set", key, "--set", "exclude=/x", "--set", "exclude=/b")
    assert answer["would"][0]["sentence"] == (
        "with --max-depth 4 --exclude /x --exclude /b it would still not be fetched, because the pattern /b of exclude is found in"
        " the address"
    )
    answer = ask(prompt, site.url("/b"), "--set", "user_agent=x")
    assert "still not be fetched" in answer["would"][0]["sentence"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "path", "told"),
    [
        (["--max-depth", "1"], "/b", "--max-depth 2"),
        (["--types", "image/*"], "/paper.pdf", "--types 'image/*' --types application/pdf --retry SKIPPED"),
        ([], "/private", "--no-robots"),
        (["--exclude", "/a$", "--exclude", "x y"], "/a", "--exclude 'x y'"),
        (["--include", "/(a|private)$"], "/paper.pdf", "--include ''"),
        (["--max-pages", "1"], "/a", "--max-pages 0"),
    ],
)
def test_the_options_that_are_told_do_it(
    options: list[str], path: str, told: str, site: SiteServer, prompt: Prompt
) -> None:
    """As they are written, after the command that carries on."""
    prompt.crawl_here(site.url(), "-o", "job", *options)
    assert not [hit for hit in site.hits() if hit.path == path and hit.status == 200 and path != "/paper.pdf"]
    would = ask(prompt, site.url(path))["would"]
    assert told in [one["options"] for one in would]
    assert prompt.crawl_here("-o", "job", *shlex.split(told)).code == FINISHED
    assert ask(prompt, site.url(path))["verdict"] == "kept"


@pytest.mark.long
def test_private_addresses(site: SiteServer, prompt: Prompt, serve: Any) -> None:
    inside = site.url("/c", host=2)
    start = serve({"/": sites.page([inside], "start")})
    assert prompt.crawl_here(start.url(), "-o", "job", "--scope", "any").code == FINISHED
    answer = ask(prompt, inside)
    assert (answer["rule"], "inside a private network (127.0.0.2)" in answer["sentence"]) == (
        "blocked.private_address",
        True,
    )
    (told,) = (one["options"] for one in answer["would"])
    assert told == "--allow-private --retry BLOCKED"
    assert prompt.crawl_here("-o", "job", *shlex.split(told)).code == FINISHED
    assert ask(prompt, inside)["verdict"] == "kept"


def test_members_pages_are_shown_to_who_names_the_credential(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", PASSWORD)
    with guarded(["/more"]) as members:
        auth = ["--auth", f"{members.url().removesuffix('/')}=basic:me:env:PW"]
        assert prompt.crawl_here(members.url(), "-o", "job", *auth).code == FINISHED
    page, name = members.url("/more"), f"basic@127.0.0.1:{members.port}"
    answer = ask(prompt, page)
    assert (answer["verdict"], [one["name"] for one in answer["steps"]], answer["would"]) == ("hidden", ["address"], [])
    assert name in answer["sentence"]
    answer = ask(prompt, page, "--with", name)
    assert (answer["verdict"], step(answer, "outcome")["facts"]["access"]) == ("kept", name)
    assert step(ask(prompt, members.url("/never")), "links")["facts"]["pages"] == []
    assert PASSWORD not in json.dumps(answer)
    secret = f"http://me:{PASSWORD}@127.0.0.1:{members.port}/more"
    assert PASSWORD not in json.dumps(ask(prompt, secret, "--with", name))


def test_logging_out_and_what_was_taken_down(site: SiteServer, prompt: Prompt) -> None:
    (prompt.cwd / "cookies.txt").write_text(
        "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tsession\ts3cret\n"
    )
    assert prompt.crawl_here(site.url(), "-o", "job", "--cookies", "cookies.txt").code == FINISHED
    answer = ask(prompt, site.url("/admin/logout"), "--with", "cookies")
    assert answer["rule"] == "logout"
    assert [one["options"] for one in answer["would"]] == ["--follow-logout"]
    never = ask(prompt, site.url("/other/logout"), "--with", "cookies")
    assert (never["verdict"], never["rule"]) == ("unseen", "logout")
    assert prompt.here("forget", "job", site.url("/c")).code == 0
    answer = ask(prompt, site.url("/c"), "--with", "cookies")
    assert (answer["verdict"], answer["rule"]) == ("failed", "forgotten")
    assert "it was taken down" in answer["sentence"]
    assert "s3cret" not in json.dumps(answer)


@pytest.mark.long
def test_while_it_runs_paused_and_killed(serve: Any, prompt: Prompt) -> None:
    """The same address waits for its turn, for a resume, and for the same command. Nothing is locked by asking."""
    pages = {"/": sites.page([f"/{n}" for n in range(200)], "start")}
    slow: SiteServer = serve(pages | {f"/{n}": sites.page([], "x") for n in range(200)}, delay_s=0.05)
    with prompt.start_crawl(slow.url(), "-o", "job", "--connections", "1", "--workers", "1") as running:
        until(lambda: len(slow.hits()) > 10, "ten requests")
        answer = ask(prompt, slow.url("/199"))
        assert (answer["verdict"], answer["sentence"]) == ("waiting", "It is not there yet: it waits for its turn.")
        assert step(answer, "queue")["facts"]["ahead"] > 50
        assert prompt.here("pause", "job").code == 0
        until(lambda: "the crawl is paused" in ask(prompt, slow.url("/199"))["sentence"], "the pause in the database")
        assert prompt.here("resume", "job").code == 0
        until(lambda: "its turn" in ask(prompt, slow.url("/199"))["sentence"], "the resume in the database")
        running.kill()
    assert "the crawl was stopped while it waited" in ask(prompt, slow.url("/199"))["sentence"]
    assert prompt.crawl_here("-o", "job").code == FINISHED
    assert ask(prompt, slow.url("/199"))["verdict"] == "kept"
