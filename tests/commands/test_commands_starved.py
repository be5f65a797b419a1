"""A process that has too little of something: descriptors, or time that runs as it should."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest
from commands.stranger import FINISHED, Answer, Prompt, SiteServer, sites

PAGES = 150


def starve() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def test_kept_connections_of_many_hosts_leave_room(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve({}, hosts=100)
    hosts = [site.url("/", host=n) for n in range(1, 101)]
    site.desk.site = lambda host, path, n: Answer(sites.page(hosts, f"{host}{path}"), delay_s=0.02)
    said = prompt.crawl(site.url(), "-o", "job", "--scope", "any", "--allow-private", "--workers", "1", before=starve)
    assert said.code == FINISHED, said.text
    assert prompt.outcomes("job") == dict.fromkeys(hosts, "OK")


@pytest.mark.parametrize("workers", ["0", "1"])
def test_few_descriptors_cost_speed_and_no_url(workers: str, prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """64 descriptors for 100 connections at a time: no URL fails because of us."""
    pages: dict[str, Answer | bytes] = {"/": sites.page([f"/{i}" for i in range(PAGES)])}
    site = serve(pages | {f"/{i}": Answer(sites.page([], f"page {i}"), delay_s=0.1) for i in range(PAGES)})

    said = prompt.crawl(
        site.url(), "-o", "job", "--per-host", "100", "--connections", "100", "--workers", workers, before=starve
    )
    assert said.code == FINISHED, said.text
    assert "12 connections per worker are used" in said.err
    assert set(prompt.outcomes("job").values()) == {"OK"}
    assert len(prompt.outcomes("job")) == PAGES + 1
