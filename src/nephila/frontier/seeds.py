"""Seeds: what the user asked for. Which rows are seeds, whose scheme was only guessed, and what their redirects widen."""

from __future__ import annotations

import msgspec

from nephila.frontier.batch import ROBOTS, Row, Snapshot
from nephila.frontier.books import Books
from nephila.frontier.host import Host
from nephila.types import Kind, NewLink
from nephila.url.scope import Scope, ScopeSpec


class Seeds:
    """Seeds that are still queued, and the scope that was reckoned from all of them."""

    def __init__(self, books: Books, scope: ScopeSpec, snapshot: Snapshot) -> None:
        self._books, self.scope, self.check = books, scope, Scope(scope)
        self.ids = set(snapshot.seeds)
        self._guessed: set[int] = set(msgspec.json.decode(snapshot.meta.get("guessed", "[]")))
        self.widened = False
        """The scope has become wider, and what it refused has not been looked at again."""

    # --- a scheme that was guessed ----------------------------------------------------------------------------------

    def guess(self, id: int, *, done: bool = False) -> None:
        """Remember, restarts included, which seeds were given without a scheme."""
        (self._guessed.discard if done else self._guessed.add)(id)
        self._books.meta("guessed", msgspec.json.encode(sorted(self._guessed)).decode())

    def guessed(self, id: int) -> bool:
        return id in self._guessed

    def any_guessed(self, host: Host) -> bool:
        """One of the host's next URLs was given without a scheme."""
        return bool(self._guessed) and any(row.id in self._guessed for _, row in host.ready)

    def falls_back(self, host: Host, row: Row, reason: str) -> bool:
        """Nothing listens for https at an address that the user gave without scheme: http is tried at once."""
        if not self._guessed or not nobody_listens(reason):
            return False
        return self.any_guessed(host) if row.kind == ROBOTS else row.id in self._guessed

    # --- the scope --------------------------------------------------------------------------------------------------

    def refusal(self, link: NewLink, epoch: int) -> str:
        """The rule that refuses a link; a worker that judged it by the rules of another epoch is overruled."""
        return link.rule if epoch == self.scope.epoch else self.check.again(link.url, link.kind, link.rule)

    def follow(self, scope: ScopeSpec) -> None:
        """From now on these are the rules."""
        self.scope, self.check = scope, Scope(scope)

    def widen(self, row: Row, target: str) -> None:
        """The seed's own redirect within its registrable domain widens the scope, and says so."""
        if not target or not self.check.refusal(target, Kind.REDIRECT).startswith("scope"):
            return
        wider = self.scope.widen(target)
        if wider is None:
            self._books.note("seed.elsewhere", seed=row.url, target=target)
            return
        self.follow(wider)
        self.widened = True
        self._books.batch.meta["widened"] = msgspec.json.encode(wider.widened).decode()
        self._books.note("scope.widened", seed=row.url, target=target)


def nobody_listens(reason: str) -> bool:
    """Nothing speaks TLS there: no server, or one of plain HTTP, or a proxy could not connect it. (A wrong certificate is
    somebody, and never this.)"""
    return reason.startswith("connect.") or reason in ("timeout.connect", "tls.plain", "proxy_refused")
