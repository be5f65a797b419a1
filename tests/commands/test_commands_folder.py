"""A folder that cannot be used is refused with a sentence; one that was damaged loses nothing that it could keep."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands.stranger import (
    BUG,
    DISK,
    FINISHED,
    LIMIT,
    USAGE,
    Answer,
    Prompt,
    Said,
    SiteServer,
    archive_text,
    chain,
    sites,
    until,
)

PAGES = 24
root = os.geteuid() == 0
long = partial(pytest.param, marks=pytest.mark.long)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiteServer]:
    """24 pages with bodies that hardly compress."""
    with SiteServer(sites.synthetic(PAGES, 5, 3000), tmp_path_factory.mktemp("site") / "log") as server:
        yield server


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, site: SiteServer) -> Path:
    """A folder with a finished crawl, to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    said = Prompt(folder).crawl(site.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    return folder / "job"


@pytest.fixture
def done(prompt: Prompt, finished: Path) -> Path:
    """A folder `job` with a finished crawl."""
    return shutil.copytree(finished, prompt.cwd / "job")


def kept(prompt: Prompt) -> dict[str, str]:
    return prompt.outcomes("job")


def one_line(said: Said, code: int, *words: str) -> None:
    """A refusal: this exit code, one line on standard error with these words, no summary."""
    assert said.code == code, said.text
    assert said.err.count("\n") == 1, said.text
    assert all(word in said.err for word in words), said.text
    assert said.out == ""


# --- folders that are not ours ---------------------------------------------------------------------------------------


def test_folders_that_hold_something_else(prompt: Prompt) -> None:
    (prompt.cwd / "photos").mkdir()
    (prompt.cwd / "photos" / "cat.jpg").write_bytes(b"cat")
    (prompt.cwd / "file").write_bytes(b"file")
    one_line(
        prompt.crawl_here("http://127.0.0.1:9/", "-o", "photos"), USAGE, "photos is not empty and holds no crawl", "-o"
    )
    one_line(prompt.crawl_here("http://127.0.0.1:9/", "-o", "file"), USAGE, "file is a file, not a folder", "-o")
    one_line(prompt.here("status", "photos"), USAGE, "photos is not a crawl")
    one_line(prompt.here("export", "jsonl", "photos"), USAGE, "photos is not a crawl")
    one_line(prompt.here("pause", "photos"), USAGE, "photos is not a crawl")
    assert [path.name for path in (prompt.cwd / "photos").iterdir()] == ["cat.jpg"]


def test_the_folder_of_another_crawl(prompt: Prompt, done: Path, site: SiteServer) -> None:
    before = (done / "crawl.toml").read_bytes()
    said = prompt.crawl_here("http://127.0.0.3:9/", "-o", "job")
    one_line(said, USAGE, f"job holds another crawl (of {site.url()})", "-o DIR")
    assert (done / "crawl.toml").read_bytes() == before


@pytest.mark.usefixtures("impatient")
def test_a_folder_in_use_names_the_process(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve(chain(400))
    with prompt.start_crawl(site.url(), "-o", "job") as first:
        until(lambda: len(site.hits()) > 3, "some pages")
        said = prompt.crawl_here(site.url(), "-o", "job")
        one_line(said, USAGE, f"job is in use by process {first.pid}", "nephila stop job")
        assert first.alive


def test_two_crawls_at_the_same_instant(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve(chain(130))
    with prompt.start_crawl(site.url(), "-o", "job") as one, prompt.start_crawl(site.url(), "-o", "job") as two:
        until(lambda: not (one.alive and two.alive), "one of them gives up")
        first, second = (one, two) if one.alive else (two, one)
        one_line(second.wait(), USAGE, f"in use by process {first.pid}")
        assert first.wait().code == FINISHED
    paths = [hit.path for hit in site.hits()]
    assert len(paths) == len(set(paths)) == 131


def test_the_lock_of_a_killed_crawl_is_no_obstacle(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve(chain(30))
    with prompt.start_crawl(site.url(), "-o", "job") as first:
        until(lambda: len(site.hits()) > 5, "some pages")
        first.signal(signal.SIGKILL)
        first.process.wait()
    assert json.loads((prompt.cwd / "job" / "lock").read_text())["pid"] == first.pid
    said = prompt.crawl(site.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    assert "carrying on" in said.err
    assert set(kept(prompt).values()) == {"OK"}
    assert len(kept(prompt)) == 30


# --- folders that cannot be written ----------------------------------------------------------------------------------


def test_a_folder_that_may_not_be_written(prompt: Prompt) -> None:
    folder = prompt.cwd / "mine"
    folder.mkdir(0o555)
    how: dict[str, Any] = {}
    if root:  # who else obeys no permissions
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv")
        how["program"] = ["setpriv", "--bounding-set=-dac_override", sys.executable, "-m", "nephila"]
    one_line(prompt.crawl("http://127.0.0.1:9/", "-o", "mine", **how), USAGE, "mine", "Permission denied")
    one_line(prompt.crawl("http://127.0.0.1:9/", "-o", "mine/below", **how), USAGE, "below", "Permission denied")


@pytest.fixture
def mount(prompt: Prompt) -> Iterator[Callable[..., Path]]:
    """mount(options) → a small file system of its own at `disk`."""
    place = prompt.cwd / "disk"
    place.mkdir()
    made = []

    def make(*how: str) -> Path:
        if subprocess.run(["mount", *how, str(place)], capture_output=True, check=False).returncode:
            pytest.skip("this user cannot mount a small file system")
        made.append(place)
        return place

    yield make
    for _ in made:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_disk(prompt: Prompt, done: Path, mount: Callable[..., Path], site: SiteServer) -> None:
    disk = mount("--bind", "-o", "ro", str(done))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(disk)], check=True)
    one_line(prompt.crawl_here(site.url(), "-o", "disk"), USAGE, "disk/lock", "Read-only file system")
    said = prompt.here("status", "disk")
    assert said.code == FINISHED, said.text
    assert "kept 24" in said.out


def test_a_full_disk_ends_with_6_and_loses_nothing(
    prompt: Prompt, mount: Callable[..., Path], serve: Callable[..., SiteServer]
) -> None:
    site = serve({"/": sites.page([f"/{i}" for i in range(60)], "start")} | noise(60))
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    said = prompt.crawl(site.url(), "-o", "disk/job")
    assert said.code == DISK, said.text
    assert "No space left" in said.out or "no space left" in said.out
    status = prompt.here("status", "disk/job", "--json")
    assert json.loads(status.out)["state"] in ("disk", "interrupted"), status.text
    subprocess.run(["mount", "-o", "remount,size=16m", str(prompt.cwd / "disk")], check=True)
    said = prompt.crawl_here(site.url(), "-o", "disk/job")
    assert said.code == FINISHED, said.text
    assert set(prompt.outcomes("disk/job").values()) == {"OK"}
    assert len(prompt.outcomes("disk/job")) == 61
    assert archive_text(prompt.cwd / "disk" / "job").count(b"WARC-Type: response") == 62


@pytest.mark.parametrize("size", ["0", long("8k"), "64k", long("128k"), "200k"])
def test_a_disk_that_was_full_before_the_first_page(
    size: str, prompt: Prompt, mount: Callable[..., Path], site: SiteServer
) -> None:
    """Wherever in the start the space runs out: 6, a sentence, and the same command goes on later."""
    disk = mount("-t", "tmpfs", "-o", "size=1m", "tmpfs")
    room = {"0": 0, "8k": 8 << 10, "64k": 64 << 10, "128k": 128 << 10, "200k": 200 << 10}[size]
    fill(disk / "ballast", room)
    said = prompt.crawl(site.url(), "-o", "disk/job")
    assert said.code == DISK, said.text
    assert "space left" in (said.out + said.err).lower(), said.text
    (disk / "ballast").unlink()
    said = prompt.crawl_here(site.url(), "-o", "disk/job")
    assert said.code == FINISHED, said.text
    assert len(prompt.outcomes("disk/job")) == PAGES


def fill(file: Path, room: int) -> None:
    """Fill a disk up to this many bytes."""
    file.parent.mkdir(exist_ok=True)
    free = shutil.disk_usage(file.parent).free
    with file.open("wb") as out:
        out.write(b"x" * max(free - room, 0))


def noise(n: int) -> dict[str, Answer | bytes | list[Answer]]:
    """Pages that hardly compress, 30 kB each, no two alike."""
    import random

    dice = random.Random(6)
    return {f"/{i}": Answer(dice.randbytes(30_000), media_type="application/octet-stream") for i in range(n)}


def test_a_file_that_may_not_grow_ends_with_6(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """The same by a limit on the size of files, which needs no mount."""
    site = serve({"/": sites.page([f"/{i}" for i in range(60)], "start")} | noise(60))

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))

    said = prompt.crawl(site.url(), "-o", "job", before=limited)
    assert said.code == DISK, said.text
    said = prompt.crawl(site.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    assert set(kept(prompt).values()) == {"OK"}
    assert len(kept(prompt)) == 61


def test_a_reserve_larger_than_the_disk(prompt: Prompt, site: SiteServer) -> None:
    said = prompt.crawl_here(site.url(), "-o", "job", "--min-free", "900TB")
    assert said.code == DISK, said.text
    assert "bytes are free on the disk (--min-free 900,000,000,000,000)" in said.out
    said = prompt.crawl_here(site.url(), "-o", "job", "--min-free", "0")
    assert said.code == FINISHED, said.text
    assert len(kept(prompt)) == PAGES


# --- state files that do not read back -------------------------------------------------------------------------------


def scribble(path: Path, at: int = 0, size: int = 100) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * size)


def truncate(path: Path, size: int) -> None:
    os.truncate(path, size if size >= 0 else path.stat().st_size + size)


DAMAGE: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "garbage header": (lambda job: scribble(job / "crawl.db"), BUG, "crawl.db does not read as a crawl database"),
    "garbage inside": (
        lambda job: scribble(job / "crawl.db", 4096, 40 * 4096),
        BUG,
        "crawl.db does not read as a crawl",
    ),
    "truncated": (lambda job: truncate(job / "crawl.db", 20_000), BUG, "crawl.db does not read as a crawl database"),
    "half a page": (lambda job: truncate(job / "crawl.db", 700), BUG, "crawl.db does not read as a crawl database"),
    "empty": (lambda job: truncate(job / "crawl.db", 0), BUG, "crawl.db"),
    "missing": (lambda job: (job / "crawl.db").unlink(), BUG, "crawl.db is missing"),
    "no table": (lambda job: execute(job, "DROP TABLE visit"), BUG, "crawl.db does not read as a crawl database"),
    "newer": (lambda job: execute(job, "UPDATE meta SET value = '99' WHERE key = 'schema'"), USAGE, "newer Nephila"),
    "no schema": (lambda job: execute(job, "DELETE FROM meta WHERE key = 'schema'"), BUG, "does not read as a crawl"),
    "settings garbage": (lambda job: scribble(job / "crawl.toml"), USAGE, "crawl.toml cannot be read as settings"),
    "settings half": (lambda job: truncate(job / "crawl.toml", 300), USAGE, "crawl.toml cannot be read as settings: "),
    "settings cut": (
        lambda job: (job / "crawl.toml").write_text((job / "crawl.toml").read_text().split("# how far", 1)[0]),
        USAGE,
        "crawl.toml cannot be read as settings: its end is missing",
    ),
    "settings missing": (lambda job: (job / "crawl.toml").unlink(), BUG, "crawl.toml is missing"),
    "archive linked": (lambda job: relink(job / "archive"), USAGE, "Too many levels of symbolic links"),
}


def execute(job: Path, sql: str) -> None:
    con = sqlite3.connect(job / "crawl.db")
    con.execute(sql)
    con.commit()
    con.close()


def relink(archive: Path) -> None:
    """The archive file becomes a link to another place, and the database says that it was left open."""
    (file,) = archive.iterdir()
    elsewhere = archive.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    execute(archive.parent, "UPDATE archive SET closed = 0")


@pytest.mark.parametrize("name", list(DAMAGE))
def test_damage_is_named_and_nothing_starts_afresh(name: str, prompt: Prompt, done: Path, site: SiteServer) -> None:
    damage, code, words = DAMAGE[name]
    damage(done)
    archive = {path.name: path.read_bytes() for path in (done / "archive").iterdir()}
    before = len(site.hits())
    said = prompt.crawl_here(site.url(), "-o", "job")
    assert said.code == code, said.text
    assert words in said.out + said.err, said.text
    assert len(site.hits()) == before
    assert {path.name: path.read_bytes() for path in (done / "archive").iterdir()} == archive


@pytest.mark.parametrize("name", ["garbage header", "truncated", "empty", "missing", "no table", "newer", "no schema"])
def test_readers_refuse_a_damaged_database_too(name: str, prompt: Prompt, done: Path) -> None:
    damage, code, _ = DAMAGE[name]
    damage(done)
    for command in (["status", "job"], ["export", "jsonl", "job", "--to", "-"]):
        said = prompt.here(*command)
        assert said.code in (code, USAGE), said.text
        assert said.err.count("\n") == 1
        assert "crawl.db" in said.err


@pytest.mark.parametrize("name", list(DAMAGE))
def test_fresh_helps_against_any_damage(name: str, prompt: Prompt, done: Path, site: SiteServer) -> None:
    damage, _, _ = DAMAGE[name]
    damage(done)
    said = prompt.crawl_here(site.url(), "-o", "job", "--fresh")
    assert said.code == FINISHED, said.text
    assert len(kept(prompt)) == PAGES
    (old,) = prompt.cwd.glob("job.2*")
    assert [path.name for path in (old / "archive").iterdir()] == ["127.0.0.1-0-00000.warc.gz"]


def test_fresh_moves_a_database_that_lies_elsewhere(prompt: Prompt, site: SiteServer, tmp_path: Path) -> None:
    options = ["-o", "job", "--state-dir", str(tmp_path / "state")]
    assert prompt.crawl_here(site.url(), *options, "--max-pages", "3").code == LIMIT
    said = prompt.crawl_here(site.url(), *options, "--fresh")
    assert said.code == FINISHED, said.text
    (old,) = prompt.cwd.glob("job.2*")
    assert len(prompt.outcomes(old.name)) == 3
    assert "kept 24" in prompt.here("status", "job").out


def test_a_deleted_log_begins_anew(prompt: Prompt, done: Path, site: SiteServer) -> None:
    (done / "log.jsonl").unlink()
    assert prompt.crawl_here(site.url(), "-o", "job").code == FINISHED
    assert "crawl.end" in (done / "log.jsonl").read_text()


def test_a_log_that_cannot_be_written_stops_nothing(prompt: Prompt, site: SiteServer) -> None:
    job = prompt.cwd / "job"
    assert prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "3").code == LIMIT
    (job / "log.jsonl").unlink()
    (job / "log.jsonl").mkdir()
    said = prompt.crawl_here(site.url(), "-o", "job", "--max-pages", "0")
    assert said.code == FINISHED, said.text
    assert len(kept(prompt)) == PAGES


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_what_an_archive_file_lost_is_fetched_again(
    how: str, prompt: Prompt, serve: Callable[..., SiteServer], tmp_path: Path
) -> None:
    """Killed, and the archive file is cut by 100 bytes, or gone: those pages are asked for again, the others are not."""
    site = serve(chain(40))
    with prompt.start_crawl(site.url(), "-o", "job") as first:
        until(lambda: len(site.hits()) > 10, "some pages")
        first.kill()
    job = prompt.cwd / "job"
    con = sqlite3.connect(job / "crawl.db")
    committed, _ = con.execute("SELECT max(committed), count(*) FROM archive").fetchone()
    con.close()
    (file,) = (job / "archive").iterdir()
    if how == "cut":
        os.truncate(file, committed - 100)
    else:
        file.unlink()
    said = prompt.crawl_here(site.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    assert f"{file.name} does not read back as written" in said.err
    assert set(kept(prompt).values()) == {"OK"}
    assert len(kept(prompt)) == 40
    text = archive_text(job)
    for i in range(40):
        target = site.url(f"/{i}" if i else "/").encode()
        assert text.count(b"WARC-Type: response\r\nWARC-Target-URI: " + target + b"\r\n") == 1 or (
            text.count(b"WARC-Target-URI: " + target + b"\r\n") == 3
        )


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_finished_folder_whose_archive_lost_pages_says_so(
    how: str, prompt: Prompt, done: Path, site: SiteServer
) -> None:
    """The archive of a crawl that ended well was damaged afterwards: those pages are fetched again, none is forgotten."""
    (file,) = (done / "archive").iterdir()
    os.truncate(file, file.stat().st_size - 100) if how == "cut" else file.unlink()
    said = prompt.crawl_here(site.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    assert f"{file.name} does not read back as written" in said.err, said.text
    assert len(kept(prompt)) == PAGES
    assert prompt.here("export", "mirror", "job").code == FINISHED
    assert archive_text(done).count(b"WARC-Type: response") >= PAGES
