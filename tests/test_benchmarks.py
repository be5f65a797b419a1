"""The measuring itself: costs are those of all processes, a hung tool ends, tables are medians, results replace their own section only."""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

import pytest
from benchmarks import floor, measure, sites
from benchmarks.servers import Nginx
from benchmarks.sites import Run, reachable, report, save
from benchmarks.tools import Kept, Tool, Work, tools
from realsites import ServeSite

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_cpu_of_children_counts(tmp_path: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    cost = measure.run([sys.executable, "-c", child], tmp_path, 30)
    assert cost.code == 0
    assert 0.3 <= cost.cpu_s <= cost.wall_s + 0.1


def test_memory_of_children_counts(tmp_path: Path) -> None:
    """Two processes that hold 60 MB each for longer than three looks."""
    hold = "import time; held = bytearray(b'x') * 60_000_000; time.sleep(0.7)"
    child = f"import subprocess, sys; other = subprocess.Popen([sys.executable, '-c', {hold!r}]); {hold}; other.wait()"
    cost = measure.run([sys.executable, "-c", child], tmp_path, 30)
    assert cost.memory_bytes > (120_000_000 if sys.platform == "linux" else 60_000_000)


def test_memory_of_whoever_measures_does_not_count(tmp_path: Path) -> None:
    held = bytearray(b"x") * 150_000_000
    cost = measure.run(["sleep", "0.4"], tmp_path, 30)
    assert 0 < cost.memory_bytes < len(held) // 2


def test_a_hung_tool_is_ended(tmp_path: Path) -> None:
    cost = measure.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.3)
    assert cost.code == -9
    assert cost.wall_s < 5


def test_reachable_follows_links_of_pages_only(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        "<a href='sub/a.html#x'>a</a> <a class=k href=\"gone.html\">g</a> <a href='../out.html'>"
    )
    (tmp_path / "sub" / "a.html").write_text(
        '<A HREF="../b.html?q">b</A> <a href="../index.html">i</a> <link href="../c.html">'
    )
    for name in ("b.html", "c.html", "alone.html"):
        (tmp_path / name).write_text("")
    assert reachable(tmp_path) == ["b.html", "index.html", "sub/a.html"]


def test_ratios_are_taken_within_a_round() -> None:
    """The machine was four times slower in the second round, for both: the ratio stays 2."""
    rounds = [
        {"nephila": Run(1.0, 2.0, 10_000_000), "wget2": Run(2.0, 1.0, 20_000_000)},
        {"wget2": Run(8.0, 4.0, 30_000_000), "nephila": Run(4.0, 8.0, 10_000_000)},
        {"nephila": Run(1.0, 2.0, 10_000_000)},
    ]
    text = report("A", sites.SITES["A"], 20, 100, rounds)
    assert "| nephila | 2,000 | 1.00 | 2.00 | 1,000 | 10 | 1.00 (1.00-1.00) | 1.00 (1.00-1.00) | 3 of 3 |" in text
    assert "| wget2 | 400 | 5.00 | 2.50 | 800 | 30 | 2.00 (2.00-2.00) | 0.50 (0.50-0.50) | 2 of 3 |" in text


def test_marks_are_medians_of_the_ratios_within_a_round() -> None:
    """Nephila needs 1.25 times wget2's time, just enough on A; two thirds of wget's with a WARC; 2.5 times the floor's CPU."""
    quiet = {"nephila": Run(1.0, 2.0, 0), "wget2": Run(0.8, 1.0, 0), "wget-warc": Run(1.5, 9.0, 0)}
    quiet["floor"] = Run(9.0, 0.8, 0, {"fetch": 0.1, "parse": 0.4, "append": 0.3})
    busy = {name: Run(3 * run.wall_s, 3 * run.cpu_s, 0, {}) for name, run in quiet.items() if name != "floor"}
    text = report("A", sites.SITES["A"], 20, 100, [quiet, busy])
    assert text.endswith(
        """Marks:

- At least 0.80 x the speed of wget2 (wall time): 0.80 (0.80-0.80), met.
- At least 2.00 x the speed of wget --warc-file (wall time): 1.50 (1.50-1.50), missed.
- At least 50% of the floor's pages per CPU second: 40% (40%-40%), missed.
"""
    )
    assert "| floor (pycurl + parse + append) | 222 | 9.00 | 0.80 | 2,500 |" in text
    assert "per page, its start not counted: fetch 50, parse 200, append 150, together 400 µs." in text


def test_a_mark_without_both_tools_is_not_measured() -> None:
    text = report("B", sites.SITES["B"], 10, 100, [{"nephila": Run(1.0, 2.0, 0)}, {"wget2": Run(1.0, 1.0, 0)}])
    assert "- At least 0.60 x the speed of wget2 (wall time): not measured." in text


@pytest.mark.parametrize(("html", "code", "counts"), [(4, 0, True), (3, 0, False), (5, 0, False), (4, 3, False)])
def test_a_run_counts_with_exactly_the_pages_and_a_good_end(html: int, code: int, counts: bool) -> None:
    ended = ["/bin/sh", "-c", f"exit {code}"]
    tool = Tool("fake", lambda: "1", lambda work, folder: ended, lambda folder: Kept(html))
    assert (sites._run(tool, ["http://h/m1/", "http://h/m2/"], ["a b.html", "index.html"], 30) is not None) is counts


def test_a_tool_is_told_its_seeds_and_every_page() -> None:
    told: list[Work] = []

    def command(work: Work, folder: Path) -> list[str]:
        told.append(work)
        return ["true"]

    tool = Tool("fake", lambda: "1", command, lambda folder: Kept(2), mounts=1)
    assert sites._run(tool, ["http://h/m1/", "http://h/m2/"], ["a b.html", "index.html"], 30) is not None
    assert told == [Work(["http://h/m1/index.html"], ["http://h/m1/a%20b.html", "http://h/m1/index.html"])]


def test_the_cost_of_the_floor_is_that_of_its_parts() -> None:
    """Not that of the process, which has to start."""
    parts = {"fetch": 1.0, "parse": 2.0, "append": 4.0}
    tool = Tool("fake", lambda: "1", lambda work, folder: ["true"], lambda folder: Kept(1, parts=parts))
    run = sites._run(tool, ["http://h/m1/"], ["index.html"], 30)
    assert run is not None
    assert (run.cpu_s, run.parts) == (7.0, parts)


def test_pages_of_httrack_are_those_below_the_host(tmp_path: Path) -> None:
    host = tmp_path / "files" / "127.0.0.1_8080" / "m1"
    other = tmp_path / "files" / "hts-cache"
    for folder in (host / "deep", other):
        folder.mkdir(parents=True)
    for path in (host / "index.html", host / "deep" / "a-2.html", host / "a.css", other / "b.html"):
        path.touch()
    (tmp_path / "files" / "index.html").touch()
    assert tools()["httrack"].kept(tmp_path) == Kept(2)


def test_the_floor_says_pages_and_parts(nginx: ServeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five pages over two connections in batches of two: each is one gzip member of its own, once."""
    monkeypatch.setattr(floor, "BATCH", 2)
    site, bodies = tmp_path / "site", [f"<p>{number}".encode() for number in range(5)]
    site.mkdir()
    for number, body in enumerate(bodies):
        (site / f"{number}.html").write_bytes(body)
    url = nginx({"m1": site}).url
    (tmp_path / "urls.txt").write_text("\n".join(f"{url}/m1/{number}.html" for number in range(5)))
    floor.main(tmp_path / "urls.txt", tmp_path / "report.json", 2)
    kept = tools()["floor"].kept(tmp_path)
    assert kept.html == 5
    assert list(kept.parts) == ["fetch", "parse", "append"]
    assert min(kept.parts.values()) > 0
    archive = gzip.decompress((tmp_path / "floor.gz").read_bytes())
    assert sorted(archive.split(b"<p>")[1:]) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_floor_with_a_hole_is_none(nginx: ServeSite, tmp_path: Path) -> None:
    url = f"{nginx({'m1': tmp_path}).url}/m1/gone.html"
    with (tmp_path / "archive").open("wb") as archive, pytest.raises(RuntimeError, match=r"gone\.html: status 404"):
        floor.spend([url], archive.fileno(), 2)


def test_results_replace_their_own_section_only(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    path.write_text("# Side by side\n")
    for name, text in [("A", "old\n"), ("B", "other\n"), ("A", "new\n")]:
        save(name, text, path)
    expected = "# Side by side\n\n<!-- site A -->\nnew\n<!-- end of site A -->\n\n<!-- site B -->\nother\n<!-- end of site B -->\n"
    assert path.read_text() == expected


def test_nginx_logs_what_was_asked(nginx: ServeSite, tmp_path: Path) -> None:
    (tmp_path / "a b.html").write_text("hello")
    server = nginx({"m1": tmp_path}, "    location = /slow { return 503; }")
    for path in ("/m1/a%20b.html", "/m1/gone", "/slow"):
        _get(server, path)
    end = time.monotonic() + 10
    while len(server.log_lines()) < 3 and time.monotonic() < end:  # a line is written after its answer has gone out
        time.sleep(0.01)
    assert [(hit.path, hit.status, hit.method, hit.agent) for hit in server.log_lines()] == [
        ("/m1/a%20b.html", 200, "GET", 'quoted "agent"'),
        ("/m1/gone", 404, "GET", 'quoted "agent"'),
        ("/slow", 503, "GET", 'quoted "agent"'),
    ]


def _get(server: Nginx, path: str) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", path, headers={"User-Agent": 'quoted "agent"'})
    connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize(("site", "pages"), [("postgres", 1000), pytest.param("python", 500, marks=pytest.mark.long)])
def test_the_real_sites_are_served_whole(real_site: ServeSite, site: str, pages: int) -> None:
    server = real_site(site, 2)
    for mount in ("m1", "m2"):
        _get(server, f"/{mount}/index.html")
    assert [hit.status for hit in server.log_lines()] == [200, 200]
    assert len(reachable(sites.SITES[{"postgres": "A", "python": "B"}[site]].folder())) > pages
