"""What the archive says about a visit beside its bytes: the `application/warc-fields` of the metadata record.

Outlinks are absolute. Resolving sixty of them by the URL standard costs more than compressing the page, so the usual forms
are joined as text (`/path`, `name`, `?query`, `https://…`): dot segments stay in, and whoever reads the line gets the same
URL that the crawl got. Anything unusual goes through the page's own resolver.
"""

from __future__ import annotations

import base64
import hashlib
import re

from nephila.archive.record import date, one_line, target
from nephila.types import Doubt, Links, Response, Visit

_PLAIN = re.compile(r"[!#-;=?A-\[\]_a-z~]+")
"""ASCII without blanks, controls, `\\`, `@` and what the URL standard would escape: such text may be joined as it is."""
_HREF_CHARS = 1024
"""A longer one is not worth remembering."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def fields(visit: Visit, response: Response, outlinks: Outlinks, evidence: Evidence) -> bytes:
    """The fields of one visit, a `name: value` line each."""
    request, page = visit.lease.request, visit.page
    lines = [
        f"kind: {request.kind}\r\ndepth: {request.depth}\r\nhops: {max(request.hops, 0)}\r\noutcome: {visit.outcome}\r\n"
        f"fetchTimeMs: {round(response.timings.total * 1000)}\r\n"
    ]
    said = [("reason", visit.reason), ("tls", response.tls), ("movedTo", target(visit.moved_to))]
    if page is not None:
        said += [("charset", page.charset), ("language", page.language), ("title", page.title)]
    lines += [f"{name}: {one_line(value)}\r\n" for name, value in said if value]
    if response.doubt is not None:
        lines.append(evidence(response.doubt))
    if page is not None and page.links is not None:
        lines.append(outlinks(page.links))
    return "".join(lines).encode("utf-8", "replace")


class Evidence:
    """Why a host was not believed: what failed, when, and the certificates. Each page names them by their SHA-256; the first
    one in a file that does so has them whole (DER in base64)."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, doubt: Doubt) -> str:
        lines = [f"tlsFailed: {one_line(f'{doubt.reason} {doubt.detail}')}", f"tlsFailedAt: {date(doubt.since)}"]
        for certificate in doubt.chain:
            name = f"sha256:{hashlib.sha256(certificate).hexdigest()}"
            whole = "" if name in self._told else f" {base64.b64encode(certificate).decode()}"
            self._told.add(name)
            lines.append(f"tlsCertificate: {name}{whole}")
        return "".join(f"{line}\r\n" for line in lines)

    def next_file(self) -> None:
        """A file can be understood without the others."""
        self._told.clear()


class Outlinks:
    """The `outlink` lines of pages. A site's pages repeat their links, so lines are remembered per directory of the page:
    two generations of dicts, of which the older is forgotten when the younger holds `half` lines."""

    def __init__(self, half: int = 1 << 14) -> None:
        self._young: dict[str, dict[tuple[str, str], str]] = {}
        self._old: dict[str, dict[tuple[str, str], str]] = {}
        self._held, self._half = 0, half

    def __call__(self, links: Links) -> str:
        base = target(links.base)
        path = base.partition("#")[0].partition("?")[0]
        slash = path.rfind("/") + 1
        folder = path[:slash] if slash > len("https://") else f"{path}/"
        place = f"{links.charset} {folder}"
        if self._held >= self._half:
            self._old, self._young, self._held = self._young, {}, 0
        known, old = self._young.get(place), self._old.get(place, {})
        if known is None:
            known = self._young[place] = {}
            self._held += 1
        keys = list(zip(links.hrefs, links.kinds, strict=False))
        lines = list(map(known.get, keys))
        for i, line in enumerate(lines):
            if line is None:
                href = links.hrefs[i]
                line = old.get(keys[i]) or _line(links, href, links.kinds[i].value, base, path, folder)
                lines[i] = line
                if href[0] not in "?#" and len(href) <= _HREF_CHARS:
                    known[keys[i]] = line
                    self._held += 1
        return "".join(lines)  # type: ignore[arg-type]


def _line(links: Links, href: str, kind: str, base: str, path: str, folder: str) -> str:
    """`outlink: URL kind`, or "" when there is no such URL."""
    if not _PLAIN.fullmatch(href):
        url = target(links.resolve(links.base, href, links.charset) or "")
    elif (first := href[0]) == "/":
        scheme, _, rest = folder.partition("://")
        url = f"{scheme}:{href}" if href[1:2] == "/" else f"{scheme}://{rest.partition('/')[0]}{href}"
    elif first == "?":
        url = path + href
    elif first == "#":
        url = base.partition("#")[0] + href
    elif ":" in href and _SCHEME.match(href):
        url = href
    else:
        url = folder + href
    return f"outlink: {url} {kind}\r\n" if url else ""
