"""A secret is used and never stored, and is asked for again: whatever is left in the folder does not hold it."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from commands.stranger import FINISHED, LIMIT, USAGE, Listener, Prompt, archive_text, sites, until

from nephila.testing.proxies import Proxy

SECRET = b"s3cr3t"
FORMS = {
    "header": ["--header", "Authorization: Bearer s3cr3t"],
    "file": ["--header", "Authorization: @token.txt"],
    "variable": ["--header", "X-Api-Key: env:MY_TOKEN"],
    "whole header in a file": ["--header", "@header.txt"],
    "cookie": ["--header", "Cookie: session=s3cr3t"],
}


def everything(folder: Path) -> dict[str, bytes]:
    """Every file of a job, archive files decompressed as one more."""
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | {"archive": archive_text(folder)}


@pytest.mark.parametrize(
    ("form", "workers"),
    [("header", "1"), ("file", "0"), ("variable", "0"), ("whole header in a file", "0"), ("cookie", "0")],
)
def test_a_secret_header_is_nowhere(form: str, workers: str, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t")
    (prompt.cwd / "token.txt").write_text("Bearer s3cr3t\n")
    (prompt.cwd / "header.txt").write_text("X-Auth-Token: s3cr3t\n")
    options = [*FORMS[form], "-o", "job", "--workers", workers]
    with Listener({"/": sites.page(["/a"], "start"), "/a": sites.page(["/b"], "a"), "/b": sites.page([], "b")}) as site:
        with prompt.start_crawl(site.url(), *options, "--max-pages", "2") as crawl:
            until(lambda: b"nephila" in Path(f"/proc/{crawl.pid}/cmdline").read_bytes(), "it has a command line")
            command_line = Path(f"/proc/{crawl.pid}/cmdline").read_bytes()
            said = crawl.wait()
        assert said.code == LIMIT, said.text
        got = [one for one in site.seen if one.target == "/a"]
        assert any("s3cr3t" in value for value in got[0].headers.values()), "the secret was not sent"
        left = {name: data for name, data in everything(prompt.cwd / "job").items() if SECRET in data}
        assert list(left) == []
        assert SECRET not in (said.out + said.err).encode()
        assert (SECRET in command_line) is (form in ("header", "cookie"))
        again = prompt.crawl_here("-o", "job", "--max-pages", "0")
        assert again.code == USAGE
        assert "was started with a secret that is not stored" in again.err
        assert "give --header again" in again.err
        assert prompt.crawl_here(*options, "--max-pages", "0").code == FINISHED
    last = site.seen[-1]
    assert (last.target, last.headers) == ("/b", got[0].headers)
    assert all(SECRET not in data for data in everything(prompt.cwd / "job").values())


def test_the_password_of_a_proxy_is_nowhere(prompt: Prompt) -> None:
    with Listener({"/": sites.page([], "start")}) as site, Proxy(credentials="me:s3cr3t") as proxy:
        proxy.routes["far.test:80"] = "127.0.0.1", site.port
        said = prompt.crawl("http://far.test/", "-o", "job", "--proxy", f"http://me:s3cr3t@{proxy.address}")
    assert said.code == FINISHED, said.text
    encoded = b64encode(b"me:s3cr3t")
    assert encoded in proxy.said[-1]
    left = [name for name, data in everything(prompt.cwd / "job").items() if SECRET in data or encoded in data]
    assert left == []
    again = prompt.crawl_here("-o", "job")
    assert again.code == USAGE
    assert "give --proxy again" in again.err


def test_userinfo_of_a_seed_is_nowhere(prompt: Prompt) -> None:
    with Listener({"/": sites.page(["/a"], "start"), "/a": sites.page(["/"], "a")}) as site:
        seed = f"http://me:s3cr3t@127.0.0.1:{site.port}/"
        said = prompt.crawl(seed, "-o", "job", "--max-pages", "1")
        assert said.code == LIMIT, said.text
        left = [name for name, data in everything(prompt.cwd / "job").items() if SECRET in data]
        assert left == []
        assert "s3cr3t" not in said.out + said.err
        again = prompt.crawl_here("-o", "job", "--max-pages", "0")
        assert again.code == USAGE
        assert "give the address again" in again.err
        assert prompt.crawl_here(seed, "-o", "job", "--max-pages", "0").code == FINISHED
    assert set(prompt.outcomes("job")) == {site.url(), site.url("/a")}


def test_a_dry_run_shows_no_secret(prompt: Prompt) -> None:
    with Listener({"/": sites.page([], "start")}) as site:
        said = prompt.crawl_here(site.url(), "--dry-run", "--header", "Authorization: Bearer s3cr3t")
    assert said.code == FINISHED, said.text
    assert "s3cr3t" not in said.out + said.err
    assert site.seen[-1].headers["authorization"] == "Bearer s3cr3t"


def test_a_wrong_secret_is_not_shown(prompt: Prompt) -> None:
    for options in (
        ["--proxy", "gopher://me:s3cr3t@x/"],
        ["--header", "s3cr3t"],
        ["--header", "X-Api-Key: env:NOT_THERE"],
    ):
        said = prompt.crawl_here("http://127.0.0.1:9/", "-o", "job", *options)
        assert said.code == USAGE
        assert "s3cr3t" not in said.err
