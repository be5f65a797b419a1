"""What an answer amounts to: status and headers become an `Outcome` with its reason. Pure.

Redirects follow RFC 9110 section 15.4: the statuses that name another place for this resource are MOVED; 300 and 304
without validators, and a 3xx that names no place, are final answers like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nephila.types import UNVERIFIED, Kind, Lease, Outcome, Response
from nephila.url.parse import from_header, resolve, without_userinfo

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)


class Verdict(NamedTuple):
    outcome: Outcome
    reason: str = ""
    target: str = ""


def judge(
    lease: Lease, response: Response, fingerprint_of: Callable[[str], int], *, hops_max: int, robots_hops_max: int
) -> Verdict:
    """Outcome, reason and, for MOVED, the absolute URL it moved to. `fingerprint_of(url)` tells loops."""
    hops = robots_hops_max if lease.request.kind is Kind.ROBOTS else hops_max
    found = _answered(lease, response, fingerprint_of, hops)
    if found.reason or response.doubt is None:
        return found
    return found._replace(reason=response.doubt.reason.replace("tls.", UNVERIFIED, 1))


def _answered(lease: Lease, response: Response, fingerprint_of: Callable[[str], int], hops_max: int) -> Verdict:
    status = response.status
    ftp = response.protocol == "ftp"
    if ftp and status >= 400:
        return Verdict(Outcome.REFUSED, "ftp_not_found")
    if status in REDIRECTS or (ftp and response.header("location")):
        return _moved(lease, response, fingerprint_of, hops_max)
    if status == 304 and any(lease.request.validators):
        return Verdict(Outcome.UNCHANGED)
    if ftp or 200 <= status < 300:
        return Verdict(Outcome.OK, response.truncated and f"truncated.{response.truncated}")
    return Verdict(Outcome.REFUSED, f"status.{status}")


def _moved(lease: Lease, response: Response, fingerprint_of: Callable[[str], int], hops_max: int) -> Verdict:
    places = dict.fromkeys(value.strip() for value in response.header_all("location"))
    if not any(places):
        return Verdict(Outcome.REFUSED, "redirect_without_location")
    if len(places) > 1:
        return Verdict(Outcome.REFUSED, "redirect_ambiguous")
    target = resolve(response.url, from_header(next(iter(places))))
    if target is None:
        return Verdict(Outcome.REFUSED, "redirect_target")
    target = without_userinfo(target)
    fp = fingerprint_of(target)
    if fp == lease.fp and response.header("set-cookie") and lease.attempt == 1:
        return Verdict(Outcome.MOVED, "cookie_wall", target)
    if fp == lease.fp or fp in lease.request.chain:
        return Verdict(Outcome.REFUSED, "redirect_loop", target)
    if lease.request.hops >= hops_max:
        return Verdict(Outcome.REFUSED, "too_many_redirects", target)
    return Verdict(Outcome.MOVED, "", target)


def max_age(response: Response) -> float:
    """Seconds of Cache-Control max-age; 0.0 when it says nothing."""
    found = _MAX_AGE.search(response.header("cache-control"))
    return float(found[1]) if found else 0.0
