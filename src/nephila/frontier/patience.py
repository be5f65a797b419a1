"""Patience: how long to wait, as pure functions of what is known. Nothing here has a clock or a socket.

Three different waits, never mixed: the *pause* of a host between two requests (manners), the *retry* of one URL (it may
go better later), the *backoff* of a host that does not answer or asks for silence. Errors make all of them longer and
never shorter (an error page is quick: a crawler that adapts to it hammers a site in trouble).
"""

from __future__ import annotations

import math
import random
import re

PENALTY_MAX = 64.0
_SECONDS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{0,15})?", re.ASCII)


def pause(
    delay: str, *, crawl_delay: float, ttfb: float, private: bool, low: float, high: float, crawl_delay_max: float
) -> float:
    """Seconds between two requests to one host.

    `auto`: clamp(max(Crawl-delay, 5 × smoothed time to first byte), low, high), where Crawl-delay (−1: none) is first
    clamped to `crawl_delay_max` and may exceed `high`; the lower bound is 0 on private hosts. A number: that pause, but
    never less than Crawl-delay (the caller passes −1 when robots.txt is ignored).
    """
    asked = min(max(crawl_delay, 0.0), crawl_delay_max)
    if delay != "auto":
        return max(float(delay), asked)
    return max(asked, min(max(5.0 * ttfb, 0.0 if private else low), high))


def smoothed(old: float, new: float, *, good: bool) -> float:
    """Time to first byte, exponentially smoothed. A response that is an error may lengthen it, never shorten it."""
    if old == 0.0:
        return new if good else 0.0
    mixed = 0.8 * old + 0.2 * new
    return mixed if good else max(old, mixed)


def retry_after(value: str, wall: float) -> float | None:
    """Seconds asked for by Retry-After (RFC 9110 section 10.2.3): seconds or an HTTP-date; None when it says nothing usable.

    A date in the past and a negative number are nothing usable: they must not switch our own backoff off. Parts of a
    second, which some sites send, are rounded up.
    """
    value = value.strip()
    if _SECONDS.fullmatch(value):
        seconds = float(value)
    else:
        import email.utils  # dates are rare here, and this import is dear

        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - wall
        except (ValueError, TypeError, OverflowError):
            return None
    return float(math.ceil(seconds)) if seconds > 0 else None


def backoff(n: int, first: float, longest: float, rng: random.Random) -> float:
    """Wait before try n + 1: doubles with n = 1, 2, …, with jitter of ± 50 %, at most `longest`."""
    return min(first * 2.0 ** min(n - 1, 30) * rng.uniform(0.5, 1.5), longest)


class Network:
    """Is the network there at all? (Losing our own link must not be blamed on the sites.)

    Offline begins when no host has answered for `after` seconds while at least three hosts at different addresses (or
    the only host there is) fail in DNS or connect, and only if one has answered before: a first seed that is down
    proves nothing about us. The first answer ends it.
    """

    def __init__(self, after: float) -> None:
        self._after = after
        self._answered: float | None = None
        self._failing: dict[str, tuple[str, int]] = {}
        """origin → (address, failures since anybody answered)"""
        self.since: float | None = None

    @property
    def offline(self) -> bool:
        return self.since is not None

    def doubtful(self, origin: str, now: float) -> bool:
        """This host failed more than once since anybody answered, and it is too early to say whose fault that is."""
        if self._answered is None or now - self._answered >= self._after:
            return False
        return self._failing.get(origin, ("", 0))[1] > 1

    def answered(self, now: float) -> bool:
        """A host answered. True when this ends an offline time."""
        ended, self.since, self._answered = self.offline, None, now
        self._failing.clear()
        return ended

    def failed(self, origin: str, ip: str, hosts: int, now: float) -> bool:
        """A host failed in DNS or connect; `hosts` = how many hosts the crawl has left. True when offline begins."""
        if self.offline or self._answered is None:
            return False
        if origin in self._failing or len(self._failing) < 64:
            self._failing[origin] = (ip or origin, self._failing.get(origin, ("", 0))[1] + 1)
        enough = len({address for address, _ in self._failing.values()}) >= min(3, max(hosts, 1))
        if enough and now - self._answered >= self._after:
            self.since = now
            return True
        return False
