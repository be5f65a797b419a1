"""Every door of the house. Nothing else is a plugin point; `job.py` is the only place that names who stands behind one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from nephila.types import Failure, Lease, Link, Page, Record, Request, Response, Settlement, Visit


class Frontier(Protocol):
    """What next, and when. All waiting of a crawl happens in `take`."""

    async def put(self, requests: Iterable[Request]) -> int:
        """Admit requests (seeds). Returns how many were not known before."""
        ...

    async def take(self) -> Lease | None:
        """The next lease that is due, or None: drained, stopped or a limit reached."""
        ...

    async def settle(self, settlement: Settlement) -> None:
        """Accept a visit: outcome, links and host clock count from now on and are committed together soon after."""
        ...


class Fetch(Protocol):
    async def __call__(self, lease: Lease) -> Response | Failure:
        """One request, one answer. Never raises for what the web does; never follows a redirect."""
        ...


class Read(Protocol):
    def __call__(self, lease: Lease, response: Response, content: bytes) -> Page:
        """What the decoded `content` means. Pure; may take long on hostile input (the watchdog covers it)."""
        ...


class Keep(Protocol):
    def __call__(self, visit: Visit) -> Record | None:
        """Write the visit's records with one write(2). None when there is nothing to keep."""
        ...


class Scope(Protocol):
    def refusal(self, url: str, kind: str) -> str:
        """ "" when the URL is wanted, else the name of the rule that refuses it."""
        ...


class Score(Protocol):
    def __call__(self, link: Link, page: Page) -> int:
        """Order class of a link; smaller comes first."""
        ...


class Observe(Protocol):
    def __call__(self, event: object) -> None:
        """Told of what is committed; must not block."""
        ...
