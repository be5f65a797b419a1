"""Members: sites that let in who logs in. A login is a state of its site, in memory only: a new start logs in anew.

    out ──ask──▶ logging in: page, form, what comes after it ──no form any more──▶ in
     ▲                          │ it asks again: after `login_tries` times the site's pages wait for the next start
     └── visits are turned away ┴───────────────────────────────────────────────────────────────────────────────

A site here is a registrable domain, as its cookies are. While it is not `in`, no page of it is leased; a login begins when all
its leases are back, since an answer to an older request could replace the new session's cookies. It is one lease at a time, of kind `login`,
without a row: what comes of it is cookies and this state.

A visit that is turned away is leased again, a moment later. Is its session over, or is the page closed to this very member? Pages that
come well say nothing, since everybody may see them. So a few that are turned away end a session, the login is done again, and
they are the first to be asked for: what a session that has only begun is turned away from, too, is closed, and is taken as it is. A
login that helped nobody doubles how many it takes the next time, so that a site with many closed pages is not logged in to for each of them.
Sessions in which no page opens count as failed logins.
"""

from __future__ import annotations

from collections.abc import Callable

from nephila import credentials
from nephila.credentials import Login
from nephila.frontier import patience
from nephila.frontier.batch import LOGIN, Row
from nephila.frontier.books import Books, Held
from nephila.frontier.host import Host
from nephila.types import RETRYABLE, Gate, Kind, Outcome, Request, Settlement
from nephila.url.parse import host_of, origin, same_place
from nephila.url.site import registrable

ROW_ID = 1 << 62
"""Logins are leased under numbers that no row has."""
TURNED_AWAY, TURNED_AWAY_MAX = 2, 8
"""Visits turned away that end a session; at most, where logging in again did not help."""
FRESH = 8
"""So many leases of a session are taken to have found it alive."""


class Session:
    """One login and how it stands."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.gate = Gate(login.url)
        self.state = "out"
        """`out`, `in`, or `failed`: nothing more is tried"""
        self.wanted = False
        """pages wait for it"""
        self.leased = 0
        """leases of the site's pages that are out"""
        self.asked = False
        """a request of the login is out"""
        self.logins = self.failures = 0
        """logins so far; failed ones in a row"""
        self.lent = self.good = self.away = self.helped = 0
        """in this session: leases, good pages, visits turned away, pages that the one before had been turned away from"""
        self.fruitful = False
        """a page has opened, some time"""
        self.patience = TURNED_AWAY
        """how many of those end the session"""
        self.tries = 0
        """requests of this login that failed"""
        self.begin()

    def begin(self) -> None:
        """The next request is the first of a login."""
        self.request = Request(self.login.url, Kind.LOGIN)
        self.sent, self.hops = False, 0


class Members:
    """All logins of a crawl; false when there are none. `wake` is how `queues` look at a host again."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._sites = {registrable(host_of(one.url)): Session(one) for one in credentials.logins(books.config)}
        self._met: dict[int, int] = {}
        """URLs that were turned away → by which session (`logins`)"""
        self._fresh: set[int] = set()
        """leases that are out and were among the first of their session"""
        self._closed: set[int] = set()
        """URLs that are closed to this member"""
        self._ids = ROW_ID
        self.wake: Callable[[Host], None] = lambda host: None

    def __bool__(self) -> bool:
        return bool(self._sites)

    def of(self, host: Host) -> Session | None:
        """The login of a host's site."""
        return self._sites.get(registrable(host_of(host.origin + "/")))

    # --- who may go out ---------------------------------------------------------------------------------------------

    def closed(self, host: Host) -> Session | None:
        """The session that pages of this host wait for."""
        session = self.of(host)
        return session if session is not None and session.state != "in" else None

    def knocks(self, host: Host, session: Session) -> bool:
        """A host has pages and waits at the gate. True: it is the one to log in at, and may do so now."""
        session.wanted = session.wanted or bool(host.queued)
        here = self._books.host(session.login.origin)
        if here.verdict and session.state != "failed":
            self._give_up(session, here.verdict[1])
        if session.state == "failed" or here in self._books.parked:
            if host.queued:
                self._books.parked.add(host)
            return False
        if host is not here:
            if session.wanted:
                self.wake(here)
            return False
        self._unpark(session)
        return session.wanted and not session.leased and not session.asked

    def ask(self, host: Host) -> Row:
        """The row of the next request of a host's login."""
        session = self.of(host)
        assert session is not None
        self._ids += 1
        session.asked = True
        return Row(self._ids, 0, session.request.url, LOGIN, 0, 0, 0, 0, 0, "")

    def sent(self, host: Host, row: Row) -> tuple[Request | None, Gate | None, str]:
        """A row goes out: (the request, if it is a login's; the gate it may meet; the name of what it gives access to)."""
        session = self.of(host)
        if session is None:
            return None, None, ""
        if row.kind == LOGIN:
            return session.request, session.gate, session.login.name
        session.leased, session.lent = session.leased + 1, session.lent + 1
        (self._fresh.add if session.lent <= FRESH else self._fresh.discard)(row.id)
        if row.id in self._closed or same_place(row.url, session.login.url):
            return None, None, ""
        return None, session.gate, ""

    def returned(self, held: Held) -> None:
        """A lease is back."""
        session = self.of(held.host)
        if session is None:
            return
        if held.row.kind == LOGIN:
            session.asked = False
            return
        session.leased -= 1
        if session.state == "out" and not session.leased:
            self._books.stirred[self._books.host(session.login.origin)] = None

    # --- logging in -------------------------------------------------------------------------------------------------

    def answered(self, held: Held, s: Settlement, now: float) -> None:
        """A request of a login came back: what is the next one, and is it over?"""
        session = self.of(held.host)
        assert session is not None
        if s.set_cookies:
            self._books.keep_cookies(held.row.url, s.set_cookies, s.access)
        if s.reason in RETRYABLE:
            self._once_more(session, held.host, s.reason, now)
        elif s.outcome is Outcome.MOVED:
            self._moved(session, held.host, s, now)
        elif s.outcome is not Outcome.OK:
            self._failed(session, held.host, s.reason or s.outcome.value, now)
        elif s.login is None:
            if session.sent or session.hops:
                self._in(session)
            else:
                self._failed(session, held.host, "no form with a password on the page", now)
        elif session.sent:
            self._failed(session, held.host, "the form comes back", now)
        elif s.login.problem:
            self._failed(session, held.host, s.login.problem, now)
        else:
            session.sent, session.gate = True, Gate(session.login.url, s.login.action)
            session.request = Request(s.login.action, Kind.LOGIN, method="POST", body=s.login.body)
        self._books.stirred[held.host] = None

    def _once_more(self, session: Session, host: Host, reason: str, now: float) -> None:
        """The network's fault, not the password's."""
        session.tries += 1
        if session.tries >= self._books.config.tries:
            self._failed(session, host, reason, now)
        else:
            session.begin()
            self._wait(host, session.tries, now)

    def _moved(self, session: Session, host: Host, s: Settlement, now: float) -> None:
        """301, 302 and 303 are followed by GET, 307 and 308 repeat the request (Fetch standard, HTTP-redirect fetch); a form goes
        to no other origin, and what lies there shows when the next page is asked for."""
        session.hops += 1
        if origin(s.moved_to) != host.origin:
            if session.sent and s.status not in (307, 308):
                self._in(session)
            else:
                self._failed(session, host, "it leads to another origin", now)
        elif session.hops > self._books.config.redirects_max:
            self._failed(session, host, "too_many_redirects", now)
        elif s.status in (307, 308):
            was = session.request
            session.request = Request(s.moved_to, Kind.LOGIN, method=was.method, body=was.body)
        else:
            session.request = Request(s.moved_to, Kind.LOGIN)

    def _in(self, session: Session) -> None:
        session.state, session.wanted = "in", False
        session.logins, session.tries = session.logins + 1, 0
        session.lent = session.good = session.away = session.helped = 0
        session.begin()
        self._books.note("login.ok", url=session.login.url)
        self._stir(session)

    def _failed(self, session: Session, host: Host, why: str, now: float) -> None:
        session.failures, session.tries = session.failures + 1, 0
        session.begin()
        self._books.note("login.failed", url=session.login.url, reason=why, n=session.failures)
        if session.failures >= self._books.config.login_tries:
            self._give_up(session, why)
        else:
            self._wait(host, session.failures, now)

    def _wait(self, host: Host, n: int, now: float) -> None:
        c = self._books.config
        wait = patience.backoff(n, c.retry_wait_s, c.retry_wait_max_s, self._books.rng)
        host.backoff_until = max(host.backoff_until, now + wait)

    def _give_up(self, session: Session, why: str) -> None:
        session.state = "failed"
        self._books.note("login.given_up", url=session.login.url, reason=why)
        self._stir(session)

    def _stir(self, session: Session) -> None:
        """Every host of the site looks whether it may go on."""
        for host in self._books.hosts.values():
            if self.of(host) is session:
                self._books.stirred[host] = None

    def _unpark(self, session: Session) -> None:
        """Hosts that were only parked because their login was."""
        for host in [h for h in self._books.parked if not h.parked_until and h.state != "paused"]:
            if self.of(host) is session:
                self._books.parked.discard(host)

    def put_back(self, host: Host) -> None:
        """A request of a host's login did not come to an end: the login begins anew."""
        session = self.of(host)
        assert session is not None
        session.begin()

    def unread(self, held: Held, reason: str, now: float) -> None:
        """Reading its page has killed a worker."""
        session = self.of(held.host)
        assert session is not None
        self._failed(session, held.host, reason, now)
        self._books.stirred[held.host] = None

    # --- is it still in ---------------------------------------------------------------------------------------------

    def settled(self, held: Held, s: Settlement) -> None:
        """A page is final."""
        session = self.of(held.host)
        if session is None:
            return
        id = held.row.id
        self._fresh.discard(id)
        met, closed = self._met.pop(id, 0), id in self._closed
        self._closed.discard(id)
        if not closed and session.state == "in" and s.outcome in (Outcome.OK, Outcome.UNCHANGED, Outcome.MOVED):
            session.good, session.failures, session.fruitful = session.good + 1, 0, True
            session.helped += bool(met)

    def turned_away(self, held: Held) -> None:
        """A page met the login. It waits, and so do the others if that means that the session is over."""
        session = self.of(held.host)
        assert session is not None
        id = held.row.id
        fresh = id in self._fresh
        self._fresh.discard(id)
        if session.state != "in":
            return
        before, self._met[id] = self._met.get(id, 0), session.logins
        if fresh and session.fruitful and 0 < before < session.logins:
            self._closed.add(id)
            return
        session.away += 1
        if session.away >= session.patience:
            self._lost(session)

    def _lost(self, session: Session) -> None:
        session.state, session.wanted = "out", True
        session.patience = TURNED_AWAY if session.helped else min(session.patience * 2, TURNED_AWAY_MAX)
        self._books.note("login.lost", url=session.login.url, pages=session.good)
        if not session.good:  # it let nobody in
            self._failed(
                session, self._books.host(session.login.origin), "no page opens after it", self._books.clock.monotonic()
            )
