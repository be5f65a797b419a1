"""Nothing on the web can send a crawl into private networks: judged by who was connected, not by what was said.

The crawl runs in a network namespace where *every* address of IPv4 and IPv6 answers and every connection is counted
(`inside.py`). Public pages lead to special addresses in all spellings, over every kind of link, by names that resolve
into them, by names that do so only the second time, by robots.txt, and past what was allowed for one host and port.
"""

from __future__ import annotations

import ipaddress
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from nephila.testing import sites

PUBLIC = {"1.2.3.4", "2600::4"}

SPELLINGS = {
    "127.0.0.1": "127.0.0.1",
    "127.0.0.2.": "127.0.0.2",
    "127.3": "127.0.0.3",
    "2130706436": "127.0.0.4",
    "017700000005": "127.0.0.5",
    "0x7f000006": "127.0.0.6",
    "0x7f.0.0.7": "127.0.0.7",
    "0177.0.0.8": "127.0.0.8",
    "①②⑦.0.0.9": "127.0.0.9",
    "%31%32%37.0.0.10": "127.0.0.10",
    "public.example@127.0.0.11": "127.0.0.11",
    "0": "0.0.0.0",
    "0.1.2.3": "0.1.2.3",
    "10.0.0.1": "10.0.0.1",
    "10.258": "10.0.1.2",
    "172.16.0.1": "172.16.0.1",
    "172.31.255.254": "172.31.255.254",
    "192.168.0.1": "192.168.0.1",
    "192.168.257": "192.168.1.1",
    "169.254.169.254": "169.254.169.254",
    "2852039167": "169.254.169.255",
    "168.63.129.16": "168.63.129.16",
    "192.0.0.192": "192.0.0.192",
    "100.64.0.1": "100.64.0.1",
    "100.100.100.200": "100.100.100.200",
    "192.0.2.1": "192.0.2.1",
    "198.18.0.1": "198.18.0.1",
    "224.0.0.1": "224.0.0.1",
    "240.0.0.1": "240.0.0.1",
    "255.255.255.255": "255.255.255.255",
    "[::]": "[::]",
    "[::1]": "[::1]",
    "[0:0:0:0:0:0:0:1]": "[::1]",
    "[::ffff:127.0.0.12]": "[::ffff:7f00:c]",
    "[::ffff:a9fe:a9fe]": "[::ffff:a9fe:a9fe]",
    "[::7f00:d]": "[::7f00:d]",
    "[64:ff9b::7f00:e]": "[64:ff9b::7f00:e]",
    "[64:ff9b::10.0.0.2]": "[64:ff9b::a00:2]",
    "[64:ff9b:1::a00:3]": "[64:ff9b:1::a00:3]",
    "[2002:7f00:f::1]": "[2002:7f00:f::1]",
    "[2001:0:102:304::80ff:fffe]": "[2001:0:102:304::80ff:fffe]",
    "[fd00::1]": "[fd00::1]",
    "[fd00:ec2::254]": "[fd00:ec2::254]",
    "[fe80::1]": "[fe80::1]",
    "[fec0::1]": "[fec0::1]",
    "[ff02::1]": "[ff02::1]",
    "[2001:db8::1]": "[2001:db8::1]",
    "LOCALHOST": "localhost",
}
"""How a page writes a host → as what the crawl knows it."""

SYSTEM = ["localhost.", "admin.localhost"]
"""Names that only some systems know."""

RESOLVED = {
    "private": "http://private.example/",
    "mapped": "http://mapped.example/",
    "nat64": "http://nat64.example/",
    "sixth": "http://sixth.example/",
    "zero": "http://zero.example/",
}
BOTH = "http://both.example:81/"
"""Its name has a public address, where nobody listens at that port, and one inside, where somebody does."""

CHANNELS = {
    "embed": '<img src="http://10.1.0.1/">',
    "srcset": '<img srcset="http://10.1.0.2/ 2x">',
    "style": "<style>@import 'http://10.1.0.3/';</style>",
    "frame": '<iframe src="http://10.1.0.4/"></iframe>',
    "refresh": '<meta http-equiv="refresh" content="0; url=http://10.1.0.5/">',
    "canonical": '<link rel="canonical" href="http://10.1.0.6/">',
    "feed": '<link rel="alternate" type="application/rss+xml" href="http://10.1.0.7/">',
    "base": '<base href="http://10.1.0.8/"><a href="/">home</a>',
}
REACHED = [
    "10.1.0.9",
    "169.254.169.254",
    "fd00::1",
    "64:ff9b::7f00:e",
    "2002:7f00:f::1",
    "::ffff:127.0.0.12",
    "0.0.0.0",
    "100.64.0.1",
]
"""A sample that plain sockets connect before any crawl: a listener that counts nothing would prove nothing."""


class Run(NamedTuple):
    """One crawl: what it said, who was connected (`ADDRESS PORT` → times), what servers were asked, outcomes by URL."""

    said: str
    accepted: dict[str, int]
    asked: list[str]
    outcomes: dict[str, tuple[str, str]]

    def inside(self) -> list[str]:
        """Connections to anything but the public servers."""
        return [peer for peer in self.accepted if peer.split()[0] not in PUBLIC]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Every crawl of this file, in one namespace, one after the other."""
    folder = tmp_path_factory.mktemp("inside")
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "plan.json").write_text(json.dumps({"pages": pages(), "runs": RUNS, "addresses": REACHED}))
    script = str(Path(__file__).with_name("inside.py"))
    command = ["unshare", "--net", "--mount", sys.executable, script, str(folder)]
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        pytest.skip("system: no network namespaces here")
    if subprocess.run([*command[:3], "true"], capture_output=True).returncode:
        pytest.skip("system: network namespaces are for root only")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {str(ipaddress.ip_address(peer.split()[0])) for peer in found["reachable"]} == {
        "127.0.0.12" if "ffff" in address else "127.0.0.1" if address == "0.0.0.0" else address
        for address in [*REACHED, "127.0.0.1"]
    }
    assert found["looked_up"]["rebind.example 4"] > 1, "the name was to be looked up a second time"
    return {name: Run(**found["runs"][name], outcomes=outcomes(folder / job)) for name, (job, _) in RUNS.items()}


def outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    with sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True) as con:
        rows = con.execute("SELECT u.url, v.outcome, v.reason FROM visit v JOIN url u ON u.id = v.url").fetchall()
    con.close()
    return {url: (outcome, reason) for url, outcome, reason in rows}


SETTINGS = """\
delay = 0
workers = 1
tries = 2
robots_tries = 2
retry_wait_s = 0.02
retry_wait_max_s = 0.05
host_failures_max = 5
min_free = 0
"""
SEED, ANYWHERE = "http://public.example/", ["--scope", "any", "--sitemaps", "--embeds"]
RUNS: dict[str, tuple[str, list[str]]] = {
    "wide": ("wide", [SEED, "http://six.example/", "http://robots.example/", *ANYWHERE]),
    "flip": ("flip", ["http://flip.example/", "--max-pages", "1", *ANYWHERE]),
    "flipped": ("flip", ["http://flip.example/", "--max-pages", "0", *ANYWHERE]),
    "allowed": (
        "allowed",
        ["http://10.0.0.9/", "http://pinned.example/", "--resolve", "pinned.example:80:10.0.0.7", *ANYWHERE],
    ),
    "proxy": ("proxy", [SEED, "--proxy", "http://10.9.9.9:3128", *ANYWHERE]),
}


def pages() -> dict[str, tuple[int, list[str], str]]:
    """`HOST PATH` → answer of every server there is."""
    html = ["Content-Type: text/html"]
    hosts = [f"http://{host}/" for host in (*SPELLINGS, *SYSTEM)] + [*RESOLVED.values(), BOTH]
    links = [*hosts, "http://rebind.example:81/", *(f"/{name}" for name in CHANNELS), "/moved", "/header", "/ftp"]
    site = {
        "/": (200, html, sites.page(links).decode()),
        "/moved": (302, ["Location: http://10.1.0.10/"], ""),
        "/header": (200, [*html, "Link: <http://10.1.0.11/>; rel=canonical"], ""),
        "/ftp": (200, html, sites.page(["ftp://10.1.0.12/", "ftp://localhost/x", "gopher://10.1.0.12/"]).decode()),
        "/robots.txt": (200, [], f"Sitemap: {SEED}map.xml\nSitemap: http://10.1.0.13/map.xml\n"),
        "/map.xml": (
            200,
            [],
            f"<urlset><url><loc>http://10.1.0.14/</loc></url><url><loc>{SEED}late</loc></url></urlset>",
        ),
        **{f"/{name}": (200, html, text) for name, text in CHANNELS.items()},
    }
    inner = sites.page(["/again", *[f"http://{other}/" for other in OTHERS]]).decode()
    return {
        **{f"public.example {path}": answer for path, answer in site.items()},
        "six.example /": (200, html, sites.page(["http://[fd00::2]/"]).decode()),
        "robots.example /robots.txt": (302, ["Location: http://10.1.0.15/robots.txt"], ""),
        "robots.example /": (200, html, "never asked for"),
        "flip.example /": (200, html, sites.page(["/next"]).decode()),
        "flip.example /next": (200, html, "inside"),
        **{f"{host} {path}": (200, html, inner) for host in ALLOWED for path in ("/", "/again")},
    }  # fmt: skip


ALLOWED = {"pinned.example": "10.0.0.7", "10.0.0.9": "10.0.0.9"}
OTHERS = ["10.0.0.7", "10.0.0.8", "other.example", "pinned.example:8080", "10.0.0.9:8080", "127.0.0.1"]
"""Where a page on an allowed private server leads: other addresses, other names of the same one, other ports."""

BLOCKED = "BLOCKED", "blocked.private_address"


@pytest.mark.parametrize(("written", "host"), SPELLINGS.items())
def test_special_address_in_any_spelling(written: str, host: str, runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes.get(f"http://{host}/") == BLOCKED, runs["wide"].said


@pytest.mark.parametrize("host", SYSTEM)
def test_name_that_only_the_system_may_know(host: str, runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes[f"http://{host}/"] in (BLOCKED, ("UNREACHABLE", "dns.not_found"))


@pytest.mark.parametrize("name", RESOLVED)
def test_name_that_leads_inside(name: str, runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes[RESOLVED[name]] == BLOCKED


def test_name_that_leads_outside_and_inside(runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes[BOTH] == ("UNREACHABLE", "connect.refused")


def test_name_that_leads_inside_the_second_time(runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes["http://rebind.example:81/"] == BLOCKED
    assert runs["flip"].outcomes["http://flip.example/"][0] == "OK"
    assert runs["flipped"].outcomes["http://flip.example/next"] == BLOCKED
    assert runs["flipped"].inside() == []


@pytest.mark.parametrize("number", [*range(1, 9), 10, 11, 14])
def test_every_kind_of_link(number: int, runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes[f"http://10.1.0.{number}/"] == BLOCKED


def test_nothing_inside_was_connected(runs: dict[str, Run]) -> None:
    wide = runs["wide"]
    assert wide.inside() == []
    assert {peer.split()[0] for peer in wide.accepted} == PUBLIC
    assert wide.outcomes[f"{SEED}late"][0] == "REFUSED"  # the sitemap was read, and the page is 404


def test_sitemap_elsewhere_is_not_even_wanted(runs: dict[str, Run]) -> None:
    assert runs["wide"].outcomes.get("http://10.1.0.13/map.xml", BLOCKED) == BLOCKED


def test_ftp_leads_inside_as_little(runs: dict[str, Run]) -> None:
    assert {url: got for url, got in runs["wide"].outcomes.items() if not url.startswith("http")} == {
        f"ftp://{url}": BLOCKED for url in ("10.1.0.12/", "10.1.0.12/robots.txt", "localhost/x", "localhost/robots.txt")
    }


def test_robots_that_lead_inside(runs: dict[str, Run]) -> None:
    found = runs["wide"].outcomes
    assert found["http://robots.example/robots.txt"][0] == "MOVED"
    assert found["http://10.1.0.15/robots.txt"] == BLOCKED
    assert found["http://robots.example/"] == ("DENIED", "robots_unreachable")


def test_what_is_allowed_is_one_host_and_port(runs: dict[str, Run]) -> None:
    """Over a kept connection and a remembered address, too: only the seeds' own names were asked for there."""
    found = runs["allowed"]
    assert sorted(found.inside()) == [f"{address} 80" for address in ALLOWED.values()], found.said
    assert {one.split()[0] for one in found.asked} == set(ALLOWED)
    assert [found.outcomes[f"http://{host}/again"][0] for host in ALLOWED] == ["OK", "OK"]
    assert [found.outcomes[f"http://{other}/"] for other in OTHERS] == [BLOCKED] * len(OTHERS)


def test_proxy_is_asked_for_nothing_inside(runs: dict[str, Run]) -> None:
    """A proxy resolves names by itself; what a name alone gives away never reaches it, and nobody is connected past it."""
    proxy = runs["proxy"]
    assert proxy.inside() == ["10.9.9.9 3128"], proxy.said
    assert list(proxy.accepted) == ["10.9.9.9 3128"]
    assert proxy.outcomes[SEED][0] == "OK"
    names = {url.split("/")[2].partition(":")[0] for url in [SEED, "http://rebind.example/", BOTH, *RESOLVED.values()]}
    assert {url.split("/")[2].partition(":")[0] for url in proxy.asked} == names
