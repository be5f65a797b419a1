"""Members' pages from the prompt: who gets what is sent, what is left on the disk, and who may see it afterwards."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest
from commands.stranger import FINISHED, LIMIT, USAGE, Listener, Prompt, sites
from commands.test_commands_secrets import everything

PASSWORD = "pa:ss=w0rd"
BASIC = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()


def guarded(links: list[str], line: str = BASIC) -> Listener:
    """A front page for everybody that sets a session cookie, and `/in` behind Basic; `/go` leads to `links[0]`."""

    def answer(target: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if target == "/robots.txt":
            return 404, {}, b""
        if target == "/go":
            return 302, {"Location": [*links, "/in"][0]}, b""
        if headers.get("authorization") != line:
            return 401, {"WWW-Authenticate": 'Basic realm="members"'}, b"members only"
        return 200, {"Set-Cookie": "session=s3ss10n"}, sites.page(["/go", "/in", *links], target)

    return Listener(answer)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_password_goes_to_its_origin_only(workers: str, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another name is another origin, by link and by redirect; what the session cookie was is not stored."""
    monkeypatch.setenv("PW", PASSWORD)
    with (
        Listener(lambda target, headers: (200, {}, sites.page([], "elsewhere"))) as other,
        guarded([other.url("/x", host="localhost")]) as site,
    ):
        options = ["-o", "job", "--scope", "any", "--allow-private", "--workers", workers]
        auth = ["--auth", f"{site.url().removesuffix('/')}=basic:me:env:PW"]
        said = prompt.crawl_here(site.url(), *options, *auth, "--max-pages", "2")
        assert said.code == LIMIT, said.text
        again = prompt.crawl_here("-o", "job", "--max-pages", "0")
        assert (again.code, "give --auth again" in again.err) == (USAGE, True), again.text
        assert prompt.crawl_here("-o", "job", "--max-pages", "0", *auth).code == FINISHED
    assert {one.headers.get("authorization") for one in site.seen} == {BASIC}
    assert other.seen
    assert not any("authorization" in one.headers or "cookie" in one.headers for one in other.seen)
    assert set(prompt.outcomes("job").values()) == {"OK", "MOVED"}
    name = f"basic@127.0.0.1:{site.port}"
    access = prompt.rows("job", "SELECT DISTINCT u.url, v.access FROM visit v JOIN url u ON u.id = v.url")
    assert all(found == (name if url.startswith(site.url()) else "") for url, found in access)
    left = {place: data for place, data in everything(prompt.cwd / "job").items() if PASSWORD.encode() in data}
    assert left == {}
    assert BASIC.encode() not in b"".join(everything(prompt.cwd / "job").values())
    assert prompt.rows("job", "SELECT * FROM cookie") == []
    out = prompt.here("export", "urls", "job", "--to", "-")
    assert (out.out, "left out" in out.err) == (other.url("/x", host="localhost") + "\n", True)
    assert len(prompt.here("export", "urls", "job", "--to", "-", "--with", name).out.splitlines()) == 3


def test_user_and_password_of_a_seed_open_its_origin(prompt: Prompt) -> None:
    with guarded([]) as site:
        said = prompt.crawl_here(f"http://me:pa%3Ass%3Dw0rd@127.0.0.1:{site.port}/in", "-o", "job")
    assert said.code == FINISHED, said.text
    assert prompt.outcomes("job")[site.url("/in")] == "OK"
    assert not any(b"w0rd" in data or BASIC.encode() in data for data in everything(prompt.cwd / "job").values())


def test_a_dry_run_is_a_member_too(prompt: Prompt) -> None:
    with guarded([]) as site:
        said = prompt.crawl_here(site.url("/in"), "--dry-run", "--auth", f"{site.url()[:-1]}=basic:me:{PASSWORD}")
    assert "the seed itself: status 200" in said.out
    assert "w0rd" not in said.out + said.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--auth", "127.0.0.1:9=basic:me:s3cr3t"], "auth: ORIGIN=SPEC is expected"),
        (["--auth", "http://127.0.0.1:9=basic:me:@none"], "@none: the file cannot be read"),
        (["--auth", "http://127.0.0.1:9=ntlm:me:s3cr3t"], "cannot do NTLM"),
        (["--cookies", "none.txt"], "cookies: "),
        (["--save-cookies", "quick.toml"], "line 1: not a cookie"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_made(options: list[str], said: str, prompt: Prompt) -> None:
    found = prompt.crawl_here("http://127.0.0.1:9/", "-o", "job", *options)
    assert found.code == USAGE
    assert said in found.err
    assert "s3cr3t" not in found.err
    assert not (prompt.cwd / "job").exists()
    assert "tries" in (prompt.cwd / "quick.toml").read_text()


def test_cookies_in_and_out(prompt: Prompt) -> None:
    """What a file gave is sent where it belongs, named, and not stored; all there is goes out, for the owner alone."""

    def answer(target: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if target == "/plain/":
            return 200, {"Set-Cookie": "seen=1; Path=/plain"}, sites.page(["/in"], "plain")
        if target == "/robots.txt":
            return 404, {}, b""
        return 200, {"Set-Cookie": "fresh=n3w"}, sites.page([], "in" if "cookie" in headers else "nobody")

    (prompt.cwd / "mine.txt").write_text(
        "127.0.0.1\tFALSE\t/in\tFALSE\t0\tsid\ts3cr3t\n.else.example\tTRUE\t/\tFALSE\t0\ta\tb\n"
    )
    with Listener(answer) as site:
        options = ["--cookies", "mine.txt", "--save-cookies", "out.txt"]
        said = prompt.crawl_here(site.url("/plain/"), "-o", "job", *options)
        assert said.code == FINISHED, said.text
    assert [one.headers.get("cookie") for one in site.seen if one.target == "/in"] == ["sid=s3cr3t"]
    access = dict(
        prompt.rows("job", "SELECT u.url, v.access FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots'")
    )
    assert access == {site.url("/plain/"): "", site.url("/in"): "cookies"}
    assert prompt.rows("job", "SELECT name FROM cookie") == [("seen",)]
    files = everything(prompt.cwd / "job")
    assert [name for name, data in files.items() if b"s3cr3t" in data] == []
    out = prompt.cwd / "out.txt"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    names = [line.split("\t")[5] for line in out.read_text().splitlines() if "\t" in line]
    assert sorted(names) == ["a", "fresh", "seen", "sid"]


def test_a_file_of_cookies_is_read_again_on_resume(prompt: Prompt) -> None:
    mine = prompt.cwd / "mine.txt"
    mine.write_text("127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\ts3cr3t\n")
    pages = {"/": sites.page(["/a"], "start"), "/a": sites.page([], "a")}
    with Listener(pages) as site:
        assert prompt.crawl_here(site.url(), "-o", "job", "--cookies", "mine.txt", "--max-pages", "1").code == LIMIT
        mine.rename(prompt.cwd / "away.txt")
        gone = prompt.crawl_here("-o", "job", "--max-pages", "0")
        assert (gone.code, f"cookies: {mine} cannot be read" in gone.err) == (USAGE, True), gone.text
        (prompt.cwd / "away.txt").rename(mine)
        assert prompt.crawl_here("-o", "job", "--max-pages", "0").code == FINISHED
    assert {one.headers.get("cookie") for one in site.seen} == {"sid=s3cr3t"}


def test_a_program_sees_what_it_gave_a_credential_for(prompt: Prompt) -> None:
    import asyncio

    import nephila

    with guarded([]) as site:

        async def titles() -> list[str]:
            auth = [f"{site.url()[:-1]}=basic:me:{PASSWORD}"]
            return [
                page.title async for page in nephila.crawl(site.url(), folder=prompt.cwd / "job", auth=auth, delay="0")
            ]

        assert sorted(asyncio.run(titles())) == ["/", "/in"]
    lines = prompt.here("export", "jsonl", "job", "--to", "-")
    assert (lines.out, lines.err.count("left out")) == ("", 1)
    assert json.loads((Path(prompt.cwd) / "job" / "log.jsonl").read_text().splitlines()[0])["event"] == "crawl.start"
