"""Every setting of a crawl: its name, default, limit and reason, in one table.

A key is an option (`--max-pages`), a key of crawl.toml (`max_pages`) and a variable (`NEPHILA_MAX_PAGES`).
Precedence: option, environment, `--config`, DIR/crawl.toml, default.
"""

from __future__ import annotations

import re
import typing
from typing import Annotated, Any

import msgspec
from msgspec import Meta

FREE, EFFECT, FIXED = "free", "effect", "fixed"
"""What a key may do on resume: FREE changes at will, EFFECT changes with its effect on queued and refused URLs said in
numbers, FIXED is refused (exit 2)."""
SECRET_HEADER = re.compile(r"authorization|cookie|proxy-authorization|x-api-key|.+-token", re.IGNORECASE)
"""Headers whose value is a secret: it goes to the origins of the seeds and nowhere else."""


def key(doc: str, resume: str = FREE, option: bool = True, secret: bool = False) -> Meta:
    """A setting's meaning, whether it may change on resume, whether it is an option of `crawl`, whether it is secret."""
    return Meta(description=doc, extra={"resume": resume, "option": option, "secret": secret})


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The effective configuration. Sizes are bytes, times are seconds; 0 means "no limit" for every `max_*` budget."""

    # what to fetch
    seeds: Annotated[list[str], key("addresses to start from", EFFECT, option=False)] = []
    scope: Annotated[str, key("how far links are followed: host, site, name, prefix or any", EFFECT)] = "host"
    include: Annotated[list[str], key("follow only URLs that one of these regular expressions finds", EFFECT)] = []
    exclude: Annotated[list[str], key("never follow URLs that one of these regular expressions finds", EFFECT)] = []
    types: Annotated[
        list[str], key("keep only bodies of these media types (image/*); pages are still read for links", EFFECT)
    ] = []
    embeds: Annotated[bool, key("take the parts of a page (images, styles, scripts) from other hosts too", EFFECT)] = (
        False
    )
    sitemaps: Annotated[bool, key("read sitemaps (robots.txt names them, else /sitemap.xml)", EFFECT)] = False
    max_depth: Annotated[int, key("follow at most this many links from a seed (-1: no limit)", EFFECT)] = -1
    order: Annotated[str, key("bfs or dfs, inside each host", EFFECT)] = "bfs"
    seen: Annotated[
        str,
        key(
            "how known URLs are remembered: keytree, hash, md5, file, kv, bloom, lru, keytree-naive or keytree-naive-32"
            " (docs/seen.md)",
            FIXED,
        ),
    ] = "keytree"
    guess_links: Annotated[
        bool, key("try addresses in scripts, comments, text and obsolete attributes, too; pages read from now on")
    ] = False
    ignore_nofollow: Annotated[bool, key("follow links in spite of nofollow", EFFECT)] = False
    traps: Annotated[
        str,
        key("refuse addresses that lead nowhere: on, off, these (calendar,template) or all but (no-calendar)", EFFECT),
    ] = "on"

    # how much
    max_pages: Annotated[int, key("stop after this many pages kept (0: no limit)")] = 0
    max_bytes: Annotated[int, key("stop after this many bytes of bodies (0: no limit)")] = 0
    max_time: Annotated[float, key("stop after this many seconds of crawling (0: no limit)")] = 0.0

    site_pages: Annotated[int, key("keep at most this many pages per site (0: no limit)")] = 0
    site_hosts: Annotated[int, key("ask at most this many hosts of one site (0: no limit)")] = 1_000
    site_pages_max: Annotated[
        int,
        key("a site's budget grows by site_pages with each other site that links to it, up to this (0: it does not)"),
    ] = 0

    # manners
    delay: Annotated[str, key("pause between two requests to one host: auto, or seconds")] = "auto"
    per_host: Annotated[int, key("requests to one host at the same time")] = 1
    connections: Annotated[int, key("requests at the same time, per worker")] = 32
    workers: Annotated[int, key("worker processes (-1: one per core, at most 8; 0: none, all in one process)")] = -1
    no_robots: Annotated[bool, key("ignore robots.txt", EFFECT)] = False
    user_agent: Annotated[str, key("User-Agent to send in place of nephila/VERSION (+CONTACT)")] = ""
    contact: Annotated[str, key("address or page that says who crawls; part of the User-Agent")] = ""
    limit_rate: Annotated[int, key("bytes per second, all workers together (0: no limit)")] = 0

    # the door
    header: Annotated[list[str], key("extra request header 'Name: value'", secret=True)] = []
    auth: Annotated[
        list[str],
        key(
            "ORIGIN=basic:USER:PASSWORD (or digest:…, bearer:TOKEN, negotiate, cert:FILE), sent to that origin only",
            secret=True,
        ),
    ] = []
    login: Annotated[
        list[str], key("URL=USER:PASSWORD: fill in the form on that page, and again when its session ends", secret=True)
    ] = []
    follow_logout: Annotated[bool, key("follow links that log out, on sites with a login or given cookies", EFFECT)] = (
        False
    )
    cookies: Annotated[str, key("file of cookies to start with (cookies.txt), sent as a browser would")] = ""
    save_cookies: Annotated[str, key("file to write all cookies to at the end (cookies.txt, secrets included)")] = ""
    proxy: Annotated[
        list[str],
        key(
            "proxy URL, 'SITE=URL' or SITE=direct (http, https, socks4, socks4a, socks5, socks5h; docs/proxies.md)",
            secret=True,
        ),
    ] = []
    resolve: Annotated[list[str], key("HOST:PORT:ADDR, in place of the name server")] = []
    name_servers: Annotated[list[str], key("ADDRESS or ADDRESS:PORT of name servers, in place of the system's")] = []
    allow_private: Annotated[bool, key("allow loopback, private and link-local addresses everywhere")] = False
    ca: Annotated[str, key("file of certificates (PEM) to trust besides the system's")] = ""
    insecure: Annotated[
        list[str], key("hosts that are read even if their TLS certificate does not hold; what failed is kept")
    ] = []
    http2: Annotated[bool, key("offer HTTP/2 over TLS")] = True
    http3: Annotated[bool, key("try HTTP/3 (QUIC) first, and older ones beside it")] = False

    # where and how it is kept
    durability: Annotated[str, key("process: survives kill -9; power: survives a power cut too (fsync, slower)")] = (
        "process"
    )
    mirror: Annotated[bool, key("write the browsable mirror at the end")] = False
    extract: Annotated[
        list[dict[str, Any]], key("rules that take rows out of pages (docs/items.md)", option=False)
    ] = []
    min_free: Annotated[int, key("stop (exit 6) when less than this is free on the disk")] = 1_000_000_000
    store: Annotated[
        str, key("object storage that closed archive files go to, too: s3://BUCKET/PREFIX (docs/storage.md)")
    ] = ""
    store_key: Annotated[
        list[str], key("ID:SECRET for the store, in place of AWS_ACCESS_KEY_ID and the like", secret=True)
    ] = []
    keep_local: Annotated[bool, key("keep archive files on the disk when they are in the store")] = True
    state_dir: Annotated[str, key("where crawl.db lies, when not in the job folder", FIXED)] = ""

    # limits, each with its reason
    archive_bytes_max: Annotated[
        int, key("an archive file is closed past this size (the usual WARC size)", option=False)
    ] = 1_000_000_000
    store_uploads: Annotated[int, key("archive files on their way to the store at the same time", option=False)] = 2
    store_tries: Annotated[
        int, key("times that a file is sent to the store before it waits for the next start", option=False)
    ] = 5
    body_bytes_max: Annotated[int, key("a body is cut here (truncated=length)", option=False)] = 1 << 30
    body_spool_bytes: Annotated[int, key("a larger body waits in a file, not in memory", option=False)] = 1 << 20
    body_memory_max: Annotated[int, key("bodies in memory per worker; past it transfers are paused", option=False)] = (
        256 << 20
    )
    page_bytes_max: Annotated[int, key("at most this much of a page is read for links", option=False)] = 16 << 20
    links_max: Annotated[int, key("at most this many links of a page are taken", option=False)] = 20_000
    decode_ratio_max: Annotated[int, key("a compressed body growing more than this is a bomb", option=False)] = 200
    header_bytes_max: Annotated[int, key("a longer response header is an attack", option=False)] = 256 << 10
    dns_timeout_s: Annotated[float, key("deadline of a name look-up", option=False)] = 10.0
    dns_lookups: Annotated[
        int,
        key(
            "name look-ups at the same time; more wait in line (so many silent names hold up nobody, and cost little)",
            option=False,
        ),
    ] = 512
    dns_per_second: Annotated[
        int,
        key("look-ups begun per second (each is two questions; public name servers allow some 1,000)", option=False),
    ] = 200
    connect_timeout_s: Annotated[float, key("deadline of a TCP connect", option=False)] = 15.0
    tls_timeout_s: Annotated[float, key("deadline of a TLS handshake", option=False)] = 15.0
    header_timeout_s: Annotated[float, key("deadline from request to end of header", option=False)] = 30.0
    body_timeout_s: Annotated[float, key("deadline of a body", option=False)] = 1800.0
    low_speed_bytes: Annotated[int, key("a body slower than this per second for low_speed_s is cut", option=False)] = (
        100
    )
    low_speed_s: Annotated[float, key("how long a body may be slower than low_speed_bytes", option=False)] = 30.0
    read_seconds_max: Annotated[float, key("a page that takes longer to read ends as UNREADABLE", option=False)] = 10.0
    read_percent: Annotated[
        int,
        key(
            "percent of a worker's time for a host whose pages take more than 20 ms each, while cheaper hosts are being served",
            option=False,
        ),
    ] = 2
    worker_memory_max: Annotated[int, key("resident bytes of a worker before it is replaced", option=False)] = 1 << 30
    delay_min_s: Annotated[float, key("shortest pause of delay=auto on public hosts", option=False)] = 1.0
    delay_max_s: Annotated[float, key("longest pause of delay=auto", option=False)] = 60.0
    per_address: Annotated[
        int,
        key(
            "requests at once to one IP address, all its hosts together (-1: 8, and no limit on private ones; 0: no limit)",
            option=False,
        ),
    ] = -1
    crawl_delay_max_s: Annotated[float, key("a longer Crawl-delay is read as this", option=False)] = 300.0
    retry_after_max_s: Annotated[float, key("a host that asks for more is parked, not waited for", option=False)] = (
        3600.0
    )
    tries: Annotated[int, key("requests per URL before it is given up", option=False)] = 4
    retry_wait_s: Annotated[float, key("first wait before a retry; doubles, with jitter", option=False)] = 5.0
    retry_wait_max_s: Annotated[float, key("longest wait before a retry", option=False)] = 300.0
    host_failures_max: Annotated[
        int,
        key(
            "failures in a row after which a host that answered before is unreachable; one that never did gets `tries`",
            option=False,
        ),
    ] = 8
    host_refusals_max: Annotated[int, key("429/503 answers in a row after which a host is parked", option=False)] = 20
    robots_tries: Annotated[int, key("requests for a robots.txt before it is unreachable", option=False)] = 4
    robots_ttl_s: Annotated[float, key("a robots.txt is asked for again after this (RFC 9309: 24 h)", option=False)] = (
        86400.0
    )
    login_tries: Annotated[
        int, key("failed logins in a row after which the pages of a site wait for the next start", option=False)
    ] = 3
    redirects_max: Annotated[int, key("a longer chain of redirects is refused", option=False)] = 10
    robots_redirects_max: Annotated[int, key("the same for robots.txt (RFC 9309 section 2.3.1.2)", option=False)] = 5
    offline_after_s: Annotated[float, key("no answer from any host for this long means no network", option=False)] = (
        20.0
    )
    offline_probe_s: Annotated[float, key("while offline one host is tried this often", option=False)] = 5.0
    offline_max_s: Annotated[float, key("give up (exit 4) after this long without network", option=False)] = 3600.0
    drain_s: Annotated[float, key("on Ctrl-C, running requests get this long to end", option=False)] = 10.0
    trap_pages: Annotated[
        int,
        key(
            "pages of one form of address that are taken before any is looked at for saying nothing new (docs/traps.md)",
            option=False,
        ),
    ] = 32
    refused_max: Annotated[int, key("refused addresses stored one by one; more are only counted", option=False)] = (
        1_000_000
    )
    hosts_max: Annotated[
        int,
        key(
            "hosts in memory; others sleep in the database (at a pause of 1 s, as many pages a second could be asked)",
            option=False,
        ),
    ] = 100_000
    pending_max: Annotated[int, key("visits accepted and not yet committed; more wait", option=False)] = 2_000
    pending_bytes_max: Annotated[
        int, key("bytes of links and texts accepted and not yet committed; more wait", option=False)
    ] = 64 << 20
    commit_ms: Annotated[int, key("a batch is committed after this many milliseconds", option=False)] = 50
    commit_visits: Annotated[int, key("or after this many visits", option=False)] = 500


def fields() -> dict[str, tuple[str, dict[str, Any]]]:
    """Every key: name → (what it means, {resume, option, secret})."""
    found = {}
    for name, hint in typing.get_type_hints(Config, include_extras=True).items():
        (meta,) = (part for part in hint.__metadata__ if isinstance(part, Meta))
        found[name] = (meta.description or "", dict(meta.extra or {}))
    return found
