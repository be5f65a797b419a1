"""Permission: robots.txt of each host, asked for first and alone, obeyed until it expires (RFC 9309).

A redirected robots.txt speaks for the host that asked (section 2.3.1.2): its target is fetched as a request of the other
host, or, when it is that host's own robots.txt, fetched once for both.
"""

from __future__ import annotations

from collections.abc import Callable

from nephila.frontier.batch import BIAS, ROBOTS, Row
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.frontier.manners import Manners
from nephila.frontier.met import Met
from nephila.frontier.seeds import Seeds, nobody_listens
from nephila.types import PROXY_FAULTS, TLS_FAILURES, Outcome, RobotsFile, Settlement
from nephila.url.parse import origin

NO_HOST = TLS_FAILURES | PROXY_FAULTS | {"bad_host", "dns.not_found", "ftp_login", "timeout.tls"}
"""Reasons for which there is nobody to ask: the origin's URLs end so, too, and are not denied."""
AGE_MIN_S = 60.0
"""However short-lived an answer says it is, it holds for this long."""

Verdict = tuple[Outcome, str]


class Permission:
    """Which rules a host has, and who waits for whose. It wakes nobody itself: hosts that learned something are stirred."""

    def __init__(
        self, books: Books, manners: Manners, seeds: Seeds, met: Met, fingerprint: Callable[[str], int]
    ) -> None:
        self._books, self._clock, self._manners, self._seeds = books, books.clock, manners, seeds
        self._met, self._fingerprint = met, fingerprint
        self._answers_for: dict[int, Host] = {}
        """robots.txt requests of one host that were redirected to another one → who asked"""

    # --- asking -----------------------------------------------------------------------------------------------------

    def wanted(self, host: Host) -> bool:
        """Before anything else is fetched from the host, its rules are: they are unknown or have expired."""
        if self._books.config.no_robots or host.verdict:
            return False
        if host.robots is None:
            return True
        # With a pause longer than their lifetime, rules would expire before they were of use.
        return host.robots_used and host.robots_expires <= self._clock.wall()

    def ask(self, host: Host) -> Row:
        """The request for a host's robots.txt: the one row of that URL, or one beside it when it is asked for again."""
        host.robots_asked = True
        row, host.robots_row = host.robots_row, None
        return row if row is not None else self._new_row(host, host.origin + "/robots.txt", 0, 0)

    def met(self, host: Host, row: Row) -> None:
        """A link led to a robots.txt: its row serves for the host's own request, if that has not been made."""
        if host.robots_row is None and not host.robots_asked:
            host.robots_row = row
        self._books.stirred[host] = None

    def woken(self, host: Host) -> None:
        """A host is awake; those that asked meanwhile for its rules have them, if it does."""
        if host.waiters and host.robots is not None:
            waiting, host.waiters = host.waiters, []
            for other in waiting:
                self._share(host, host.robots, other)

    def put_back(self, host: Host, row: Row) -> None:
        """The request did not come to an end: it is made again."""
        if row.id in self._answers_for:
            host.extra.append(row)
        else:
            host.robots_row, host.robots_asked = row, False

    def _new_row(self, host: Host, url: str, hops: int, parent: int) -> Row:
        books, fp, salt, text = self._books, self._fingerprint(url), 0, url
        while not self._met.first(fp, text):
            salt += 1
            text = f"{url} {self._clock.wall()} {salt}"
            fp = self._fingerprint(text)
        books.url_id += 1
        row = Row(books.url_id, fp, url, ROBOTS, 0, hops, parent, 0, 0, "")
        books.batch.urls.append((row.id, fp - BIAS, host.id, url, row.kind, 0, hops, parent, 0, "queued", 0, 0.0))
        books.batch.empty = False
        return row

    # --- answers ----------------------------------------------------------------------------------------------------

    def settled(self, host: Host, row: Row, s: Settlement) -> None:
        """The request for a robots.txt is final: rules, none, or a redirect to look at."""
        asker = self._answers_for.pop(row.id, host)
        if s.outcome == Outcome.MOVED and s.moved_to:
            self._moved(asker, row, s.moved_to)
            return
        robots = s.robots or RobotsFile("unreachable", b"", s.status)
        if 300 <= s.status < 400:  # redirects that lead nowhere, or too far: unavailable (RFC 9309 section 2.3.1.2)
            robots = RobotsFile("absent", b"", s.status)
        verdict = self._unreachable(asker, row, s) if robots.state == "unreachable" else None
        ttl = self._books.config.robots_ttl_s
        self._known(asker, robots, min(s.robots_max_age or ttl, ttl), verdict)

    def _unreachable(self, asker: Host, row: Row, s: Settlement) -> Verdict:
        """No rules, so no permission; a host that is not there at all is not denied but gone."""
        absent = nobody_listens(s.reason)
        if absent and self._seeds.any_guessed(asker):
            self._books.note("seed.http", origin=asker.origin, reason=s.reason)
        else:
            self._books.note("robots.unreachable", origin=asker.origin, reason=s.reason or f"status {s.status}")
        own = row.url == asker.origin + "/robots.txt"
        gone = absent or s.reason in NO_HOST
        if own and (gone or s.outcome == Outcome.BLOCKED):
            return (s.outcome, s.reason)
        return (Outcome.DENIED, "robots_unreachable")

    def _known(self, host: Host, robots: RobotsFile, age: float, verdict: Verdict | None) -> None:
        wall = self._clock.wall()
        host.robots, host.crawl_delay, host.robots_asked = robots, robots.crawl_delay, False
        host.robots_fetched, host.robots_expires, host.robots_used = wall, wall + max(age, AGE_MIN_S), False
        host.verdict = host.verdict or verdict
        told = (robots.text, robots.state, robots.status, host.crawl_delay, host.robots_fetched, host.robots_expires)
        self._books.batch.robots.append((*told, host.id))
        self._books.batch.weight += len(told[0] or b"")
        self._books.dirty(host)
        if self._books.config.per_host == 1:  # a Crawl-delay counts from the answer that asked for it
            host.due = max(host.due, self._clock.monotonic() + self._manners.pause(host))
        waiting, host.waiters = host.waiters, []
        for other in waiting:
            self._known(other, robots, age, _elsewhere(robots))
        self._books.stirred[host] = None

    def _share(self, owner: Host, robots: RobotsFile, other: Host) -> None:
        """`other` has the rules of `owner`, as long as they hold there."""
        self._known(other, robots, max(owner.robots_expires - self._clock.wall(), AGE_MIN_S), _elsewhere(robots))

    # --- redirects --------------------------------------------------------------------------------------------------

    def _moved(self, host: Host, row: Row, target: str) -> None:
        there = self._books.host(origin(target))
        if there is not host and target == there.origin + "/robots.txt" and (there.robots or not there.verdict):
            if there.robots is not None:
                self._share(there, there.robots, host)
            elif self._leads_nowhere(host, there):
                self._known(host, RobotsFile("absent", b"", 301), self._books.config.robots_ttl_s, None)
            else:
                there.waiters.append(host)
                self._books.stirred[there] = None
        else:
            row = self._new_row(there, target, row.hops + 1, row.id)
            self._answers_for[row.id] = host
            there.extra.append(row)
            self._books.stirred[there] = None

    def _leads_nowhere(self, host: Host, there: Host) -> bool:
        """`there` waits for `host` itself (a circle), or so many hosts in a row do that it is a chain without end."""
        level, hops = [host], 0
        while level and there not in level:
            level, hops = [waiter for one in level for waiter in one.waiters], hops + 1
        return there in level or hops > self._books.config.robots_redirects_max


def _elsewhere(robots: RobotsFile) -> Verdict | None:
    """The verdict for a host whose rules lie on another one: that this other one fails is not its own fault."""
    return (Outcome.DENIED, "robots_unreachable") if robots.state == "unreachable" else None
