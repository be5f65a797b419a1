"""A whole crawl of a real FTP server: killed and carried on, archived, and opened as a mirror."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crash.compare import archive, unlisted
from crash.run import ONE_WORKER, finish, start
from ftpserver import RealFtp

from nephila.fetch.decode import decode
from nephila.page.listing import entries
from nephila.views.mirror import mirror
from nephila.views.source import Source

FOLDERS, FILES = 6, 20
RUNS = 3


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 files of 3 kB in 6 folders, one of which is too large for memory, and a folder that holds itself."""
    folder = tmp_path_factory.mktemp("ftp")
    for i in range(FOLDERS):
        (folder / f"pub {i}").mkdir()
        for j in range(FILES):
            (folder / f"pub {i}" / f"file-{i}-{j}.tar.gz").write_bytes(f"{i} {j}\n".encode() * 500)
    (folder / "pub 0" / "file-0-0.tar.gz").write_bytes(b"large" * 500_000)
    (folder / "pub 1" / "self").symlink_to(".")
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /pub%202/\n")
    return folder


def test_killed_and_carried_on(root: Path, tmp_path: Path) -> None:
    """Every file once and whole, what robots.txt forbids not at all; the mirror is the tree."""
    folder = tmp_path / "job"
    with RealFtp(root) as server:
        for sent in (20, 60):
            with start(server.url(), folder, *ONE_WORKER) as crawl:
                server.wait_for(sent)
                crawl.kill()
                crawl.wait(10)
                crawl.wait_alone()
        finish(start(server.url(), folder, *ONE_WORKER))
        host = f"127.0.0.1_{server.port}"
    assert archive(folder).complaints + unlisted(folder) == []
    with Source(folder, decode) as source:
        outcomes = {kept.url.partition(f":{server.port}")[2]: (kept.outcome, kept.reason) for kept in source.visits()}
        listing = next(kept for kept in source.pages() if kept.url.endswith("/pub%200/"))
        named = {entry.name.decode(): entry.size for entry in entries(source.content(listing).content, listing.started)}
    assert outcomes["/pub%202/"] == ("DENIED", "robots_disallow")
    files = {url for url, (outcome, _) in outcomes.items() if outcome == "OK" and url.endswith(".gz")}
    assert len({url for url in files if "/self/" not in url}) == 100
    circles = {url: outcome for url, (outcome, _) in outcomes.items() if url.endswith("/self/")}
    assert len(circles) <= RUNS  # a run that begins knows no listing yet
    assert circles[max(circles, key=len)] == "MOVED"
    assert named["file-0-0.tar.gz"] == 2_500_000

    with Source(folder, decode) as source:
        assert mirror(source, tmp_path / "mirror").unreadable == []
    for path in root.glob("pub [01345]/*.gz"):
        assert (tmp_path / "mirror" / host / path.relative_to(root)).read_bytes() == path.read_bytes()
    page = (tmp_path / "mirror" / host / "pub 1" / "index.html").read_text()
    assert '<a href="file-1-7.tar.gz">file-1-7.tar.gz</a></td><td>2,000</td>' in page
    index = [json.loads(line) for line in (tmp_path / "mirror" / "index.jsonl").read_text().splitlines()]
    assert {row["media_type"] for row in index} == {"application/gzip", "text/x-ftp-listing"}
