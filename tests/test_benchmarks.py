"""The measuring itself: costs are those of all processes, a hung tool ends, tables are medians, results replace their own section only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import measure, sites
from benchmarks.servers import Nginx
from benchmarks.sites import Run, reachable, report, save
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
    assert reachable(tmp_path) == 3


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


@pytest.mark.parametrize(("site", "pages"), [("postgres", 1000), ("python", 500)])
def test_the_real_sites_are_served_whole(real_site: ServeSite, site: str, pages: int) -> None:
    server = real_site(site, 2)
    for mount in ("m1", "m2"):
        _get(server, f"/{mount}/index.html")
    assert [hit.status for hit in server.log_lines()] == [200, 200]
    assert reachable(sites.SITES[{"postgres": "A", "python": "B"}[site]].folder()) > pages
