"""Taking down: nothing of a page is left in the folder, nothing else is missing, and a kill at any step changes neither."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from commands.stranger import FINISHED, USAGE, Prompt, rows, sites
from warcio.archiveiterator import ArchiveIterator

from nephila import forget as module
from nephila.errors import JobError
from nephila.forget import Forgotten, forget
from nephila.lock import JobLock
from nephila.testing.server import SiteServer
from nephila.testing.sites import Answer

SECRET = b"the words that must go"
TWIN = b"<title>same</title>" + SECRET + b" twin"


@pytest.fixture
def site(serve: Any) -> SiteServer:
    pages: dict[str, Any] = {
        "/": sites.page(["/private", "/first", "/second", "/third", "/moved"], "start"),
        "/private": Answer(b"<title>Mr X</title>" + SECRET + b"<a href=/below>below</a>"),
        "/below": sites.page([], "below"),
        "/moved": Answer(status=302, headers=(("Location", "/private?again=1"),)),
        "/private?again=1": Answer(b"<title>Mr X again</title>" + SECRET),
    }
    return serve(pages | dict.fromkeys(("/first", "/second", "/third"), Answer(TWIN)))  # type: ignore[no-any-return]


@pytest.fixture
def job(site: SiteServer, prompt: Prompt) -> Path:
    assert prompt.crawl_here(site.url(), "-o", "job").code == FINISHED
    return prompt.cwd / "job"


def everything(folder: Path) -> bytes:
    """All bytes of a folder, archive members unpacked."""
    found = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found += gzip.decompress(data) if path.name.endswith(".gz") else data
    return found


def sound(folder: Path) -> dict[str, int]:
    """Every record reads in a second reader, with its digest; record types and how many."""
    count: dict[str, int] = {}
    for path in (folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                count[record.rec_type] = count.get(record.rec_type, 0) + 1
    return count


def outcomes(folder: Path) -> dict[str, str]:
    found = rows(folder, "SELECT u.url, v.outcome FROM url u JOIN visit v ON v.id = u.visit WHERE u.kind != 'robots'")
    return {url.partition("/")[2].partition("/")[2].partition("/")[2]: outcome for url, outcome in found}


def test_one_page_is_gone_and_nothing_else(job: Path, site: SiteServer, prompt: Prompt) -> None:
    before, asked = sound(job), len(site.hits())
    said = prompt.here("forget", "job", site.url("/private"), "--reason", "asked by Mr X")
    assert (said.code, said.out) == (FINISHED, "1 addresses are forgotten, with 1 visits\n")
    left = everything(job)
    assert b"Mr X</title>" not in left
    assert b'"' + site.url("/private").encode() + b'"' not in (job / "log.jsonl").read_bytes()
    assert b"takedown-reason: asked by Mr X\r\npayload-digest: sha1:" in left
    assert sound(job) == before | {"response": before["response"] - 1, "request": before["request"] - 1}
    assert sorted(outcomes(job)) == ["", "below", "first", "moved", "private?again=1", "second", "third"]
    assert rows(job, "SELECT u.state, v.reason, length(v.digest) > 0 FROM url u JOIN visit v ON v.id = u.visit WHERE u.url = ''") == [
        ("dropped", "forgotten", 1)
    ]  # fmt: skip
    assert prompt.crawl_here("-o", "job", "--retry", "SKIPPED").code == FINISHED
    assert len(site.hits()) == asked, "it is not fetched again"


def test_a_pattern_needs_to_be_meant(job: Path, site: SiteServer, prompt: Prompt) -> None:
    prompt.here("export", "jsonl", "job")
    shown = prompt.here("forget", "job", "/private")
    assert shown.code == USAGE
    assert shown.out.splitlines() == [
        site.url("/private"), site.url("/private?again=1"), "2 addresses, 2 visits: nothing is taken down without --yes"
    ]  # fmt: skip
    assert SECRET in everything(job)
    done = prompt.here("forget", "job", "/private", "--yes")
    assert done.out.splitlines()[1] == "Views made before still hold them; make them again: visits.jsonl"
    assert prompt.here("export", "jsonl", "job").code == FINISHED
    assert b"Mr X" not in everything(job)
    urls = {json.loads(line)["url"] for line in (job / "views" / "visits.jsonl").read_bytes().splitlines()}
    assert site.url("/private") not in urls
    assert site.url("/below") in urls


@pytest.mark.parametrize("gone", ["first", "second", "third"])
def test_pages_that_repeat_one_that_goes_keep_their_content(
    gone: str, job: Path, site: SiteServer, prompt: Prompt
) -> None:
    assert sound(job)["revisit"] == 2
    assert prompt.here("forget", "job", site.url(f"/{gone}")).code == FINISHED
    sound(job)
    assert prompt.here("export", "mirror", "job", "--to", "copy").code == FINISHED
    for name in {"first", "second", "third"} - {gone}:
        (path,) = (prompt.cwd / "copy").rglob(f"{name}*")
        assert TWIN in path.read_bytes()
    assert not list((prompt.cwd / "copy").rglob(f"{gone}*"))


@pytest.mark.usefixtures("impatient")
def test_what_is_not_there_and_what_runs_is_said(job: Path, prompt: Prompt) -> None:
    for words, said in {
        ("job", "https://nowhere.test/"): "this job has no such address",
        ("job", "["): "no regular expression",
        ("job", ""): "no address was given",
        ("none", "x"): "there is no folder none",
    }.items():
        done = prompt.here("forget", *words, "--yes")
        assert (done.code, said in done.err) == (USAGE, True), done.text
    with JobLock(job), pytest.raises(JobError, match="in use"):
        forget(job, "private", really=lambda meant: True)


class Killed(BaseException):
    pass


STEPS = ["rewritten", "switched", "erased", "logged"]


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_is_done_by_the_same_command(
    step: str, job: Path, site: SiteServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise Killed

    place = {
        "rewritten": (module._Work, "_switch"),
        "switched": (module, "_erase"),
        "logged": (module._Work, "_clean_log"),
    }
    with monkeypatch.context() as patch:
        if step == "erased":
            erase = module._erase
            patch.setattr(module, "_erase", lambda path: die(erase(path)))
        else:
            patch.setattr(*place[step], die)
        with pytest.raises(Killed):
            forget(job, "/private", really=lambda meant: True)
    if step == "rewritten":
        assert forget(job, "/private", really=lambda meant: True) is not None
    assert prompt.crawl_here("-o", "job").code == FINISHED
    sound(job)
    if step != "logged":
        assert SECRET + b"<a href" not in everything(job)
    assert "below" in outcomes(job)


def test_nothing_happens_before_it_is_meant(job: Path) -> None:
    before, told = everything(job / "archive"), list[Forgotten]()
    assert forget(job, "/private", really=lambda meant: bool(told.append(meant))) is None
    assert (told[0].total, told[0].visits, told[0].exact) == (2, 2, False)
    assert everything(job / "archive") == before
