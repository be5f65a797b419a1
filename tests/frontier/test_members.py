"""Logins as the scheduler sees them: who waits, what ends a session, what a dead worker or a missing network means."""

from __future__ import annotations

from typing import Any

import pytest

pytest.register_assert_rewrite("nephila.testing.contract")

from nephila.config import Config  # noqa: E402
from nephila.frontier.batch import Store  # noqa: E402
from nephila.frontier.memory import MemoryStore  # noqa: E402
from nephila.frontier.scheduler import Scheduler  # noqa: E402
from nephila.testing.clock import FakeClock  # noqa: E402
from nephila.testing.contract.bench import A, Bench, answered, config, web_of  # noqa: E402
from nephila.types import Kind, Lease, LoginForm, Outcome, Settlement  # noqa: E402

B = "http://passport.a.test"
FORM = LoginForm(f"{A}/do", b"u=me&p=pw")


class TestMembers(Bench):
    """Six pages behind a login, no robots.txt, no pause."""

    def make_store(self, config: Config) -> MemoryStore:
        self.store = MemoryStore(config.order, config.max_depth)
        return self.store

    def table(self, store: Store, name: str) -> list[dict[str, Any]]:
        assert isinstance(store, MemoryStore)
        return store.table(name)

    def ready(self, login: str = f"{A}/login", **more: Any) -> Scheduler:
        self.clock = FakeClock()
        settings = {"no_robots": True, "per_host": 8, "retry_wait_s": 1.0, "login": [f"{login}=me:pw"]} | more
        crawl = self.start(web_of(self.clock, {}), self.clock, config(*(f"{A}/{i}" for i in range(6)), **settings))
        crawl.scheduler.put(crawl.seeds)
        self.notes = crawl.notes
        return crawl.scheduler

    def grant(self, scheduler: Scheduler, room: int = 8, worker: int = 1, after_s: float = 20.0) -> list[Lease]:
        self.clock.jump(after_s)
        return scheduler.grant(room, worker)

    def log_in(self, scheduler: Scheduler) -> None:
        """The form, what is sent, and where that leads."""
        for more in ({"login": FORM}, {"outcome": Outcome.MOVED, "moved_to": f"{A}/home"}, {}):
            (lease,) = self.grant(scheduler)
            assert lease.request.kind is Kind.LOGIN
            scheduler.accept([answered(lease, **more)], 1)

    def said(self, event: str) -> int:
        return sum(name == event for name, _ in self.notes)

    def test_one_login_before_all_pages(self) -> None:
        scheduler = self.ready()
        (page,) = self.grant(scheduler)
        assert (page.request.url, page.request.method, page.access) == (f"{A}/login", "GET", "login@a.test")
        assert self.grant(scheduler, worker=2) == []
        scheduler.accept([answered(page, login=FORM, set_cookies=["v=1"], access=page.access)], 1)
        (form,) = self.grant(scheduler, worker=2)
        assert (form.request.url, form.request.method, form.request.body) == (FORM.action, "POST", FORM.body)
        assert form.cookie == "v=1"
        scheduler.accept([answered(form, set_cookies=["s=2; Path=/"], access=form.access)], 2)
        pages = self.grant(scheduler)
        assert [lease.request.url for lease in pages] == [f"{A}/{i}" for i in range(6)]
        assert {(lease.cookie, lease.access) for lease in pages} == {("v=1; s=2", "login@a.test")}
        assert {lease.gate.action for lease in pages if lease.gate} == {FORM.action}

    def test_no_row_and_no_visit_of_a_login(self) -> None:
        scheduler = self.ready()
        self.log_in(scheduler)
        scheduler.accept([answered(lease) for lease in self.grant(scheduler)], 1)
        self.grant(scheduler)
        assert scheduler.ended is not None
        assert {row["kind"] for row in self.table(self.store, "url")} == {"page"}
        assert len(self.table(self.store, "visit")) == 6

    def test_a_lost_session_waits_for_all_that_is_out(self) -> None:
        """An answer to an older request could replace the new session's cookies."""
        scheduler = self.ready()
        self.log_in(scheduler)
        first, second, third, *_ = pages = self.grant(scheduler, room=4)
        scheduler.accept([answered(first)], 1)
        scheduler.accept([turned_away(second), turned_away(third)], 1)
        assert self.said("login.lost") == 1
        assert self.grant(scheduler) == []
        scheduler.accept([answered(pages[3])], 1)
        self.log_in(scheduler)
        again = self.grant(scheduler)
        assert {second.id, third.id} <= {lease.id for lease in again}
        assert {lease.attempt for lease in again} == {1}
        scheduler.accept([answered(lease) for lease in again], 1)
        self.grant(scheduler)
        assert (scheduler.ended and scheduler.ended.reason, self.said("login.ok")) == ("finished", 2)

    def test_pages_that_are_closed_to_this_member_are_taken_as_they_are(self) -> None:
        """Two of six, and the others come well: one login says so, since a fresh session is turned away from them, too."""
        scheduler = self.ready(per_host=1)
        self.log_in(scheduler)
        asked: list[str] = []
        for _ in range(40):
            for lease in self.grant(scheduler, after_s=0.3):
                asked.append(lease.request.url.rpartition("/")[2])
                if lease.request.kind is Kind.LOGIN:
                    more = {"login": FORM} if lease.request.method == "GET" else {}
                    scheduler.accept([answered(lease, **more)], 1)
                elif asked[-1] not in "25":
                    scheduler.accept([answered(lease)], 1)
                else:
                    scheduler.accept([turned_away(lease) if lease.gate else answered(lease, Outcome.MOVED)], 1)
        assert scheduler.ended
        assert (scheduler.ended.reason, self.said("login.ok")) == ("finished", 2)
        assert asked[:8] == ["0", "1", "2", "3", "4", "5", "login", "do"]
        assert sorted(asked[8:]) == ["2", "2", "5", "5"]

    def test_a_public_page_does_not_say_that_the_session_lives(self) -> None:
        """It is over; what everybody may see comes well all the same, and no page of the member's may be lost."""
        scheduler = self.ready(per_host=1)
        self.log_in(scheduler)
        alive = True
        for n in range(60):
            for lease in self.grant(scheduler, after_s=0.3):
                alive = (alive and n != 1) or lease.request.method == "POST"
                name = lease.request.url.rpartition("/")[2]
                if lease.request.kind is Kind.LOGIN:
                    more = {"login": FORM} if lease.request.method == "GET" else {}
                    scheduler.accept([answered(lease, **more)], 1)
                elif alive or name in "024":
                    scheduler.accept([answered(lease)], 1)
                else:
                    scheduler.accept([turned_away(lease) if lease.gate else answered(lease, Outcome.MOVED)], 1)
        assert scheduler.ended
        assert (scheduler.ended.reason, self.said("login.ok")) == ("finished", 2)
        assert [visit["outcome"] for visit in self.table(self.store, "visit")] == ["OK"] * 6

    def test_a_worker_that_dies_of_a_login(self) -> None:
        scheduler = self.ready()
        (page,) = self.grant(scheduler)
        scheduler.accept([answered(page, login=FORM)], 1)
        (form,) = self.grant(scheduler)
        scheduler.give_back([form.id], suspect=True)
        (again,) = self.grant(scheduler, worker=2)
        assert (again.request.url, again.request.method) == (f"{A}/login", "GET")
        scheduler.blame(again.id, "read_crash")
        assert self.said("login.failed") == 1
        self.log_in(scheduler)
        assert len(self.grant(scheduler)) == 6

    def test_what_passes_by_itself_is_no_failed_login(self) -> None:
        scheduler = self.ready()
        for _ in range(3):
            (lease,) = self.grant(scheduler)
            scheduler.accept([Settlement(lease.id, Outcome.REFUSED, "status.500", requested=True, status=500)], 1)
        assert self.said("login.failed") == 0
        self.log_in(scheduler)
        assert len(self.grant(scheduler)) == 6

    def test_a_login_that_opens_nothing_is_given_up(self) -> None:
        """The pages wait: who can say whether they are closed, or the login does not work?"""
        scheduler = self.ready()
        for _ in range(200):
            for lease in self.grant(scheduler):
                if lease.gate is None:
                    scheduler.accept([answered(lease, Outcome.REFUSED, reason="status.401")], 1)
                elif lease.request.kind is not Kind.LOGIN:
                    scheduler.accept([turned_away(lease)], 1)
                elif lease.request.method == "GET":
                    scheduler.accept([answered(lease, login=FORM)], 1)
                else:
                    scheduler.accept([answered(lease)], 1)
        assert scheduler.ended is not None
        assert (scheduler.ended.reason, self.said("login.ok")) == ("parked", 3)
        assert self.table(self.store, "visit") == []

    def test_pages_of_a_name_wait_for_the_login_at_another(self) -> None:
        scheduler = self.ready(login=f"{B}/login")
        (page,) = self.grant(scheduler)
        assert (page.origin, page.request.kind) == (B, Kind.LOGIN)
        form = LoginForm(f"{B}/do", b"x")
        scheduler.accept([answered(page, login=form)], 1)
        (sent,) = self.grant(scheduler)
        moved = {"outcome": Outcome.MOVED, "moved_to": f"{A}/"}
        scheduler.accept([answered(sent, **moved, set_cookies=["s=2; Path=/; Domain=a.test"], access=sent.access)], 1)
        pages = self.grant(scheduler)
        assert [lease.request.url for lease in pages] == [f"{A}/{i}" for i in range(6)]
        assert {(lease.cookie, lease.access) for lease in pages} == {("s=2", "login@passport.a.test")}

    def test_a_form_is_not_repeated_for_another_origin(self) -> None:
        scheduler = self.ready()
        (page,) = self.grant(scheduler)
        scheduler.accept([answered(page, login=FORM)], 1)
        (form,) = self.grant(scheduler)
        scheduler.accept([answered(form, Outcome.MOVED, moved_to=f"{B}/do") for _ in "x"], 1)
        assert self.said("login.ok") == 1, "302: a GET, whose page shows by itself"
        scheduler = self.ready()
        (page,) = self.grant(scheduler)
        scheduler.accept([answered(page, login=FORM)], 1)
        (form,) = self.grant(scheduler)
        kept = Settlement(form.id, Outcome.MOVED, requested=True, status=307, moved_to=f"{A}/do2")
        scheduler.accept([kept], 1)
        (again,) = self.grant(scheduler)
        assert (again.request.url, again.request.method, again.request.body) == (f"{A}/do2", "POST", FORM.body)
        scheduler.accept([Settlement(again.id, Outcome.MOVED, requested=True, status=308, moved_to=f"{B}/do")], 1)
        assert self.said("login.failed") == 1
        (anew,) = self.grant(scheduler)
        assert (anew.request.method, anew.request.body) == ("GET", b"")

    def test_a_login_host_that_is_not_there(self) -> None:
        scheduler = self.ready(login=f"{B}/login", offline_after_s=1e9)
        while leases := self.grant(scheduler):
            gone = [Settlement(one.id, Outcome.UNREACHABLE, "dns.not_found", requested=True) for one in leases]
            scheduler.accept(gone, 1)
        assert (scheduler.ended and scheduler.ended.reason, self.said("login.given_up")) == ("parked", 1)


def turned_away(lease: Lease) -> Settlement:
    return Settlement(lease.id, Outcome.REFUSED, "login_required", requested=True, status=302, ip="9.9.9.9")
