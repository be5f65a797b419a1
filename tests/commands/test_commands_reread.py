"""A rule is lifted, and what it refused was only counted: kept pages are read again, and no request is sent for them."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from commands.stranger import FINISHED, Listener, Prompt, SiteServer, sites, until
from commands.test_commands_members import BASIC, PASSWORD

from nephila.testing.faults import VARIABLE
from nephila.testing.sites import Answer

PAGES, STORED = 40, 3
FEW = f"refused_max = {STORED}\nworkers = 0"


def site(pages: int = PAGES, each: int = 1, delay_s: float = 0.0) -> dict[str, Answer | bytes | list[Answer]]:
    """A chain of pages, each with `each` links of its own to /x/…, and one of them by a redirect."""
    found = dict[str, Answer | bytes | list[Answer]]()
    for n in range(pages):
        links = [f"/{n + 1}"] if n + 1 < pages else ["/go"]
        path = "/" if n == 0 else f"/{n}"
        found[path] = Answer(sites.page([*links, *(f"/x/{n}.{i}" for i in range(each))], path), delay_s=delay_s)
        found |= {f"/x/{n}.{i}": sites.page([], "x") for i in range(each)}
    return found | {"/go": sites.redirect("/x/moved"), "/x/moved": sites.page([], "moved")}


def counted(prompt: Prompt) -> tuple[int, int, int]:
    """Refused rows, addresses that are only counted, and the rule's own number."""
    ((rows,),) = prompt.rows("job", "SELECT count(*) FROM url WHERE state = 'refused'")
    ((beyond,),) = prompt.rows("job", "SELECT coalesce(sum(count), 0) FROM rule_host")
    ((total,),) = prompt.rows("job", "SELECT coalesce(sum(count), 0) FROM rule")
    return rows, beyond, total


def reread(prompt: Prompt) -> dict[str, object]:
    (line,) = [line for line in (prompt.cwd / "job/log.jsonl").read_text().splitlines() if '"archive.reread"' in line]
    return dict(json.loads(line))


def everything_once(prompt: Prompt, server: SiteServer, each: int = 1, in_doubt_max: int = 0) -> None:
    """`in_doubt_max`: requests that a kill has cut off, and that were sent again."""
    asked = Counter(hit.path for hit in server.hits() if "robots" not in hit.path)
    assert max(n for path, n in asked.items() if not path.startswith("/x/")) == 1, "a kept page was asked for again"
    assert sum(n - 1 for n in asked.values()) <= in_doubt_max
    query = "SELECT v.outcome, count(*) FROM visit v JOIN url u ON u.id = v.url WHERE kind NOT IN ('robots', 'probe')"
    assert dict(prompt.rows("job", f"{query} GROUP BY 1")) == {"OK": PAGES * (1 + each) + 1, "MOVED": 1}
    assert counted(prompt) == (0, 0, 0)
    assert prompt.rows("job", "SELECT value FROM meta WHERE key = 'rereading'") == [("",)]


def test_at_a_resume(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    server = serve(site())
    assert prompt.crawl(server.url(), "-o", "job", "--exclude", "/x/", config=FEW).code == FINISHED
    assert counted(prompt) == (STORED, PAGES + 1 - STORED, PAGES + 1)
    said = prompt.crawl("-o", "job", "--exclude", "/never/", config=FEW)
    assert said.code == FINISHED, said.text
    assert f"{STORED} refused URLs are queued now" in said.err
    assert f"{PAGES + 1 - STORED} more refused URLs were only counted: kept pages are read again" in said.err
    told = reread(prompt)
    assert (told["count"], told["back"]) == (PAGES + 1, PAGES + 1 - STORED)
    assert str(told["text"]) in said.err
    everything_once(prompt, server)


def test_a_rule_that_stays_is_nothing_to_read_for(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """And what is still refused after a reading is counted as before."""
    server = serve(site())
    prompt.crawl(server.url(), "-o", "job", "--exclude", "/x/", config=FEW)
    before = counted(prompt)
    said = prompt.crawl("-o", "job", "--scope", "any", config=FEW)
    assert (said.code, "counted" in said.err, counted(prompt)) == (FINISHED, False, before)
    said = prompt.crawl("-o", "job", "--exclude", "/x/[0-9]", config=FEW)
    assert (said.code, reread(prompt)["back"]) == (FINISHED, 1), said.text
    assert counted(prompt) == (STORED, PAGES - STORED, PAGES)


def test_while_it_runs(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    server = serve(site(delay_s=0.05))
    with prompt.start_crawl(server.url(), "-o", "job", "--exclude", "/x/", config=FEW) as crawl:
        until(lambda: len(server.hits()) >= 12, "some pages")
        said = prompt.here("set", "job", "exclude-=/x/")
        assert f"{STORED} refused URLs are queued now" in said.out
        assert "more refused URLs were only counted: kept pages are read again for them" in said.out
        ended = crawl.wait()
    assert ended.code == FINISHED, ended.text
    assert int(str(reread(prompt)["back"])) >= 5
    everything_once(prompt, server)


@pytest.mark.parametrize(
    "step",
    [
        "reread.after:1",
        *(
            pytest.param(step, marks=pytest.mark.long)
            for step in ("reread.before:1", "reread.before:2", "reread.after:2")
        ),
    ],
)
def test_killed_in_the_middle(step: str, prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    each = 25
    server = serve(site(each=each))
    few = FEW + "\nper_host = 8"
    prompt.crawl(server.url(), "-o", "job", "--exclude", "/x/", config=few)
    program = {"program": (sys.executable, "-m", "nephila.testing.crawl")}
    words = ("-o", "job", "--exclude", "/never/")
    killed = prompt.crawl(*words, config=few, env={VARIABLE: f"at:{step}"}, **program)
    assert killed.code == -signal.SIGKILL, killed.text
    assert json.loads(prompt.rows("job", "SELECT value FROM meta WHERE key = 'rereading'")[0][0])["until"] == PAGES + 2
    said = prompt.crawl("-o", "job", config=few)
    assert said.code == FINISHED, said.text
    everything_once(prompt, server, each, in_doubt_max=500)


def test_pages_of_members(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen with a password is read again with it: as a page that the crawl has seen."""
    monkeypatch.setenv("PW", PASSWORD)

    def answer(target: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if target == "/robots.txt":
            return 404, {}, b""
        if headers.get("authorization") != BASIC:
            return 401, {"WWW-Authenticate": 'Basic realm="members"'}, b"members only"
        return 200, {}, sites.page([f"/x/{n}" for n in range(7)] if target == "/" else [], target)

    with Listener(answer) as server:
        auth = ["--auth", f"{server.url().removesuffix('/')}=basic:me:env:PW"]
        prompt.crawl_here(server.url(), "-o", "job", "--exclude", "/x/", *auth, config=FEW)
        assert counted(prompt) == (STORED, 7 - STORED, 7)
        said = prompt.crawl("-o", "job", "--exclude", "/never/", *auth, config=FEW, env={"PW": PASSWORD})
        assert said.code == FINISHED, said.text
        assert {seen.target for seen in server.seen} >= {f"/x/{n}" for n in range(7)}
        assert [seen.target for seen in server.seen].count("/") == 1
    assert (counted(prompt), reread(prompt)["back"]) == ((0, 0, 0), 7 - STORED)


@pytest.mark.long
def test_a_page_that_kills_its_reader_is_left_out(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    slow = sites.slow_to_read()("", "/tangle", 1).body + b'<a href="/x/slow">'
    server = serve(site() | {"/39": sites.page(["/slow", "/x/39.0"], "/39"), "/slow": slow})
    assert prompt.crawl(server.url(), "-o", "job", "--exclude", "/x/", config=FEW).code == FINISHED
    quick = FEW + "\nread_seconds_max = 0.7"
    said = prompt.crawl("-o", "job", "--exclude", "/never/", config=quick)
    assert said.code == FINISHED, said.text
    told = reread(prompt)
    assert (told["count"], told["back"]) == (PAGES, PAGES - STORED), told
    assert "1 more could not be read" in str(told["text"])
