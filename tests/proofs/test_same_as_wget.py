"""A site that somebody else wrote, crawled by Nephila and by wget: the same addresses asked for, the same bytes kept.

Two programs that share no code agree on every page, image and dead link of the documentation that Debian ships. No
difference is excused: whatever only one of them finds, or asks for twice, fails the test and is named.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from benchmarks.servers import Missing, Nginx, program
from crash.run import finish, start
from realsites import ServeSite

from nephila import db

FULL_SPEED = ("--delay", "0", "--per-host", "16")
AGENTS = {"nephila": "nephila/", "wget": "Wget/"}
WGET_ENDS = frozenset({0, 8})
"""8: some answer was an error page, which one dead link brings about."""
FILES_MIN = {"python": 500, "postgres": 1000}


@pytest.mark.parametrize("site", [pytest.param("python", marks=pytest.mark.long), "postgres"])
def test_same_addresses_and_same_bytes_as_wget(site: str, real_site: ServeSite, tmp_path: Path) -> None:
    server = real_site(site)
    seed = f"{server.url}/m1/index.html"
    finish(start(seed, tmp_path / "job", *FULL_SPEED), timeout_s=120)
    wget(seed, tmp_path)

    ours, theirs = answers(server, "nephila"), answers(server, "wget")
    kept, files = kept_digests(tmp_path / "job"), file_digests(tmp_path / urlsplit(server.url).netloc)
    print(f"{site}: asked {len(ours)} and {len(theirs)} addresses, kept {len(kept)} and {len(files)} files")
    assert differences(ours, theirs) == []
    assert differences(kept, files) == []
    assert len(kept) >= FILES_MIN[site]
    assert set(kept) == {unquote(path[1:]) for path, statuses in ours.items() if statuses == [200]}


def wget(seed: str, folder: Path) -> None:
    """The whole site below `folder`, by the same rules: this host only, robots.txt obeyed."""
    try:
        command = [program("wget", "wget"), "-q", "-r", "-l", "inf", "-e", "robots=on", "-P", str(folder), seed]
    except Missing as missing:
        pytest.skip(f"system: {missing}")
    assert subprocess.run(command, check=False, timeout=120).returncode in WGET_ENDS


def answers(server: Nginx, tool: str) -> dict[str, list[int]]:
    """path → status of every request for it that a tool made: one each, if it asks once."""
    found: dict[str, list[int]] = {}
    for hit in server.log_lines():
        if hit.agent.startswith(AGENTS[tool]):
            found.setdefault(hit.path, []).append(hit.status)
    return found


def kept_digests(job: Path) -> dict[str, str]:
    """path and query, percent-decoded, as wget names a file → digest of the body, of every OK visit."""
    con = db.reader(job)
    rows = con.execute(
        "SELECT u.url, v.digest FROM visit v JOIN url u ON u.id = v.url WHERE v.outcome = 'OK'"
    ).fetchall()
    con.close()
    return {unquote(url.split("/", 3)[3]): digest for url, digest in rows}


def file_digests(folder: Path) -> dict[str, str]:
    """The same of a folder that wget made."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _digest(path.read_bytes()) for path in files}


def _digest(body: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(body).digest()).decode()}"


def differences(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """One line for each path on which the two do not agree."""
    return [
        f"{path}: {ours.get(path, 'not here')}, wget: {theirs.get(path, 'not there')}"
        for path in sorted({*ours, *theirs})
        if ours.get(path) != theirs.get(path)
    ]
