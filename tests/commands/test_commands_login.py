"""Logging in by a form: done once, done again when the session ends, given up in time, and nothing of it on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands.members_site import GBK_PASSWORD, GBK_USER, PASSWORD, USER, MemberSite
from commands.stranger import FINISHED, INTERRUPTED, LIMIT, USAGE, Prompt, Running, until
from commands.test_commands_secrets import everything

from nephila import control


def outcomes(prompt: Prompt, site: MemberSite) -> dict[str, str]:
    """Path → outcome and reason."""
    rows = prompt.rows(
        "job",
        "SELECT u.url, v.outcome || ' ' || v.reason FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots'",
    )
    assert len(dict(rows)) == len(rows), "two outcomes of one URL"
    return {url.removeprefix(site.url("")): text.strip() for url, text in rows}


def events(prompt: Prompt, name: str) -> list[dict[str, object]]:
    lines = (prompt.cwd / "job" / "log.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def all_pages(site: MemberSite) -> dict[str, str]:
    return dict.fromkeys(("/", "/about", *(f"/{n}" for n in range(site.pages))), "OK")


@pytest.mark.parametrize(("turns_away", "after"), [("redirect", 302), ("401", 303), ("form", 302)])
def test_a_login_comes_first_and_once(turns_away: str, after: int, prompt: Prompt) -> None:
    with MemberSite(turns_away=turns_away, after=after) as site:
        said = prompt.crawl_here(site.url(), "-o", "job", "--login", site.login(), "--per-host", "4")
        assert said.code == FINISHED, said.text
    assert outcomes(prompt, site) == all_pages(site)
    assert site.targets()[:2] == ["/login", "/home"]
    assert site.logins == len(events(prompt, "login.ok")) == 1
    (post,) = [ask for ask in site.asks if ask.method == "POST"]
    assert (post.headers["origin"], post.headers["content-type"]) == (site.url(""), "application/x-www-form-urlencoded")
    assert "/logout?now=1" not in site.targets()
    assert prompt.rows("job", "SELECT text, count FROM rule WHERE text = 'logout'") == [("logout", 1)]


@pytest.mark.parametrize(("workers", "turns_away"), [("0", "redirect"), ("0", "401"), ("0", "form"), ("2", "redirect")])
def test_a_session_that_ends_is_begun_again(workers: str, turns_away: str, prompt: Prompt) -> None:
    """Every page is kept once and well, whoever was under way when it ended; one logs in at a time."""
    with MemberSite(60, turns_away=turns_away, session_pages=20, slow_s=0.05) as site:
        options = ["--login", site.login(), "--per-host", "8", "--workers", workers]
        said = prompt.crawl_here(site.url(), "-o", "job", *options)
        assert said.code == FINISHED, said.text
    assert outcomes(prompt, site) == all_pages(site)
    assert 3 <= site.logins <= 6
    assert site.most_at_once == 1
    assert len(events(prompt, "login.lost")) == site.logins - 1
    assert everything(prompt.cwd / "job")["archive"].count(b"WARC-Type: response") == 62 + 1  # robots.txt


def test_the_page_charset_is_the_forms(prompt: Prompt) -> None:
    with MemberSite(3, charset="gbk", user=GBK_USER, password=GBK_PASSWORD) as site:
        assert prompt.crawl_here(site.url(), "-o", "job", "--login", site.login()).code == FINISHED
    assert outcomes(prompt, site) == all_pages(site)
    (post,) = [ask for ask in site.asks if ask.method == "POST"]
    assert b"username=%D5%C5%C8%FD&pass=%C3%DC%C2%EB%3D1" in post.body


@pytest.mark.parametrize("turns_away", ["redirect", "401"])
def test_pages_closed_to_this_member_do_not_end_the_session(turns_away: str, prompt: Prompt) -> None:
    """They are taken as they are, after a login or two that did not help."""
    closed = frozenset({"/3", "/4", "/9", "/11"})
    with MemberSite(12, turns_away=turns_away, closed=closed) as site:
        said = prompt.crawl_here(site.url(), "-o", "job", "--login", site.login())
        assert said.code == FINISHED, said.text
    found = outcomes(prompt, site)
    found.pop("/login?next=%2F3", None)
    as_it_is = "MOVED" if turns_away == "redirect" else "REFUSED status.401"
    wanted = {path: as_it_is if path in closed else "OK" for path in all_pages(site)}
    assert {path: found.get(path) for path in wanted} == wanted
    assert site.logins <= 4


def test_three_failed_logins_park_the_site(prompt: Prompt) -> None:
    """What needs no login elsewhere goes on; the next start tries again, with another password."""
    with MemberSite(5, refuses=3) as site:
        said = prompt.crawl_here(site.url(), "-o", "job", "--login", site.login("me:wr0ng"))
        assert said.code == INTERRUPTED, said.text
        assert site.logins == 3
        assert "is given up (the form comes back)" in said.err
        assert "until its login works; the same command carries on" in said.out
        assert "wr0ng" not in said.out + said.err
        assert outcomes(prompt, site) == {}
        assert prompt.crawl_here("-o", "job").code == USAGE
        again = prompt.crawl_here("-o", "job", "--login", site.login())
        assert again.code == FINISHED, again.text
    assert outcomes(prompt, site) == all_pages(site)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("<p>no form", "no form with a password on the page"),
        ("<form><input name=u><input type=password name=p></form>", "would send the password in an address"),
        (
            '<form method=post action="http://127.0.0.1:9/"><input name=u><input type=password name=p></form>',
            "sends to another origin",
        ),
    ],
)
def test_a_form_that_is_not_filled_in(page: str, why: str, prompt: Prompt) -> None:
    class Odd(MemberSite):
        def _form(self) -> tuple[int, dict[str, str], bytes]:
            return 200, {}, page.encode()

    with Odd() as site:
        said = prompt.crawl_here(site.url(), "-o", "job", "--login", site.login())
    assert said.code == INTERRUPTED, said.text
    assert why in said.err
    assert site.targets("POST") == []
    assert not any("w%C3%B6rd" in target for target in site.targets())


def test_logging_out_is_a_matter_of_asking(prompt: Prompt) -> None:
    with MemberSite(4) as site:
        assert prompt.crawl_here(site.url(), "-o", "job", "--login", site.login()).code == FINISHED
        assert not any(target.startswith("/logout") for target in site.targets())
        said = prompt.crawl_here("-o", "job", "--login", site.login(), "--follow-logout")
        assert said.code == FINISHED, said.text
    assert site.targets()[-1] == "/logout?now=1"
    assert "1 refused URLs are queued now" in said.err


def test_a_finished_crawl_does_not_log_in(prompt: Prompt) -> None:
    with MemberSite(2) as site:
        assert prompt.crawl_here(site.url(), "-o", "job", "--login", site.login()).code == FINISHED
        before = len(site.asks)
        assert prompt.crawl_here(site.url(), "-o", "job", "--login", site.login()).code == FINISHED
        assert len(site.asks) == before


def test_a_page_that_needs_a_login_is_seen_by_its_name(prompt: Prompt) -> None:
    with MemberSite(2) as site:
        assert prompt.crawl_here(site.url(), "-o", "job", "--login", site.login()).code == FINISHED
        name = f"login@127.0.0.1:{site.port}"
        out = prompt.here("export", "urls", "job", "--to", "-")
        assert (out.out, f"--with {name} takes them in" in out.err) == ("", True)
        assert prompt.here("export", "urls", "job", "--to", "-", "--with", name).out.count("\n") == 4


def command_lines(group: int) -> bytes:
    """Command lines of every process of a process group."""
    found = b""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if int((place / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                found += (place / "cmdline").read_bytes() + b"\n"
        except (OSError, ValueError):
            continue
    return found


def test_no_secret_is_anywhere(prompt: Prompt) -> None:
    """Login, Basic, token, cookies of a file, and the session cookie itself: on the disk, in the list of processes, in answers."""
    secrets = {"LOGIN": f"{USER}:{PASSWORD}", "BASIC": "me:b4s1c", "TOKEN": "t0k3n"}
    (prompt.cwd / "mine.txt").write_text("127.0.0.1\tFALSE\t/\tFALSE\t0\tgiven\tc00k13\n")
    with MemberSite(40, slow_s=0.3) as site:
        origin = site.url("")
        options = [
            "--login",
            site.login("env:LOGIN"),
            "--auth",
            "http://other.test=basic:env:BASIC",
            "--auth",
            f"{origin}=env:SPEC",
        ]
        options += ["--cookies", "mine.txt", "--header", "X-Api-Key: env:TOKEN", "-o", "job", "--workers", "2"]
        env = secrets | {"SPEC": "bearer:b34r3r"}
        words = [PASSWORD, "b4s1c", "t0k3n", "b34r3r", "c00k13"]
        said: list[str] = []
        with prompt.start_crawl(site.url(), *options, "--max-pages", "20", config="delay = 0.02", env=env) as crawl:
            until(lambda: len(site.targets()) > 5, "it crawls")
            processes = command_lines(crawl.pid)
            requests = (
                {"verb": "status"},
                {"verb": "set", "key": "login", "value": "x"},
                {"verb": "set", "key": "delay", "value": "0"},
            )
            said += [json.dumps(control.ask(prompt.cwd / "job", request)) for request in requests]
            ended = crawl.wait()
        assert ended.code == LIMIT, ended.text
        assert processes.count(b"nephila.worker") == 2
        sessions = list(site._sessions)
    got = next(ask for ask in site.asks if ask.target == "/0").headers
    assert (got["authorization"], got["x-api-key"]) == ("Bearer b34r3r", "t0k3n")
    assert "given=c00k13" in got["cookie"]
    places = everything(prompt.cwd / "job")
    dump = "\n".join(
        str(row)
        for (table,) in prompt.rows("job", "SELECT name FROM sqlite_schema WHERE type = 'table'")
        for row in prompt.rows("job", f"SELECT * FROM {table}")
    )
    places |= {
        "processes": processes,
        "answers": "".join(said).encode(),
        "tables": dump.encode(),
        "output": (ended.out + ended.err).encode(),
    }
    for word in words:
        spelled = {word.encode(), word.encode("gbk", "ignore"), json.dumps(word)[1:-1].encode()}
        assert [name for name, data in places.items() if any(one in data for one in spelled)] == [], word
    answers = {name: data for name, data in places.items() if name != "archive" and not name.endswith(".warc.gz")}
    assert sessions
    assert not any(session.encode() in data for session in sessions for data in answers.values())
    assert b"pass=" not in places["archive"]
    assert f"session={sessions[0]}".encode() not in places["archive"], "a login is not archived"
    again = prompt.crawl("-o", "job", "--max-pages", "0")
    assert (again.code, "give --header again" in again.err) == (USAGE, True), again.text


@pytest.mark.parametrize("when", ["before the answer to a login", "after it"])
def test_a_kill_during_a_login_costs_nothing(when: str, prompt: Prompt) -> None:
    with MemberSite(12, slow_s=0.4 if when.startswith("before") else 0.0) as site:
        options = ["--login", site.login("env:LOGIN"), "-o", "job", "--workers", "2"]
        env = {"LOGIN": f"{USER}:{PASSWORD}"}

        def begun(crawl: Running) -> bool:
            if when.startswith("before"):
                return site.logging_in == 1
            return "/home" in site.targets()

        with prompt.start_crawl(site.url(), *options, env=env) as crawl:
            until(lambda: begun(crawl), "it logs in")
            crawl.kill()
        site.slow_s = 0.0
        said = prompt.crawl(site.url(), *options, env=env)
        assert said.code == FINISHED, said.text
    assert outcomes(prompt, site) == all_pages(site)
    assert site.logins == 2
    assert not any(PASSWORD.encode() in data for data in everything(prompt.cwd / "job").values())


@pytest.mark.long
def test_kills_in_the_middle_lose_nothing(prompt: Prompt) -> None:
    """A session that ends every ten pages, and a kill every few pages: each page is kept, once."""
    with MemberSite(60, session_pages=10) as site:
        options = ["--login", site.login("env:LOGIN"), "-o", "job", "--workers", "2", "--per-host", "4"]
        env = {"LOGIN": f"{USER}:{PASSWORD}"}
        for goal in (8, 25, 45):
            with prompt.start_crawl(site.url(), *options, env=env) as crawl:
                until(lambda goal=goal, crawl=crawl: len(set(site.targets())) > goal or not crawl.alive, "it crawls")
                crawl.kill()
        said = prompt.crawl(site.url(), *options, env=env)
        assert said.code == FINISHED, said.text
    assert outcomes(prompt, site) == all_pages(site)
    assert site.most_at_once == 1
