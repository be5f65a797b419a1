"""Between two runs of a job: archives are cut to what is committed, and stored URLs follow the settings of today."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nephila import resume
from nephila.archive.warc import Writer
from nephila.changes import are_rules
from nephila.config import Config
from nephila.frontier.batch import Batch
from nephila.frontier.changing import Effect
from nephila.frontier.sqlite import SqliteStore
from nephila.frontier.sqlite_rows import unmake
from nephila.testing import sites
from nephila.testing.clock import FakeClock
from nephila.testing.crawls import FakeCrawl
from nephila.testing.fakeweb import FakeWeb
from nephila.testing.sites import Answer
from nephila.types import Lease, Outcome, Request, Response, Visit

A = "http://a.test"


class Job:
    """A crawl in a folder, that may be run again with other settings."""

    def __init__(self, folder: Path, pages: dict[str, Any], **settings: Any) -> None:
        self.clock, self.path = FakeClock(), folder / "crawl.db"
        links = {url: p or [] for url, p in pages.items()}
        self.web = FakeWeb(
            self.clock,
            {
                u: sites.page(p) if isinstance(p, list) and not any(isinstance(x, Answer) for x in p) else p
                for u, p in links.items()
            },
        )
        self.config = Config(**{"seeds": [A + "/"], "delay": "0", "workers": 0, "connections": 4} | settings)

    def open(self) -> SqliteStore:
        return SqliteStore(self.path, order_name=self.config.order, max_depth=self.config.max_depth)

    def run(self) -> str:
        ended = FakeCrawl(self.web, self.clock, self.config, self.open()).run()
        assert ended is not None
        return ended.reason

    def change(self, retry: tuple[str, ...] = (), **settings: Any) -> list[str]:
        """The sentences said when it is carried on with these settings."""
        old, self.config = self.config, msgspec.structs.replace(self.config, **settings)
        store, effects = self.open(), list[Effect]()
        said = list(resume.apply(store, self.config, old, list(retry)))
        if are_rules(old, self.config):
            scheduler = FakeCrawl(self.web, self.clock, self.config, store).scheduler
            scheduler.change(self.config, scheduler.scope, effects.append)
            scheduler.close()
        else:
            store.close()
        return said + [sentence for effect in effects for sentence in effect.sentences()]

    def query(self, sql: str) -> dict[Any, Any]:
        store = self.open()
        found = dict(store.query(sql))
        store.close()
        return found

    def states(self) -> dict[str, str]:
        rows = self.query("SELECT url, state FROM url WHERE kind != 'robots'")
        return {url.removeprefix(A): state for url, state in rows.items()}

    def rules(self) -> dict[str, str | None]:
        """URL → the rule it was refused by."""
        rows = self.query("SELECT u.url, r.text FROM url u LEFT JOIN rule r ON r.id = u.rule WHERE u.kind != 'robots'")
        return {url.removeprefix(A): text for url, text in rows.items()}

    def outcomes(self) -> dict[str, str]:
        rows = self.query("SELECT u.url, v.outcome FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots'")
        return {url.removeprefix(A): outcome for url, outcome in rows.items()}


def numbers(sentence: str) -> list[int]:
    return [int(number) for number in re.findall(r"(?<!\w)\d+(?!\w)", sentence)]


SITE = {
    A + "/": ["/a", "/b", "/sub/c", "http://b.test/x", "http://b.test/y"],
    A + "/a": ["/a/1", "/sub/d"],
    A + "/b": [],
    A + "/sub/c": [],
    A + "/sub/d": [],
    A + "/a/1": ["/a/2"],
    A + "/a/2": ["/a/3"],
    A + "/a/3": [],
    "http://b.test/x": [],
    "http://b.test/y": [],
}


def test_nothing_changed_nothing_said(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE)
    job.run()
    assert job.change() == []
    assert job.change(max_pages=5, delay="3") == []


def test_a_wider_scope_queues_what_was_refused(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE)
    job.run()
    assert set(job.outcomes()) == {"/", "/a", "/b", "/sub/c", "/sub/d", "/a/1", "/a/2", "/a/3"}
    (said,) = job.change(scope="any")
    assert numbers(said) == [2, 0]
    assert job.run() == "finished"
    assert len(job.outcomes()) == 10
    assert job.web.times(A + "/a") == 1


def test_an_exclusion_refuses_what_was_queued(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_pages=1)
    job.run()
    (said,) = job.change(exclude=["^http://a.test/sub/"], max_pages=0)
    assert numbers(said) == [0, 1]
    assert job.states()["/sub/c"] == "refused"
    assert job.rules()["/sub/c"] == "exclude:^http://a.test/sub/"
    assert job.query("SELECT text, count FROM rule WHERE text LIKE 'excl%'") == {"exclude:^http://a.test/sub/": 1}
    job.run()
    assert set(job.outcomes()) == {"/", "/a", "/b", "/a/1", "/a/2", "/a/3"}


def test_an_exclusion_taken_back(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, exclude=["/sub/"])
    job.run()
    assert numbers(job.change(exclude=[])[0]) == [2, 0]
    job.run()
    assert job.outcomes().keys() >= {"/sub/c", "/sub/d"}


def test_a_seed_is_wanted_whatever_the_rules(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_pages=1, seeds=[A + "/", A + "/b"])
    job.run()
    job.change(exclude=["/b$"], max_pages=0)
    job.run()
    assert job.outcomes()["/b"] == "OK"


def test_nofollow_is_ignored_from_now_on(tmp_path: Path) -> None:
    site = {A + "/": sites.page(["/x"], more='<meta name="robots" content="nofollow">'), A + "/x": []}
    job = Job(tmp_path, site)
    job.run()
    assert job.states()["/x"] == "refused"
    assert numbers(job.change(scope="any")[0]) == [0, 0]
    assert numbers(job.change(ignore_nofollow=True)[0]) == [1, 0]
    job.run()
    assert job.outcomes()["/x"] == "OK"


def test_sitemaps_are_read_from_now_on(tmp_path: Path) -> None:
    urls = f"<urlset><url><loc>{A}/x</loc></url></urlset>".encode()
    site = {
        A + "/robots.txt": Answer(f"Sitemap: {A}/map.xml".encode(), media_type="text/plain"),
        A + "/": [],
        A + "/map.xml": Answer(urls, media_type="application/xml"),
        A + "/x": [],
    }
    job = Job(tmp_path, site)
    job.run()
    assert "/x" not in job.outcomes()
    assert numbers(job.change(sitemaps=True)[0]) == [1, 0]
    job.run()
    assert job.outcomes()["/x"] == "OK"


def test_a_deeper_limit(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_depth=1)
    job.run()
    assert set(job.outcomes()) == {"/", "/a", "/b", "/sub/c"}
    (said,) = job.change(max_depth=2)
    assert numbers(said) == [2, 0]
    assert job.rules()["/a/1"] is None
    job.run()
    assert set(job.outcomes()) == {"/", "/a", "/b", "/sub/c", "/sub/d", "/a/1"}
    assert job.states()["/a/2"] == "too_deep"


def test_no_limit_any_more(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_depth=1)
    job.run()
    job.change(max_depth=-1)
    job.run()
    assert set(job.outcomes()) == {"/", "/a", "/b", "/sub/c", "/sub/d", "/a/1", "/a/2", "/a/3"}


def test_a_nearer_limit(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE, max_pages=5)
    job.run()
    queued = [url for url, state in job.states().items() if state == "queued"]
    assert queued
    assert set(queued) <= {"/a/1", "/a/2", "/sub/d"}
    (said,) = job.change(max_depth=1, max_pages=0)
    assert numbers(said) == [0, len(queued)]
    assert {job.states()[url] for url in queued} == {"too_deep"}
    assert {job.rules()[url] for url in queued} == {"max_depth"}
    job.run()
    assert not set(queued) & set(job.outcomes())


def test_depths_are_reckoned_when_a_limit_comes(tmp_path: Path) -> None:
    """Without a limit a page keeps the depth of its first sighting: newest first, that is a long way round."""
    ring = {f"{A}/{i or ''}": [f"/{i + 1}", f"/{i + 2}"] for i in range(8)} | {A + "/8": [], A + "/9": []}
    job = Job(tmp_path, ring, order="dfs", connections=1, max_pages=4)
    job.run()
    job.change(max_depth=2, max_pages=0)
    job.run()
    assert {f"/{i or ''}" for i in range(5)} == set(job.outcomes()) - {f"/{i}" for i in range(5, 10)}
    depths = job.query("SELECT url, depth FROM url WHERE kind != 'robots'")
    assert [depths[f"{A}/{i or ''}"] for i in range(5)] == [0, 1, 1, 2, 2]


def test_what_is_wanted_again_obeys_the_depth(tmp_path: Path) -> None:
    site = SITE | {A + "/a": ["/far/1"], A + "/far/1": ["http://b.test/deep"], "http://b.test/deep": []}
    job = Job(tmp_path, site, max_depth=2)
    job.run()
    assert job.states()["http://b.test/deep"] == "refused"
    (said,) = job.change(scope="any")
    assert numbers(said) == [2, 0]
    assert job.states()["http://b.test/deep"] == "too_deep"
    job.run()
    assert "http://b.test/deep" not in job.outcomes()


def test_what_was_too_deep_obeys_the_rules(tmp_path: Path) -> None:
    """Excluded while it was too deep, near enough later."""
    job = Job(tmp_path, SITE, max_depth=1)
    job.run()
    job.change(exclude=["/sub/d$"])
    job.change(max_depth=3)
    job.run()
    assert job.states()["/sub/d"] == "refused"
    assert job.outcomes()["/a/2"] == "OK"


def test_robots_ignored_from_now_on(tmp_path: Path) -> None:
    robots = Answer(b"User-agent: *\nDisallow: /a", media_type="text/plain")
    job = Job(tmp_path, SITE | {A + "/robots.txt": robots})
    job.run()
    assert job.outcomes()["/a"] == "DENIED"
    (said,) = job.change(no_robots=True)
    assert numbers(said) == [1]
    job.run()
    assert job.outcomes()["/a"] == job.outcomes()["/a/3"] == "OK"


def test_retry(tmp_path: Path) -> None:
    site = SITE | {A + "/b": [Answer(status=500), Answer(status=500), Answer(b"well")], A + "/a": Answer(status=404)}
    job = Job(tmp_path, site, tries=2)
    job.run()
    assert (job.outcomes()["/a"], job.outcomes()["/b"]) == ("REFUSED", "REFUSED")
    (said,) = job.change(retry=("REFUSED", "UNREACHABLE"))
    assert numbers(said) == [2]
    assert job.states()["/a"] == job.states()["/b"] == "queued"
    attempts = job.query("SELECT reason, count(*) FROM attempt GROUP BY 1")
    assert attempts == {"status.500": 2, "status.404": 1}
    job.run()
    assert (job.outcomes()["/a"], job.outcomes()["/b"]) == ("REFUSED", "OK")
    assert job.web.times(A + "/") == 1


def test_retry_of_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path, SITE)
    job.run()
    assert numbers(job.change(retry=("UNREACHABLE",))[0]) == [0]
    assert job.run() == "finished"


# --- archives -------------------------------------------------------------------------------------------------------


class Shelf:
    """An archive of three visits, the way a killed crawl leaves it: nobody closed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "archive"
        self.folder.mkdir()
        self.store = SqliteStore(folder / "crawl.db")
        self.file, self.ends = "", [0]
        writer = Writer(
            self.folder,
            "job",
            0,
            bytes_max=1 << 30,
            fsync=False,
            software="test",
            info={},
            on_open=self.opened,
            on_close=lambda file, length: None,
            step=lambda name: None,
        )
        batch = Batch()
        batch.hosts_new = [(1, A)]
        for id in (1, 2, 3):
            url = f"{A}/{id}"
            record = writer(Visit(Lease(id, Request(url), id), Outcome.OK, response=self.answer(url)))
            assert record is not None
            batch.urls.append((id, id, 1, url, "page", 0, 0, 0, 0, "done", 0, 0.0))
            batch.visits.append((id, id, 1, 0.0, "OK", "", 200, "", "", "", "", 0, 0, "", "", "", 0, "", "", "", self.file, record.offset, record.length))  # fmt: skip
            self.ends.append(record.offset + record.length)
        batch.opened = [(self.file, 0, 0)]
        batch.archives[self.file] = (self.ends[-1], 3)
        self.store.commit(batch, lambda result: None)
        self.path = self.folder / self.file
        self.sound = self.path.read_bytes()
        writer.close()
        self.path.write_bytes(self.sound)

    def opened(self, file: str, *more: Any) -> None:
        self.file = file

    def answer(self, url: str) -> Response:
        clock = FakeClock()
        answer = clock.run(FakeWeb(clock, {url: f"page {url}" * 50})(Lease(1, Request(url), 1)))
        assert isinstance(answer, Response)
        return answer

    def repair(self) -> list[tuple[str, dict[str, Any]]]:
        return list(resume.repair_archives(self.store, self.folder, "job"))

    def states(self) -> list[str]:
        return [state for (state,) in self.store.query("SELECT state FROM url ORDER BY id")]

    def archives(self) -> list[tuple[int, int]]:
        return self.store.query("SELECT committed, closed FROM archive")  # type: ignore[return-value]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_sound_archive_is_closed(shelf: Shelf) -> None:
    assert shelf.repair() == []
    assert shelf.archives() == [(len(shelf.sound), 1)]
    assert shelf.path.read_bytes() == shelf.sound
    assert shelf.repair() == []


def test_what_was_written_and_not_committed_is_cut(shelf: Shelf) -> None:
    shelf.path.write_bytes(shelf.sound + b"\x1f\x8btorn")
    assert shelf.repair() == [
        ("archive.cut", {"file": shelf.file, "from": len(shelf.sound) + 6, "to": len(shelf.sound)})
    ]
    assert shelf.path.read_bytes() == shelf.sound
    assert shelf.states() == ["done"] * 3


@pytest.mark.parametrize("whole", [2, 1])
def test_a_file_that_is_too_short_queues_what_it_lost(shelf: Shelf, whole: int) -> None:
    shelf.path.write_bytes(shelf.sound[: shelf.ends[whole] + 10])
    assert shelf.repair() == [("archive.damaged", {"file": shelf.file, "visits": 3 - whole})]
    assert shelf.states() == ["done"] * whole + ["queued"] * (3 - whole)
    assert shelf.path.read_bytes() == shelf.sound[: shelf.ends[whole]]
    assert shelf.archives() == [(shelf.ends[whole], 1)]
    assert shelf.store.query("SELECT count(*) FROM visit") == [(whole,)]


def test_a_last_group_that_does_not_read_back_queues_its_visit(shelf: Shelf) -> None:
    torn = bytearray(shelf.sound)
    torn[-20:-12] = bytes(8)
    shelf.path.write_bytes(torn)
    assert shelf.repair() == [("archive.damaged", {"file": shelf.file, "visits": 1})]
    assert shelf.states() == ["done", "done", "queued"]


def test_a_file_that_is_gone_queues_everything(shelf: Shelf) -> None:
    shelf.path.unlink()
    assert shelf.repair() == [("archive.damaged", {"file": shelf.file, "visits": 3})]
    assert shelf.states() == ["queued"] * 3
    assert shelf.archives() == []


def test_a_file_that_was_never_registered_goes(shelf: Shelf) -> None:
    stray, other = shelf.folder / "job-1-00000.warc.gz", shelf.folder / "mine.warc.gz"
    stray.write_bytes(b"abc")
    other.write_bytes(b"abc")
    assert shelf.repair() == [("archive.cut", {"file": stray.name, "from": 3, "to": 0})]
    assert not stray.exists()
    assert other.exists()


def test_the_next_serial(tmp_path: Path) -> None:
    assert resume.next_serial(tmp_path, "job", 0, []) == 0
    for name in ("job-0-00000.warc.gz", "job-0-00007.warc.gz", "job-1-00030.warc.gz", "job-0-00009.warc.gz.part"):
        (tmp_path / name).touch()
    assert resume.next_serial(tmp_path, "job", 0, []) == 8
    assert resume.next_serial(tmp_path, "job", 2, []) == 0
    assert resume.next_serial(tmp_path, "job", 1, ["job-1-00031.warc.gz"]) == 32


@pytest.mark.parametrize(("lost", "left"), [(3, [2, 1]), (2, [3, 1]), (1, [3, 2])])
def test_a_visit_that_is_taken_back_leaves_the_others_of_its_url_in_a_chain(
    tmp_path: Path, lost: int, left: list[int]
) -> None:
    store = SqliteStore(tmp_path / "crawl.db")
    for id in (1, 2, 3):
        batch = Batch()
        if id == 1:
            batch.hosts_new, batch.urls = (
                [(1, A)],
                [(1, 1, 1, A + "/robots.txt", "robots", 0, 0, 0, 0, "queued", 0, 0.0)],
            )
        batch.visits = [(id, 1, 0, 0.0, "OK", "", 200, "", "", "", "", 0, 0, "", "", "", 0, "", "", "", "", 0, 0)]
        batch.done = [(1, id, 1)]
        batch.links = [(id, 0, b"12345678")]
        store.commit(batch, lambda result: None)
    assert store.query("SELECT round, before FROM visit ORDER BY id") == [(1, 0), (2, 1), (3, 2)]
    with store.transaction() as con:
        unmake(con, [(lost, 1)])
    chain = "WITH RECURSIVE c (id) AS (SELECT visit FROM url UNION ALL SELECT before FROM c JOIN visit v ON v.id = c.id) SELECT id FROM c"
    assert [id for (id,) in store.query(chain)] == [*left, 0]
    assert store.query("SELECT visit FROM link ORDER BY 1 DESC") == [(id,) for id in left]
    assert store.query("SELECT state FROM url") == [("queued",)]
