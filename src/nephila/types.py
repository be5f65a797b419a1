"""The nouns of a crawl: what is handed from room to room.

`Link` → `Request` → `Lease` → `Response` → `Page` → `Visit` → `Settlement`. Each stage takes one noun and returns the
next; nothing is edited on the way. `Settlement` is the flat form of a visit: all that the frontier needs to know of it
and all that crosses from a worker to the front process, so it is packed (a page of 200 links is one byte string).
"""

from __future__ import annotations

import enum
import io
import os
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, overload

import msgspec


class Kind(enum.StrEnum):
    """Why a URL is fetched, and so how its body is read."""

    PAGE = "page"
    EMBED = "embed"
    REDIRECT = "redirect"
    CANONICAL = "canonical"
    SITEMAP = "sitemap"
    FEED = "feed"
    SCRIPT = "script"
    FORM = "form"
    ROBOTS = "robots"
    LOGIN = "login"
    PROBE = "probe"
    """A name that nobody has: what does the host say then?"""


ERRANDS = frozenset({Kind.ROBOTS, Kind.LOGIN})
"""Kinds that are no page of anybody's: what only the crawl itself needs. No link of theirs is followed, they count for nothing."""

COSTLY_MS = 20
"""A page that takes no more of the processor is as good as any: most take 1 to 5 ms."""

FLAT_KINDS = frozenset({Kind.REDIRECT, Kind.EMBED, Kind.SITEMAP, Kind.ROBOTS})
"""Links of these kinds add no depth: they are parts or other names of the page that holds them."""


class Outcome(enum.StrEnum):
    """How a visit ended. Closed: trouble on the web becomes one of these, with a reason; a bug in here raises."""

    OK = "OK"
    UNCHANGED = "UNCHANGED"
    MOVED = "MOVED"
    DENIED = "DENIED"
    REFUSED = "REFUSED"
    UNREACHABLE = "UNREACHABLE"
    UNREADABLE = "UNREADABLE"
    TOO_LARGE = "TOO_LARGE"
    SKIPPED = "SKIPPED"
    BLOCKED = "BLOCKED"


KEPT = frozenset({Outcome.OK, Outcome.UNCHANGED})
"""Outcomes of which a page is in the archive."""
GOOD = KEPT | {Outcome.MOVED}
"""Outcomes that need no reason."""

Both = tuple[str, str]
"""A text in both languages that people are spoken to in, (English, Chinese); `LANGUAGES` are their codes."""
LANGUAGES = ("en", "zh")

RETRYABLE = frozenset(
    {
        "dns.temporary",
        "timeout.dns",
        "timeout.connect",
        "timeout.tls",
        "timeout.headers",
        "timeout.body",
        "connect.refused",
        "connect.unreachable",
        "connect.failed",
        "conn_reset",
        "empty_reply",
        "tls.closed",
        "tls.handshake",
        "short_body",
        "bad_chunk",
        "damaged",
        "late_answer",
        "http2",
        "http3",
        "proxy_unreachable",
        "proxy_tls",
        "proxy_auth",
        "proxy_refused",
        "proxy_timeout",
        "proxy_closed",
        "status.408",
        "status.425",
        "status.429",
        "status.500",
        "status.502",
        "status.503",
        "status.504",
        "cookie_wall",
        "ftp_busy",
        "ftp_data",
    }
)
"""Reasons that may pass by themselves. Everything else is final at the first try."""

TLS_FAILURES = frozenset(
    {
        "tls.certificate",
        "tls.closed",
        "tls.expired",
        "tls.handshake",
        "tls.not_yet_valid",
        "tls.plain",
        "tls.protocol",
        "tls.revoked",
        "tls.self_signed",
        "tls.unknown_ca",
        "tls.weak",
        "tls.wrong_host",
    }
)
"""Reasons for which no TLS connection comes about (a silent one is `timeout.tls`)."""
UNVERIFIED = "insecure."
"""A visit to a host of `insecure` that is otherwise fine has the reason of its doubt with this in place of `tls.`."""

HOST_FAILURES = TLS_FAILURES | frozenset(
    {
        "bad_host",
        "dns.temporary",
        "dns.not_found",
        "timeout.dns",
        "timeout.connect",
        "connect.refused",
        "connect.unreachable",
        "connect.failed",
        "timeout.tls",
        "ftp_login",
    }
)
"""Reasons that speak of the host and not of the URL: one probe at a time, not one per queued URL."""

PROXY_FAULTS = frozenset(reason for reason in RETRYABLE if reason.startswith("proxy_"))
"""Reasons that speak of a proxy, or of it and the host together: the host did not answer because it was not asked."""
LOGIN_REQUIRED = "login_required"
"""A visit that met the site's login where it wanted a page."""

NETWORK_FAILURES = frozenset({"dns.temporary", "timeout.dns", "timeout.connect", "connect.unreachable"})
"""Reasons that a missing network of our own would give too (a refused connection proves that there is one)."""

SILENCE = NETWORK_FAILURES | {"timeout.tls", "timeout.headers", "timeout.body"}
"""Reasons under which nobody answered: requests under way when the network goes end so, too, and so do those sent over a
kept connection that looks alive."""


class Link(msgspec.Struct, frozen=True):
    """One link of a page, made only when somebody looks at it. `url` is absolute, without fragment, or "" if broken."""

    url: str
    href: str
    kind: Kind
    tag: str
    attribute: str
    nofollow: bool = False
    anchor: str = ""
    rel: str = ""


class Links(Sequence[Link]):
    """The links of one page as parallel columns; behaves as a sequence of `Link`.

    `hrefs` are as written in the page, `base` is the URL they resolve against, `charset` the page's encoding (a query is
    percent-encoded in it). `resolve` turns (base, href, charset) into an absolute URL or None; `details` gives
    (anchor text, rel) of link i from the parsed page, on demand.
    """

    __slots__ = ("attributes", "base", "charset", "details", "hrefs", "kinds", "nofollow", "resolve", "tags")

    def __init__(
        self,
        base: str,
        charset: str,
        hrefs: list[str],
        kinds: list[Kind],
        tags: list[str],
        attributes: list[str],
        nofollow: frozenset[int] = frozenset(),
        *,
        resolve: Any,
        details: Any = None,
    ) -> None:
        self.base, self.charset = base, charset
        self.hrefs, self.kinds, self.tags, self.attributes = hrefs, kinds, tags, attributes
        self.nofollow, self.resolve, self.details = nofollow, resolve, details

    def __len__(self) -> int:
        return len(self.hrefs)

    @overload
    def __getitem__(self, i: int) -> Link: ...
    @overload
    def __getitem__(self, i: slice) -> list[Link]: ...
    def __getitem__(self, i: int | slice) -> Link | list[Link]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self.hrefs)))]
        if i < 0:
            i += len(self.hrefs)
        anchor, rel = self.details(i) if self.details else ("", "")
        return Link(
            self.resolve(self.base, self.hrefs[i], self.charset) or "",
            self.hrefs[i],
            self.kinds[i],
            self.tags[i],
            self.attributes[i],
            i in self.nofollow,
            anchor,
            rel,
        )

    def __iter__(self) -> Iterator[Link]:
        return (self[i] for i in range(len(self.hrefs)))


class Request(msgspec.Struct, frozen=True, array_like=True):
    """What to fetch. `depth` = links from the seed, `hops` = redirects so far (below zero: the sitemaps above this one), `parent` = url.id (0: a seed)."""

    url: str
    kind: Kind = Kind.PAGE
    depth: int = 0
    hops: int = 0
    parent: int = 0
    priority: int = 0
    method: str = "GET"
    body: bytes = b""
    validators: tuple[str, str] = ("", "")
    not_before: float = 0.0
    chain: tuple[int, ...] = ()
    """Fingerprints of the URLs that redirected here."""
    guessed: bool = False
    """The scheme was not given by the user: https is tried first."""


class RobotsFile(msgspec.Struct, frozen=True, array_like=True):
    """What is known of an origin's robots.txt. `state` is `found`, `absent` (4xx: all allowed) or `unreachable`."""

    state: str
    text: bytes = b""
    status: int = 0
    crawl_delay: float = -1.0
    """Seconds asked for by the site for our token; -1: none."""


class Resolution(msgspec.Struct, frozen=True, array_like=True):
    """What a name resolved to: addresses, the one to try first in front, or the reason why there are none. Nothing at all:
    the name is not ours to resolve (a proxy does it)."""

    addresses: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""


class Gate(msgspec.Struct, frozen=True, array_like=True):
    """Where a site lets its members in: the page with the login's form, and where that form is sent, once it is known."""

    url: str
    action: str = ""


class LoginForm(msgspec.Struct, frozen=True, array_like=True):
    """A login's form, filled in: where it goes, and the body, which is secret. `problem`: why it is not sent."""

    action: str
    body: bytes = b""
    problem: str = ""


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """A request handed to a worker; it must come back as a visit. `id` is url.id."""

    id: int
    request: Request
    fp: int
    attempt: int = 1
    last: bool = False
    """No try is left: what comes back is final."""
    origin: str = ""
    cookie: str = ""
    robots: RobotsFile | None = None
    """Present on the first lease of an origin that a worker gets."""
    unread: str = ""
    """Not "": fetch and archive it, but do not read it, and end with this reason (`read_time`, `read_memory`,
    `read_crash`): reading it has killed a worker before."""
    paced: bool = False
    """The host has a pause: the request starts at once, ahead of the worker's queue."""
    round: int = 1
    resolution: Resolution | None = None
    """Where the host is, if that was looked up before; None: the worker asks by itself."""
    access: str = ""
    """Names of the credentials that go with it (`credentials`), a blank between."""
    plain: bool = False
    """Ask for a body without content coding: the one that came before did not decode."""
    sketch: bool = False
    """The frontier wants to know which texts stand on the page."""
    soft: tuple[int, ...] = ()
    """Sketches (as one number each) of what this host says for names that nobody has."""
    proxy: int = -1
    """Which proxy the request goes through, as its place in `url.ways.Ways.proxies`; -1: the frontier chose none."""
    gate: Gate | None = None
    """Present where a login counts: a visit that is turned away here is no answer."""


class Body:
    """Bytes of a body: in memory, or in an unlinked file when they are many. `size` in bytes."""

    __slots__ = ("_data", "_file", "size")

    def __init__(self, data: bytes = b"", file: IO[bytes] | None = None, size: int | None = None) -> None:
        self._data, self._file = data, file
        self.size = len(data) if size is None else size

    @property
    def spooled(self) -> bool:
        return self._file is not None

    def head(self, limit: int) -> bytes:
        """The first `limit` bytes."""
        if self._file is None:
            return self._data if limit >= self.size else self._data[:limit]
        return os.pread(self._file.fileno(), min(limit, self.size), 0)

    def blocks(self, size: int = 1 << 20) -> Iterator[bytes]:
        """The whole body in blocks of at most `size` bytes."""
        if self._file is None:
            if self._data:
                yield self._data
            return
        at = 0
        while block := os.pread(self._file.fileno(), min(size, self.size - at), at):
            at += len(block)
            yield block

    def open(self) -> IO[bytes]:
        """A fresh reader over the whole body."""
        if self._file is None:
            return io.BytesIO(self._data)
        return open(os.dup(self._file.fileno()), "rb", closefd=True) if not self._file.seek(0) else self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Timings(msgspec.Struct, frozen=True, array_like=True):
    """Seconds since the start of the transfer, as libcurl counts them; 0.0 where a phase did not happen."""

    dns: float = 0.0
    connect: float = 0.0
    tls: float = 0.0
    sent: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class Doubt(msgspec.Struct, frozen=True):
    """Why a host that need not be verified (`insecure`) is not believed: the evidence.

    `reason` as for a failure (`tls.expired`); `since` Unix time of the handshake that failed; `chain` the certificates that
    it showed, its own first, as DER.
    """

    reason: str
    detail: str
    since: float
    chain: tuple[bytes, ...] = ()


class Response(msgspec.Struct, frozen=True):
    """One final answer of a server, exactly as it came. Never followed further.

    `head` is the status line and header lines as sent, up to and including the empty line; `headers` the same as
    (lower-case name, value) pairs, bytes read as latin-1; `body` as framed on the wire, `payload` after transfer decoding
    (the same object unless chunked), both before content decoding. Of FTP, `head` is what was said on the control connection by
    both sides, `status` the last reply's code, and `headers` hold what is known without being told (`content-type` by the name).
    """

    url: str
    status: int
    protocol: str
    """`http/1.0`, `http/1.1`, `h2`, `h3`, `ftp`."""
    head: bytes
    headers: list[tuple[str, str]]
    body: Body
    payload: Body
    request_head: bytes
    """The request as sent, without secret lines."""
    started: float
    """Unix time of the start."""
    timings: Timings
    ip: str = ""
    truncated: str = ""
    """"" or `length`, `time`, `disconnect`, `decode`, `unspecified` (WARC-Truncated)."""
    tls: str = ""
    """Version and cipher; "" without TLS."""
    doubt: Doubt | None = None

    def header(self, name: str, default: str = "") -> str:
        """First value of a header (lower-case name)."""
        for key, value in self.headers:
            if key == name:
                return value
        return default

    def header_all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


class Failure(msgspec.Struct, frozen=True):
    """No response: what the door says when there is nothing to hand on."""

    outcome: Outcome
    reason: str
    detail: str = ""
    started: float = 0.0
    timings: Timings = Timings()
    ip: str = ""
    status: int = 0


class Page(msgspec.Struct, frozen=True):
    """What a body means. `robots` holds the directives of meta robots and X-Robots-Tag, lower case."""

    media_type: str = ""
    charset: str = ""
    title: str = ""
    language: str = ""
    canonical: str = ""
    robots: frozenset[str] = frozenset()
    links: Links | None = None
    links_cut: bool = False
    """More links than the limit: the rest was not taken."""
    flaw: str = ""
    """What was wrong with it, in a word: the reason of a visit that is OK all the same."""
    document: Callable[[], Any] | None = None
    """Gives the parsed tree, for hooks; released with the page."""
    robots_file: RobotsFile | None = None
    items: list[Any] = []
    login: LoginForm | None = None
    """Of a login's page: its form."""


class NewLink(msgspec.Struct, frozen=True, array_like=True):
    """A link whose text the front may not know yet. `rule` is "" (wanted) or the name of the rule that refused it."""

    fp: int
    url: str
    kind: Kind
    rule: str = ""
    score: int = 0


class Found(msgspec.Struct, frozen=True, array_like=True):
    """The links of a page, packed. `edges` = native uint64 fingerprints, first the `flat` ones that add no depth."""

    edges: bytes = b""
    flat: int = 0
    new: list[NewLink] = []
    sites: list[str] = []
    """Other sites (registrable domains) that the page links to and that this worker has not told of before; filled only when
    the budgets of sites grow with it."""
    epoch: int = 0
    """Of the scope that the links were judged by."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """Where a visit lies in the archive: the group of records that one write put there."""

    file: str
    offset: int
    length: int
    digest: str = ""
    same_as: int = 0
    """url.id of the visit that holds the same payload (a revisit record was written); 0: none."""


class Visit(msgspec.Struct, frozen=True):
    """One lease, come back. `reason` is "" only for an outcome that needs none."""

    lease: Lease
    outcome: Outcome
    reason: str = ""
    response: Response | None = None
    failure: Failure | None = None
    page: Page | None = None
    found: Found = Found()
    record: Record | None = None
    moved_to: str = ""
    sketch: bytes = b""
    errors: list[str] = []
    """Hooks that raised: `handler_error` attempts, never an outcome."""

    @property
    def retryable(self) -> bool:
        """It may go better another time, and a try is left, or it waits for a login. Such a visit is neither read nor
        archived."""
        return (self.reason in RETRYABLE and not self.lease.last) or self.reason == LOGIN_REQUIRED


Packed = bytes
"""A settlement has a field `bytes`."""


class Settlement(msgspec.Struct, frozen=True, array_like=True):
    """The flat form of a visit, for the frontier: everything that `crawl.db` stores of it."""

    lease: int
    outcome: Outcome
    reason: str = ""
    requested: bool = False
    """A request went out: the host's clock moves."""
    started: float = 0.0
    ms: int = 0
    ttfb: float = 0.0
    status: int = 0
    protocol: str = ""
    ip: str = ""
    media_type: str = ""
    charset: str = ""
    bytes: int = 0
    truncated: str = ""
    moved_to: str = ""
    title: str = ""
    language: str = ""
    found: Found = Found()
    record: Record | None = None
    retry_after: str = ""
    set_cookies: list[str] = []
    robots: RobotsFile | None = None
    robots_max_age: float = 0.0
    access: str = ""
    items: list[Any] = []
    errors: list[str] = []
    sketch: Packed = b""
    """The page's texts (`page.sketch`), when the lease asked for them."""
    cost_ms: int = 0
    """Processor time of the worker that reading and keeping it took."""
    login: LoginForm | None = None
