"""status, pause, resume, stop and the terminal's signals: a crawl does as it is told, and what it had is kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands.stranger import (
    FINISHED,
    INTERRUPTED,
    LIMIT,
    USAGE,
    Answer,
    Listener,
    Prompt,
    Running,
    SiteServer,
    archive_text,
    chain,
    sites,
    until,
)

KEYS = {"state", "found", "queued", "in_flight", "outcomes", "bytes", "seconds", "pages_per_second"}


@pytest.fixture
def site(serve: Callable[..., SiteServer]) -> SiteServer:
    """40 pages, one after the other, two seconds in all."""
    return serve(chain(40))


@pytest.fixture
def quick(serve: Callable[..., SiteServer]) -> SiteServer:
    """31 addresses: `/` and `/0.html` are the same page."""
    return serve(sites.synthetic(30, 5, 500))


def status(prompt: Prompt) -> dict[str, Any]:
    said = prompt.here("status", "job", "--json")
    assert said.code == FINISHED, said.text
    return dict(json.loads(said.out))


def some_pages(site: SiteServer, n: int = 8) -> None:
    start = len(site.hits())
    until(lambda: len(site.hits()) >= start + n, f"{n} requests")


def sums(prompt: Prompt) -> dict[str, object]:
    """What the database says: the numbers that `status` has to give for a crawl that does not run."""
    outcomes = prompt.rows(
        "job", "SELECT v.outcome, count(*) FROM visit v JOIN url u ON u.id = v.url WHERE u.kind != 'robots' GROUP BY 1"
    )
    ((found,),) = prompt.rows("job", "SELECT count(*) FROM url WHERE state IN ('queued', 'done') AND kind != 'robots'")
    ((queued,),) = prompt.rows("job", "SELECT count(*) FROM url WHERE state = 'queued' AND kind != 'robots'")
    ((size,),) = prompt.rows("job", "SELECT sum(bytes) FROM visit")
    return {"outcomes": dict(outcomes), "found": found, "queued": queued, "bytes": size, "in_flight": 0}


def everything_once(prompt: Prompt, site: SiteServer, pages: int) -> None:
    """All pages are kept, each with one outcome and one response in the archive."""
    assert len(prompt.outcomes("job")) == pages
    assert set(prompt.outcomes("job").values()) == {"OK"}
    assert archive_text(prompt.cwd / "job").count(b"WARC-Type: response") == pages + 1


def test_pause_resume_stop_and_status_of_a_running_crawl(prompt: Prompt, site: SiteServer) -> None:
    with prompt.start_crawl(site.url(), "-o", "job") as crawl:
        some_pages(site)
        running = status(prompt)
        assert running.keys() >= KEYS
        assert (running["state"], running["workers"]) == ("running", 0)
        assert running["found"] == running["queued"] + sum(running["outcomes"].values())
        assert prompt.here("pause", "job").out == "paused\n"
        until(lambda: status(prompt)["in_flight"] == 0, "nothing under way")
        asked = len(site.hits())
        assert status(prompt)["state"] == "paused"
        until(lambda: "paused" in {one["what"] for one in status(prompt)["limited_by"]}, "it says what it waits for")
        assert prompt.here("resume", "job").out == "going on\n"
        some_pages(site)
        assert len(site.hits()) > asked
        assert prompt.here("stop", "job").out == "stopping; nephila crawl -o DIR carries on\n"
        said = crawl.wait()
    assert said.code == INTERRUPTED, said.text
    assert "Next:\n  nephila crawl -o job " in said.out
    ended = status(prompt)
    assert ended["state"] == "interrupted"
    assert {key: ended[key] for key in sums(prompt)} == sums(prompt)
    assert prompt.crawl("-o", "job").code == FINISHED
    everything_once(prompt, site, 40)
    ended = status(prompt)
    assert ended["state"] == "finished"
    assert {key: ended[key] for key in sums(prompt)} == sums(prompt)
    assert ended["seconds"] > 1.5
    assert ended["pages_per_second"] == pytest.approx(40 / ended["seconds"], rel=0.02)


def test_a_pause_survives_a_restart(prompt: Prompt, site: SiteServer) -> None:
    with prompt.start_crawl(site.url(), "-o", "job") as crawl:
        some_pages(site)
        assert prompt.here("pause", "job").code == FINISHED
        assert prompt.here("stop", "job").code == FINISHED
        assert crawl.wait().code == INTERRUPTED
    assert status(prompt)["state"] == "paused"
    asked = len(site.hits())
    with prompt.start_crawl("-o", "job") as crawl:
        until(lambda: "carrying on" in crawl.said()[1], "it is up")
        until(lambda: json.loads((prompt.cwd / "job" / "lock").read_text() or "{}").get("control"), "it listens")
        assert "the crawl is paused, as it was: `nephila resume job` lets it go on" in crawl.said()[1]
        assert (status(prompt)["state"], len(site.hits())) == ("paused", asked)
        assert prompt.here("resume", "job").code == FINISHED
        assert crawl.wait().code == FINISHED
    everything_once(prompt, site, 40)


def test_steering_a_folder_where_nothing_runs(prompt: Prompt, quick: SiteServer) -> None:
    assert prompt.crawl_here(quick.url(), "-o", "job").code == FINISHED
    for verb in ("pause", "resume", "stop"):
        said = prompt.here(verb, "job")
        assert (said.code, said.err) == (USAGE, "nephila: no crawl is running in job\n")
    said = prompt.here("status", "nowhere")
    assert (said.code, said.err.count("\n")) == (USAGE, 1)


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, "2"), (signal.SIGTERM, "0"), (signal.SIGHUP, "0")])
def test_one_signal_drains(number: int, workers: str, prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve(chain(16, 0.08))
    with prompt.start_crawl(site.url(), "-o", "job", "--workers", workers) as crawl:
        some_pages(site, 6)
        crawl.signal(number)
        said = crawl.wait()
    assert said.code == INTERRUPTED, said.text
    assert "stopping: running requests get 2 s" in said.err
    answered = len(site.hits()) - 1
    assert len(prompt.outcomes("job")) == answered, "the request under way was not waited for"
    assert status(prompt)["state"] == "interrupted"
    assert prompt.crawl_here("-o", "job").code == FINISHED
    everything_once(prompt, site, 16)


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.long)])
def test_a_second_signal_stops_at_once(workers: str, prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    slow = {"/": sites.page(["/slow"], "start"), "/slow": [Answer(sites.page([], "slow"), delay_s=20), Answer(b"now")]}
    site = serve(slow)
    with prompt.start_crawl(site.url(), "-o", "job", "--workers", workers, config="drain_s = 15") as crawl:
        until(lambda: any(hit.path == "/slow" for hit in site.hits()), "the slow page")
        crawl.signal(signal.SIGINT)
        until(lambda: "once more: stop now" in crawl.said()[1], "it says so")
        crawl.signal(signal.SIGINT)
        said = crawl.wait(5)
    assert said.code == INTERRUPTED, said.text
    assert prompt.crawl_here("-o", "job").code == FINISHED
    everything_once(prompt, site, 2)


def test_a_crawl_that_finished_sends_nothing_more(prompt: Prompt, quick: SiteServer) -> None:
    assert prompt.crawl_here(quick.url(), "-o", "job").code == FINISHED
    asked = len(quick.hits())
    said = prompt.crawl(quick.url(), "-o", "job")
    assert said.code == FINISHED, said.text
    assert said.out.startswith("finished on 20")
    assert "UTC; `revisit` fetches what changed, `--fresh` starts anew" in said.out
    assert len(quick.hits()) == asked
    again = prompt.crawl_here(quick.url(), "-o", "job")
    assert again.out.splitlines()[0] == said.out.splitlines()[0], "the day it finished has changed"
    assert status(prompt)["state"] == "finished"


def test_fresh_renames_the_old_folder(prompt: Prompt, quick: SiteServer) -> None:
    assert prompt.crawl_here(quick.url(), "-o", "job", "--max-pages", "5").code == LIMIT
    said = prompt.crawl_here(quick.url(), "-o", "job", "--fresh")
    assert said.code == FINISHED, said.text
    (old,) = prompt.cwd.glob("job.2*")
    assert f"the former crawl was renamed to {old.name}" in said.err
    assert len(prompt.outcomes(old.name)) == 5
    assert len(prompt.outcomes("job")) == 31


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_limit_of_pages(workers: str, prompt: Prompt, quick: SiteServer) -> None:
    options = ["-o", "job", "--workers", workers, "--per-host", "8"]
    said = prompt.crawl_here(quick.url(), *options, "--max-pages", "7")
    assert said.code == LIMIT, said.text
    assert list(prompt.outcomes("job").values()) == ["OK"] * 7
    asked = len(quick.hits())
    assert asked <= 8  # never more leased than may be kept, and robots.txt
    said = prompt.crawl_here(quick.url(), *options, "--max-pages", "7")
    assert said.code == LIMIT, said.text
    assert "--max-pages N" in said.out
    assert len(quick.hits()) == asked
    assert status(prompt)["state"] == "limit"
    assert prompt.crawl_here(quick.url(), *options, "--max-pages", "12").code == LIMIT
    assert len(prompt.outcomes("job")) == 12
    assert prompt.crawl_here(quick.url(), *options, "--max-pages", "31").code == FINISHED
    assert len(prompt.outcomes("job")) == 31
    assert len(quick.hits()) == 32


def test_a_limit_of_bytes_and_of_time(prompt: Prompt, quick: SiteServer, site: SiteServer) -> None:
    assert prompt.crawl_here(quick.url(), "-o", "job", "--max-bytes", "2000").code == LIMIT
    ((size,),) = prompt.rows("job", "SELECT sum(bytes) FROM visit")
    assert 2000 <= size < 3200
    assert prompt.crawl_here(site.url(), "-o", "timed", "--max-time", "0.5").code == LIMIT
    assert 0 < len(prompt.outcomes("timed")) < 20


def test_progress_through_a_pipe_is_a_line_per_ten_seconds(prompt: Prompt, site: SiteServer) -> None:
    said = prompt.crawl(site.url(), "-o", "job")
    lines = said.err.splitlines()
    assert [line.split(";")[0].rpartition(" ")[0] for line in lines] == ["nephila: running", "nephila: finished"]
    assert "\x1b" not in said.err + said.out


def test_json_is_one_object_and_progress_lines(prompt: Prompt, quick: SiteServer) -> None:
    said = prompt.crawl(quick.url(), "-o", "job", "--json")
    result = json.loads(said.out)
    assert (result["exit_code"], result["reason"], result["outcomes"]) == (0, "finished", {"OK": 31})
    assert result.keys() >= KEYS
    assert all(isinstance(json.loads(line), dict) for line in said.err.splitlines())
    quiet = prompt.here("crawl", quick.url(), "-o", "other", "--quiet", "--delay", "0", "--workers", "0")
    assert (quiet.out, quiet.err) == ("", "")


def test_views_of_a_running_crawl(prompt: Prompt, site: SiteServer) -> None:
    with prompt.start_crawl(site.url(), "-o", "job") as crawl:
        some_pages(site, 12)
        jsonl = prompt.run("export", "jsonl", "job", "--to", "-")
        visits = [json.loads(line) for line in jsonl.out.splitlines()]
        assert len(visits) >= 8
        assert jsonl.err == ""
        assert prompt.here("export", "urls", "job").code == FINISHED
        urls = (prompt.cwd / "job" / "views" / "urls.txt").read_text().split()
        assert urls[:3] == [site.url(), site.url("/1"), site.url("/2")]
        mirror = prompt.here("export", "mirror", "job", "--to", "copy")
        assert mirror.code == FINISHED, mirror.text
        assert (prompt.cwd / "copy" / "index.html").exists()
        assert crawl.wait().code == FINISHED
    everything_once(prompt, site, 40)


def test_a_reader_that_leaves_early(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """`export jsonl DIR --to - | head -1` ends quietly, with far more to say than a pipe holds."""
    site = serve(sites.synthetic(400, 20, 300))
    assert prompt.crawl_here(site.url(), "-o", "job", "--per-host", "8").code == FINISHED
    command = f"{sys.executable} -m nephila export jsonl job --to - | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=prompt.cwd, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kind"] in ("robots", "page")


def test_nobody_is_left_behind(prompt: Prompt, site: SiteServer) -> None:
    """Whoever stops a crawl with workers finds none of them afterwards, and no control socket."""
    with prompt.start_crawl(site.url(), "-o", "job", "--workers", "2") as crawl:
        some_pages(site)
        socket = Path(json.loads((prompt.cwd / "job" / "lock").read_text())["control"])
        assert socket.stat().st_mode & 0o777 == 0o600
        assert (prompt.cwd / "job").stat().st_mode & 0o777 == 0o700
        workers = status(prompt)["workers"]
        assert prompt.here("stop", "job", "--now").code == FINISHED
        assert crawl.wait().code == INTERRUPTED
        assert workers == 2
        until(lambda: not _group(crawl), "no process of the group")
    assert not socket.exists()
    assert (prompt.cwd / "job" / "lock").read_text() == ""


def _group(crawl: Running) -> list[str]:
    done = subprocess.run(["ps", "-o", "pid=,stat=", "-g", str(crawl.pid)], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "Z" not in line.split()[1]]


def test_a_seed_that_came_later_is_added(prompt: Prompt, quick: SiteServer) -> None:
    with Listener({"/more": sites.page([], "more")}) as other:
        assert prompt.crawl_here(quick.url(), "-o", "job").code == FINISHED
        said = prompt.crawl_here(quick.url(), other.url("/more"), "-o", "job")
        assert said.code == FINISHED, said.text
        assert "1 new seeds were added" in said.err
        assert other.asked() == ["/more"]
    assert len(prompt.outcomes("job")) == 32


def test_what_the_control_socket_refuses(prompt: Prompt, site: SiteServer) -> None:
    """A wrong request is answered with an error; the crawl does not notice."""
    from nephila.control import ask

    job = prompt.cwd / "job"
    with prompt.start_crawl(site.url(), "-o", "job") as crawl:
        some_pages(site)
        wrong = {"verb": "set", "values": {"delay": "soon"}}, {"verb": "set", "values": {"dlay": "1"}}
        answers = [ask(job, request) or {} for request in wrong]
        assert "auto or a duration is expected" in answers[0]["error"]
        assert "did you mean delay?" in answers[1]["error"]
        assert (
            "cannot be set while a crawl runs" in (ask(job, {"verb": "set", "values": {"workers": 2}}) or {})["error"]
        )
        assert "a request has a verb" in (ask(job, {"verb": "fly"}) or {})["error"]
        assert (ask(job, {"verb": "set", "values": {"max_pages": 30}}) or {})["ok"] == "max_pages = 30"
        said = crawl.wait()
    assert said.code == LIMIT, said.text
    assert len(prompt.outcomes("job")) == 30


def test_rules_that_are_set_while_it_runs(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    """What is excluded is not asked for any more, what was excluded before comes back; crawl.toml and the log know, and the next
    start finds nothing to do."""
    site = serve(
        {"/": Answer(sites.page([f"/{word}/{n}" for n in range(20) for word in ("a", "b", "c")]), delay_s=0)}
        | {f"/{word}/{n}": Answer(sites.page([], word), delay_s=0.03) for n in range(20) for word in ("a", "b", "c")}
    )
    with prompt.start_crawl(site.url(), "-o", "job", "--exclude", "/a/", "--workers", "2") as crawl:
        some_pages(site)
        assert prompt.here("pause", "job").code == FINISHED  # or a busy machine is through before it has been asked
        told = prompt.here("set", "job", "exclude-=/a/", "exclude+=/b/", "--preview")
        assert told.out.startswith("20 refused URLs would be queued, ")
        assert f"\n  back: {site.url('/a/0')}\n" in told.out
        said = prompt.here("set", "job", "exclude-=/a/", "exclude+=/b/", "max-time=1h", "--json")
        answer = json.loads(said.out)
        written = (prompt.cwd / "job" / "crawl.toml").read_text()
        assert prompt.here("resume", "job").code == FINISHED
        assert crawl.wait().code == FINISHED
    paths = [hit.path for hit in site.hits() if len(hit.path) < 20]  # the others are names that nobody has
    assert sum(path.startswith("/a/") for path in paths) == answer["effect"]["back"] == 20
    assert 20 - sum(path.startswith("/b/") for path in paths) <= answer["effect"]["gone"] + 2
    assert answer["text"].startswith(
        "exclude = ['/b/']; max_time = 3600.0; the rules changed: 20 refused URLs are queued"
    )
    outcomes = prompt.outcomes("job")
    assert {url.removeprefix(site.url("")) for url in outcomes} >= set(paths) - {"/robots.txt"}
    assert set(outcomes.values()) <= {"OK", "SKIPPED"}
    log = (prompt.cwd / "job" / "log.jsonl").read_text()
    assert log.count('"event":"rules.changed","back":20') == 1
    assert log.count('"key":"exclude","old":"[\'/a/\']","new":"[\'/b/\']"') == 1
    asked = len(site.hits())
    again = prompt.crawl_here("-o", "job")
    assert (again.code, len(site.hits())) == (FINISHED, asked)
    assert "the rules changed" not in again.err
    assert 'exclude = ["/b/"]\n' in written
    assert "max_time = 3600.0\n" in written


def test_one_host_is_steered(prompt: Prompt, serve: Callable[..., SiteServer]) -> None:
    site = serve(chain(40), hosts=2)
    name, other = (site.url("", host=n).removesuffix("/") for n in (1, 2))

    def asked_of(name: str) -> int:
        return sum(hit.host in name for hit in site.hits())

    with prompt.start_crawl(site.url(), site.url(host=2), "-o", "job") as crawl:
        some_pages(site)
        assert prompt.here("host", "job", name, "pause").out == f"pause: {name}\n"
        until(lambda: asked_of(other) > asked_of(name) + 3, "the other one alone")
        assert prompt.here("host", "job", "127.0.0.1", "resume").code == FINISHED
        before = asked_of(name)
        until(lambda: asked_of(name) > before + 3, "both again")
        assert prompt.here("host", "job", "nowhere.example", "drop").out == "no such host: nowhere.example\n"
        said = json.loads(prompt.here("host", "job", name, "drop", "--json").out)
        assert (said["action"], said["text"]) == ("drop", f"drop: {name}")
        assert crawl.wait().code == FINISHED
    assert len(prompt.outcomes("job")) < 80
    assert {prompt.outcomes("job")[f"{other}/{n}"] for n in range(1, 40)} == {"OK"}
