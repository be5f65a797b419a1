"""Another start with other options: what may change changes, its effect is said in numbers, what may not is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from commands.stranger import FINISHED, LIMIT, USAGE, Answer, Prompt, SiteServer, sites, until

LINKS = {
    "/": ["/a/1", "/a/2", "/b/1", "/b/2", "/private/1"],
    "/a/1": ["/a/3", "/deep/1"],
    "/deep/1": ["/deep/2"],
}
EVERY = ["/", "/a/1", "/a/2", "/a/3", "/b/1", "/b/2", "/deep/1", "/deep/2", "/private/1"]
ROBOTS = Answer(b"User-agent: *\nDisallow: /private\n", media_type="text/plain")


@pytest.fixture
def site(serve: Callable[..., SiteServer]) -> SiteServer:
    pages: dict[str, Answer | bytes] = {path: sites.page(LINKS.get(path, []), path) for path in EVERY}
    return serve(pages | {"/robots.txt": ROBOTS})


def kept(prompt: Prompt, site: SiteServer) -> list[str]:
    return sorted(url.removeprefix(site.url("")) for url, outcome in prompt.outcomes("job").items() if outcome == "OK")


def test_an_exclude_that_came_later_and_went_again(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "1").code == LIMIT
    said = prompt.crawl_here("-o", "job", "--exclude", "/b/", "--max-pages", "0")
    assert said.code == FINISHED, said.text
    assert "the rules changed: 0 refused URLs are queued now, 2 queued ones are refused now" in said.err
    assert kept(prompt, site) == ["/", "/a/1", "/a/2", "/a/3", "/deep/1", "/deep/2"]
    (prompt.cwd / "wide.toml").write_text("exclude = []\ndelay = 0\nworkers = 0\nmin_free = 0\n")
    said = prompt.here("crawl", "-o", "job", "--config", "wide.toml")
    assert said.code == FINISHED, said.text
    assert "2 refused URLs are queued now, 0 queued ones are refused now" in said.err
    assert kept(prompt, site) == EVERY[:-1]
    assert len(site.hits()) == len({hit.path for hit in site.hits()}) == 9


def test_a_wider_scope(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve({}, hosts=2)
    there = site.url("/x", host=2)
    site.desk.site = sites.table({"/": sites.page([there], "start"), "/x": sites.page([], "x")})
    assert prompt.crawl_here(site.url(), "-o", "job").code == FINISHED
    said = prompt.crawl_here("-o", "job", "--scope", "any", "--allow-private")
    assert said.code == FINISHED, said.text
    assert "1 refused URLs are queued now, 0 queued ones are refused now" in said.err
    assert prompt.outcomes("job") == {site.url(): "OK", there: "OK"}


def test_depth_in_both_directions(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-depth", "1").code == FINISHED
    assert kept(prompt, site) == ["/", "/a/1", "/a/2", "/b/1", "/b/2"]
    said = prompt.crawl_here("-o", "job", "--max-depth", "2")
    assert said.code == FINISHED, said.text
    assert "max_depth changed: 2 URLs are near enough now, 0 queued ones are too deep now" in said.err
    assert kept(prompt, site) == ["/", "/a/1", "/a/2", "/a/3", "/b/1", "/b/2", "/deep/1"]
    said = prompt.crawl_here("-o", "job", "--max-depth", "-1")
    assert "max_depth changed: 1 URLs are near enough now" in said.err, said.text
    assert kept(prompt, site) == EVERY[:-1]


def test_a_smaller_depth_takes_urls_out_of_the_queue(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "2").code == LIMIT
    said = prompt.crawl_here("-o", "job", "--max-depth", "1", "--max-pages", "0")
    assert said.code == FINISHED, said.text
    assert "0 URLs are near enough now, 2 queued ones are too deep now" in said.err
    assert kept(prompt, site) == ["/", "/a/1", "/a/2", "/b/1", "/b/2"]


def test_no_robots_asks_for_what_was_denied(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job").code == FINISHED
    assert prompt.outcomes("job")[site.url("/private/1")] == "DENIED"
    said = prompt.crawl_here("-o", "job", "--no-robots")
    assert said.code == FINISHED, said.text
    assert "1 URLs that ended as DENIED are queued again" in said.err
    assert kept(prompt, site) == EVERY


def test_robots_again_for_what_is_queued(prompt: Prompt, site: SiteServer) -> None:
    """A crawl that ignored robots.txt obeys it from now on."""
    assert prompt.crawl_here(site.url(), "-o", "job", "--no-robots", "--max-pages", "1").code == LIMIT
    assert [hit.path for hit in site.hits()] == ["/"]
    said = prompt.crawl_here("-o", "job", "--robots", "--max-pages", "0")
    assert said.code == FINISHED, said.text
    assert prompt.outcomes("job")[site.url("/private/1")] == "DENIED"


def test_a_robots_file_under_way_when_robots_are_given_up(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """Stopped before robots.txt came, carried on without it: the crawl ends all the same."""
    robots = [Answer(b"", delay_s=20), Answer(b"")]
    site = serve({"/robots.txt": robots, "/": sites.page([], "start")})
    with prompt.start_crawl(site.url(), "-o", "job", config="drain_s = 0") as crawl:
        until(site.hits, "robots.txt is asked for")
        crawl.signal(2)
        assert crawl.wait().code == 4
    said = prompt.crawl("-o", "job", "--no-robots")
    assert said.code == FINISHED, said.text
    assert prompt.outcomes("job") == {site.url(): "OK"}


def test_the_order_may_change(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "2").code == LIMIT
    said = prompt.crawl_here("-o", "job", "--order", "dfs", "--max-pages", "0")
    assert said.code == FINISHED, said.text
    asked = [hit.path for hit in site.hits() if hit.path != "/robots.txt"]
    assert asked[:2] == ["/", "/a/1"]
    assert asked[2:5] == ["/deep/1", "/deep/2", "/a/3"]
    assert kept(prompt, site) == EVERY[:-1]
    ((sql,),) = prompt.rows("job", "SELECT sql FROM sqlite_master WHERE name = 'url_queue'")
    assert "DESC" in str(sql) or "-" in str(sql), sql


def test_what_is_fixed_is_refused(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "1").code == LIMIT
    said = prompt.crawl_here("-o", "job", "--seen", "hash")
    assert said.code == USAGE
    assert "cannot be changed in a started crawl: seen (was 'keytree', now 'hash')" in said.err
    said = prompt.crawl_here("-o", "job", "--state-dir", "elsewhere")
    assert said.code == USAGE
    assert "cannot be changed in a started crawl: state_dir (was '', now 'elsewhere')" in said.err
    assert not (prompt.cwd / "elsewhere").exists()


def test_what_is_free_changes_without_a_word(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "1").code == LIMIT
    said = prompt.crawl_here(
        "-o", "job", "--max-pages", "0", "--per-host", "4", "--user-agent", "x/1", "--workers", "2"
    )
    assert said.code == FINISHED, said.text
    assert "rules changed" not in said.err
    assert kept(prompt, site) == EVERY[:-1]
    log = (prompt.cwd / "job" / "log.jsonl").read_text()
    changed = {key for key in ("max_pages", "per_host", "user_agent", "workers") if f'"key":"{key}"' in log}
    assert changed == {"max_pages", "per_host", "user_agent", "workers"}


def test_a_trap_that_is_switched_off_gives_back_what_it_refused(
    prompt: Prompt, serve: Callable[..., SiteServer]
) -> None:
    """`/a/` links to itself without end; without the trap, the depth limit is what stops it."""
    site = serve({})
    site.desk.site = lambda host, path, n: Answer(sites.page(["a/"], path) + path.encode())
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-depth", "6").code == FINISHED
    assert kept(prompt, site) == ["/", "/a/", "/a/a/"]
    said = prompt.here("status", "job")
    assert f"trap: repeated_segment refused 1, such as {site.url('/a/a/a/')}" in said.out
    said = prompt.crawl_here("-o", "job", "--traps", "no-repeated_segment")
    assert said.code == FINISHED, said.text
    assert "the rules changed: 1 refused URLs are queued now, 0 queued ones are refused now" in said.err
    assert kept(prompt, site) == ["/" + "a/" * n for n in range(7)]
    assert "trap:" not in prompt.here("status", "job").out


def test_a_trap_that_is_no_trap_is_named(prompt: Prompt) -> None:
    said = prompt.crawl_here("http://127.0.0.1/", "-o", "job", "--traps", "calender")
    assert said.code == USAGE
    assert "traps: 'calender' is not on, off, or one of" in said.err


def test_two_copies_of_one_folder_end_alike(prompt: Prompt, site: SiteServer) -> None:
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "4").code == LIMIT
    shutil.copytree(prompt.cwd / "job", prompt.cwd / "copy")
    for folder in ("job", "copy"):
        said = prompt.crawl_here("-o", folder, "--max-pages", "0")
        assert said.code == FINISHED, said.text
    assert prompt.outcomes("job") == prompt.outcomes("copy")
    assert len(prompt.outcomes("copy")) == len(EVERY)
