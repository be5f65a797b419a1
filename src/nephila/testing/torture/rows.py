"""Every fault that Nephila promises one right outcome for, as a numbered row: what goes wrong, and what must come of it.

The rows are the table of contents of the torture tests. A row is *covered* by a case of the torture server
(`nephila.testing.torture.cases`), or by tests elsewhere (tests/torture/elsewhere.py): rows K and L are about names on disk and
killed processes, which no server can show.
"""

from __future__ import annotations

import msgspec

SECTIONS = {
    "A": "body and framing",
    "B": "headers",
    "C": "redirects and base",
    "D": "rate and availability",
    "E": "names, TLS, proxies, addresses",
    "F": "HTTP/2",
    "G": "charset and HTML",
    "H": "traps and duplicates",
    "I": "robots.txt",
    "J": "sitemaps",
    "K": "names on disk",
    "L": "process and store",
    "M": "FTP",
}


class Row(msgspec.Struct, frozen=True):
    """`id` is a section's letter and a number."""

    id: str
    fault: str
    outcome: str

    @property
    def section(self) -> str:
        return self.id[0]


_TABLE = """
A1 | the header comes a byte at a time | given up at the header's deadline, tried again, `timeout.headers`
A2 | the body drips | cut by total time and by least speed, what came is kept, `truncated=time`
A3 | a body without end | cut at the size limit and the connection closed, `truncated=length`, its links used
A4 | the body is shorter than Content-Length | `short_body`: tried again, at last kept as `truncated=disconnect`
A5 | the body is longer than Content-Length | the announced bytes are taken, the connection is not used again
A6 | several Content-Lengths, or one beside chunked | lengths that differ: refused; chunked wins, the connection is closed
A7 | a Content-Length that is no plain number | refused, except a list of equal numbers
A8 | chunk sizes that do not read | `bad_chunk`: tried again, at last the sound prefix is kept and flagged
A9 | chunked, and cut between two chunks | incomplete: tried again, kept as `truncated=disconnect`
A10 | chunk extensions and trailers | read over
A11 | gzip that is cut or fails its check sum | asked once more uncompressed, then the sound prefix is read, `truncated=decode`
A12 | br and zstd that are cut; gzip of several members, zstd of several frames | prefix read; all parts decoded
A13 | compression bombs, and four layers of gzip | UNREADABLE `bomb`, not tried again, memory flat
A14 | `Content-Encoding: gzip` over a plain body | the body is read as it is
A15 | codings that nobody knows or that are spelled wrong | taken as none; x-gzip is gzip
A16 | a .gz file served as a type, and as a coding | kept as received, decoded once for reading
A17 | reset in the body, end in the header, no answer at all | tried again: `conn_reset`, `empty_reply`
A18 | a kept connection closes as a request is sent | asked once more on a new one, and not counted
A19 | junk before the status line of a kept connection | that connection is dropped, asked again on a clean one
A20 | a body where there must be none (204, 304) | ignored, the connection closed
A21 | a hundred 1xx answers, then a real one; nothing but 1xx | more than 20 are refused; only 1xx: `timeout.headers`
A22 | 206 that nobody asked for, wrong Content-Range | kept, flagged as a part
A23 | no status line, or one of another protocol | `bad_status_line`
A24 | 200, no body, no type | OK, empty
B1 | headers of ten megabytes, a hundred thousand lines, one long line | given up at a limit
B2 | NUL, lone CR, odd line ends, names that are none | NUL, a bare CR and a line without a colon refuse; other odd lines harm nobody
B3 | control bytes and raw UTF-8 or GBK in values | taken as they are
B4 | a header folded over lines | one value
B5 | types that are doubled, oddly spelled, missing, or wrong | WHATWG rules; text/plain is never made HTML
B6 | Content-Disposition with a path | never a path of ours
B7 | cookies for other domains, public suffixes, expired, by the thousand | RFC 6265bis, with limits
B8 | Link, Refresh, Content-Location | canonical noted, Refresh followed, Content-Location is no base
B9 | X-Robots-Tag and meta robots | noted; nofollow obeyed unless told otherwise
B10 | dates that make no sense | nothing happens
C1 | redirects to itself, in a ring, too many, endless ones | `redirect_loop`, `too_many_redirects`; each hop paced
C2 | a redirect to itself that sets a cookie | asked once more with the cookie
C3 | a redirect to the same query in another order | followed
C4 | a redirect out of scope, to what robots.txt forbids, to a private address | judged like any link
C5 | 3xx without a place, with an empty one, a fragment, two places | final; fragment dropped; two that differ refused
C6 | relative places, slashes and backslashes, blanks and line ends | WHATWG resolution
C7 | raw bytes in Location | percent-encoded as they are
C8 | places with credentials, bad ports, other schemes | bad ports and schemes refused, credentials never stored
C9 | from https to http and back | followed, credentials left behind
C10 | meta refresh in all its spellings | followed up to 30 s; not in comments and scripts, a link in noscript
C11 | base: relative, empty, doubled, late, of another host, no address | the first sound one counts for the whole page
C12 | links of a page behind a redirect | its final address is the base
D1 | 429 and 503 with every kind of Retry-After | the host waits, bounded; nonsense means our own wait, never less
D2 | 429 for everything, at once | slower with each, then parked
D3 | 503 twice, then 200 | one success with three attempts
D4 | 403, 401, 407, 451; 5xx that come and go | 4xx final, 5xx tried again within limits, 407 is the proxy's
D5 | a host dies and comes back | its queue waits, the others go on
D6 | very many URLs on a dead host | one probe at a time, then `host_unreachable` for all
D7 | one slow host among quick ones | only it takes long
D8 | our own network goes, or the machine slept | nobody is blamed, nothing is counted
E1 | names that do not exist, or do not resolve now | the first final, the second tried again, nobody waits for them
E2 | a name that turns to a private address | refused when the socket opens
E3 | IPv6 only; IPv6 that swallows packets | reached; IPv4 within 300 ms
E4 | odd host names | WHATWG host parsing; what is none is refused and never raises
E5 | certificates that are expired, self-signed, for others, too old | each with its reason, never http instead; kept as evidence where allowed
E6 | handshakes that stall, end, or are none | each with its reason, within the deadline
E7 | proxies that refuse, ask, close, stall | the proxy is named, the site is not blamed, never around it
F1 | GOAWAY in the middle | what was not answered is asked again
F2 | RST_STREAM before and in an answer | asked again; cut and flagged
F3 | stream numbers run out | a new connection
F4 | floods of SETTINGS, empty CONTINUATION, huge HPACK | the connection is dropped, HTTP/1.1 once
F5 | h2 agreed and something else spoken | HTTP/1.1 once
G1 | header, meta and BOM disagree | BOM, then header, then meta, then a guess
G2 | labelled gb2312, written in GBK or GB18030 | read as gb18030
G3 | labels spelled in every way | the WHATWG table, else a guess
G4 | UTF-16 with and without BOM; meta that claims it | BOM obeyed, meta utf-16 is utf-8
G5 | a late, hidden or broken meta charset | the first 1,024 bytes, then a lenient look
G6 | no charset named | guessed
G7 | a query in a page that is not UTF-8 | in the page's charset; the path in UTF-8
G8 | one line of 20 MB, a million links, a million attributes | limits, and said so
G9 | nested 100,000 deep and other things that parse slowly | the page is given up, not the worker's other pages
G10 | links wherever they hide | found
G11 | one broken link among a hundred | the other 99
G12 | types that lie | no crash, no links
H1 | a calendar without end | a budget per pattern, said to be a trap
H2 | session ids, parameters reordered, repeated, growing | one page each
H3 | paths that grow by themselves | limits on repetition
H4 | 200 for what is not there | told apart by a probe, its links not followed
H5 | the same content under many URLs | revisit records; names joined only when proven
H6 | a page to a million subdomains | a budget per registrable domain
H7 | a page that links to itself with more behind | growth is noticed
H8 | a trap that robots.txt forbids | not fetched
I1 | robots.txt answers 4xx | all is allowed; 429 means later
I2 | robots.txt cannot be had | nothing is allowed, asked again, never for ever
I3 | robots.txt redirects | five hops, the rules are for who asked
I4 | robots.txt is huge | the first 500 KiB, no half line
I5 | robots.txt with a BOM, CR, NUL, HTML, gzip, nothing, noise | read leniently; HTML has no rules
I6 | wildcards, ends, escapes, groups, odd delays | RFC 9309; delays clamped
I7 | other rules per port and scheme | by origin
I8 | robots.txt changes; a crawl goes on next day | asked again after a day
J1 | sitemap indexes in a ring, or 100 deep | limits, each once
J2 | a sitemap that is a bomb | 50 MB
J3 | gzip that is labelled twice or wrongly, junk behind it | decoded once, what came first is kept
J4 | a million URLs in sitemaps | all of them, in flat memory
J5 | broken XML of every kind | what can be read, is
J6 | sitemaps that name other hosts, files, private addresses | refused
J7 | text, RSS and Atom as sitemaps, also packed | read
J8 | lastmod that makes no sense | ignored
J9 | entities that explode or read files | refused
J10 | a sitemap that is not there, or is HTML | a warning
K1 | names longer than the file system takes | shortened with a hash
K2 | names that Windows keeps for itself | changed
K3 | names that differ only in case or in Unicode form | told apart
K4 | a page and a folder of one name | both
K5 | queries, and an empty one | told apart
K6 | names that lead out of the folder | never do
K7 | names of our own files | changed
K8 | two URLs, one name | both kept
K9 | a page that is fetched again and fails | the old copy stays
K10 | a link in the place of a folder | refused
L1 | killed at any instant | nothing lost, next to nothing twice
L2 | signals, once and twice | ends cleanly, says that it can go on
L3 | disk full or broken | stops cleanly, goes on when there is room
L4 | no file descriptors left | fewer at once, no URL pays for it
L5 | no memory for a worker | replaced, the page that did it is set aside
L6 | clocks that jump, a machine that sleeps | nobody is hurried
L7 | torn, flipped, emptied, deleted state | noticed and said, never silently new
L8 | two processes, one folder | the second is refused, a dead one's lock is not
L9 | another version, other settings | migrated or refused; what changed is said
L10 | a worker dies or comes late with its leases | leased anew, late answers ignored
L11 | the engine outside restarts, fails, stalls | waits, loses nothing
L12 | a callback raises, lies, sleeps, exits | noted, the crawl goes on
L13 | nobody reads the output, no room for the log | goes on
L14 | ten million URLs, three days | memory flat, quick to start
L15 | killed in the middle of an export | whole or absent
M1 | a server that is full, or asks for later (421, 450, 530 "too many") | `ftp_busy`: the host waits, tried again within limits
M2 | no such file; a folder named without its slash | `ftp_not_found` at once; MOVED to the name with the slash
M3 | nobody is let in | `ftp_login`, once for the whole host
M4 | listings that lie: dots, paths, line ends, NUL, links to above | no such link is taken, the rest is
M5 | a folder that holds itself, followed by the server | walked once
M6 | a listing in no known form | kept, no links
M7 | a data connection at another machine's address | its port at the server's own address
M8 | a data connection that is refused or breaks | `ftp_data`: tried again, at last the part is kept and flagged
M9 | silence: no greeting, no reply, no more data | a deadline for each, with its name
M10 | a greeting without end, a line without end, another protocol | given up at a limit
M11 | a file without end | cut at the limit, `truncated=length`
M12 | servers without FEAT, EPSV or MLSD, in MS-DOS style | asked in the old way
M13 | robots.txt on an FTP server | obeyed as on the web
M14 | a kept session that has ended | a new one, and not counted
"""

ROWS = {
    row.id: row for row in (Row(*(part.strip() for part in line.split("|"))) for line in _TABLE.strip().splitlines())
}
"""id → row, in order."""
