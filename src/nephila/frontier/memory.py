"""The reference store: dictionaries. What it answers is what every other store must answer."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from nephila.frontier import order
from nephila.frontier.batch import (
    BIAS,
    HOST_COLUMNS,
    ROBOTS_COLUMNS,
    Ask,
    Batch,
    Changed,
    Committed,
    Looked,
    Refill,
    Row,
    Snapshot,
)
from nephila.url.scope import Rules

URL = ("id", "fp", "host", "url", "kind", "depth", "hops", "parent", "score", "state", "rule", "due")
VISIT = ("id", "url", "round", "started", "outcome", "reason")
ATTEMPT = ("url", "round", "n", "started", "status", "reason")


class MemoryStore:
    """Rows in memory, for tests, for small crawls inside a program, and as the oracle of the others.

    It holds what was committed and no more: a scheduler that loads it again carries on as after a kill.
    """

    def __init__(self, order_name: str = "bfs", max_depth: int = -1) -> None:
        self._key, self._max_depth = order.KEYS[order_name], max_depth
        self.urls: dict[int, dict[str, Any]] = {}
        self.by_fp: dict[int, int] = {}
        self.links: dict[int, tuple[int, bytes]] = {}
        """By visit"""
        self.visits: list[tuple[Any, ...]] = []
        self.attempts: list[tuple[Any, ...]] = []
        self.items: list[tuple[int, int, int, str]] = []
        self.site_links: list[tuple[str, str]] = []
        self.hosts: dict[int, dict[str, Any]] = {}
        self.rules: dict[int, str] = {}
        self.rule_counts: Counter[int] = Counter()
        self.rule_hosts: dict[tuple[int, str], tuple[int, list[str]]] = {}
        self.cookies: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.meta: dict[str, str] = {}

    def load(self, seen: Any) -> Snapshot:
        if self.urls:
            self._tell(seen)
        queued = [u for u in self.urls.values() if u["state"] == "queued"]
        pages = [u for u in queued if u["kind"] != "robots"]
        final = [v for v in self.visits if self.urls[v[1]]["kind"] != "robots"]
        outcomes = Counter(v[4] for v in final)
        return Snapshot(
            dict(self.meta),
            [(h["id"], h["origin"], h["due"], h["parked_until"], h["state"]) for h in self.hosts.values()],
            list(Counter(u["host"] for u in pages).items()),
            [(self.hosts[u["host"]]["origin"], _row(u)) for u in queued if u["kind"] == "robots"],
            {u["fp"] + BIAS: u["id"] for u in self.urls.values() if u["state"] == "refused"},
            {text: id for id, text in self.rules.items()},
            list(self.cookies.values()),
            max(self.urls, default=0),
            max((v[0] for v in self.visits), default=0),
            dict(outcomes),
            dict(Counter(v[5] for v in final if v[4] not in ("OK", "MOVED"))),
            outcomes["OK"],
            sum(v[11] for v in self.visits),
            sum(u["state"] in ("queued", "done") and u["kind"] != "robots" for u in self.urls.values()),
            sum(u["state"] == "refused" for u in self.urls.values()),
            0,
            {u["id"]: self._chain(u) for u in queued if u["hops"]},
            [u["id"] for u in pages if u["parent"] == 0],
            lambda: ([(h["id"], h["origin"], h["pages"]) for h in self.hosts.values()], self.site_links),
            dict(self.rule_counts),
            self._only_counted(),
        )

    def _only_counted(self) -> dict[int, int]:
        found = Counter[int]()
        for (rule, _), (count, _) in self.rule_hosts.items():
            found[rule] += count
        return dict(found)

    def _tell(self, seen: Any) -> None:
        rows = list(self.urls.values())
        fps = np.array([u["fp"] + BIAS for u in rows], np.uint64)
        if seen.of_text:
            seen.add_many([u["url"] for u in rows])
        elif self._max_depth >= 0:
            seen.add_many(fps, np.array([min(u["depth"], 255) for u in rows], np.uint8))
        else:
            seen.add_many(fps)

    def commit(self, batch: Batch, done: Callable[[Committed | BaseException], None]) -> None:
        self.hosts.update({id: _new_host(id, origin) for id, origin in batch.hosts_new})
        for values in batch.urls:
            row = dict(zip(URL, values, strict=True)) | {"attempts": 0, "unread": "", "visit": 0}
            assert row["fp"] not in self.by_fp, f"a fingerprint twice: {row['url']}"
            self.urls[row["id"]] = row
            self.by_fp[row["fp"]] = row["id"]
        for kind, depth, parent, state, id in batch.readmitted:
            self.urls[id].update(kind=kind, depth=depth, parent=parent, state=state, rule=0)
        for id, (state, rule) in batch.aside.items():
            self.urls[id].update(state=state, rule=rule)
        for due, attempts, unread, id in batch.retries:
            self.urls[id].update(due=due, attempts=attempts, unread=unread)
        for attempts, visit, id in batch.done:
            self.urls[id].update(state="done", attempts=attempts, visit=visit)
        for (id,) in batch.dropped:
            self.urls[id]["state"] = "dropped"
        self.visits += batch.visits
        self.attempts += batch.attempts
        self.items += batch.items
        self.site_links += batch.site_links
        self.links.update({visit: (flat, edges) for visit, flat, edges in batch.links})
        for columns, rows in ((HOST_COLUMNS, batch.host_rows), (ROBOTS_COLUMNS, batch.robots)):
            for told in rows:
                self.hosts[told[-1]].update(zip(columns, told[:-1], strict=True))
        for cookie in batch.cookies:
            self._keep_cookie(cookie)
        self.rules.update({id: text for id, text, _ in batch.rules})
        self.rule_counts.update(batch.rule_counts)
        if batch.count_anew:
            self.rule_hosts.clear()
        for place, (count, examples) in batch.refused_counts.items():
            before, known = self.rule_hosts.get(place, (0, []))
            self.rule_hosts[place] = (before + count, [*known, *examples][:3])
        self.meta.update(batch.meta)
        done(Committed(self._relax(batch), 0))

    def fetch(
        self, asked: list[Ask], limit: int, wall: float, done: Callable[[list[Refill] | BaseException], None]
    ) -> None:
        done([self._first(ask, limit, wall) for ask in asked])

    def _first(self, ask: Ask, limit: int, wall: float) -> Refill:
        queued = [
            u for u in self.urls.values() if u["host"] == ask.host and u["state"] == "queued" and u["kind"] != "robots"
        ]
        ready = sorted((u for u in queued if u["due"] <= wall), key=lambda u: self._key(u["depth"], u["id"]))
        later = [u["due"] for u in queued if u["due"] > wall]
        host = dict(self.hosts[ask.host]) if ask.waking else None
        return Refill([_row(u) for u in ready[:limit]], min(later, default=0.0), host)

    def look(self, rules: Rules, after: int, until: int, done: Callable[[Looked | BaseException], None]) -> None:
        self._max_depth = rules.depth_max if self._max_depth >= 0 else -1
        looked = Looked(until, [], [], [], [])
        for u in self.urls.values():
            if not after < u["id"] <= until or u["parent"] == 0 or u["kind"] in ("robots", "probe"):
                continue
            if u["state"] not in ("queued", "refused", "too_deep"):
                continue
            before = self.rules.get(u["rule"], "") if u["state"] == "refused" else ""
            state, rule = rules.judge(u["url"], u["kind"], u["depth"], before)
            changed = Changed(_row(u), u["host"], u["rule"], state, rule)
            if state == u["state"]:
                continue
            if u["state"] in ("queued", "refused"):
                (looked.queued if u["state"] == "queued" else looked.refused).append(changed)
                continue
            u.update(state=state, rule=0)
            if state == "queued":
                looked.near.append(u["host"])
            else:
                looked.named.append(changed)
        done(looked)

    def close(self) -> None:
        pass

    def table(self, name: str) -> list[dict[str, Any]]:
        """Rows of a table by the names of its columns (of `visit` and `attempt` the first ones)."""
        match name:
            case "visit":
                return [dict(zip(VISIT, visit, strict=False)) for visit in self.visits]
            case "attempt":
                return [dict(zip(ATTEMPT, attempt, strict=False)) for attempt in self.attempts]
            case "rule":
                return [{"id": id, "text": text, "count": self.rule_counts[id]} for id, text in self.rules.items()]
            case "rule_host":
                rows = self.rule_hosts.items()
                return [{"rule": r, "host": h, "count": n, "examples": examples} for (r, h), (n, examples) in rows]
            case _:
                return [dict(row) for row in (self.urls if name == "url" else self.hosts).values()]

    def _keep_cookie(self, row: tuple[Any, ...]) -> None:
        if len(row) == 3:
            self.cookies.pop(row, None)
            return
        domain, _, path, name, *_ = row
        self.cookies[domain, path, name] = row

    def _chain(self, u: dict[str, Any]) -> tuple[int, ...]:
        """Fingerprints of the redirects that led to a row."""
        chain: list[int] = []
        for _ in range(u["hops"]):
            parent = self.urls.get(u["parent"])
            if parent is None:
                break
            chain.insert(0, parent["fp"] + BIAS)
            u = parent
        return tuple(chain)

    def _relax(self, batch: Batch) -> list[int]:
        """Smaller depths, passed on along the stored links until nothing changes."""
        work = deque(batch.relax)
        for id, used in batch.settled:
            if self.urls[id]["depth"] < used:
                work += self._children(id)
        requeued = []
        while work:
            fp, depth = work.popleft()
            row = self.urls[self.by_fp[fp]] if fp in self.by_fp else None
            if row is None or row["depth"] <= depth:
                continue
            row["depth"] = depth
            if row["state"] == "too_deep" and depth <= self._max_depth:
                row["state"], row["rule"] = "queued", 0
                requeued.append(row["host"])
            elif row["state"] == "done":
                work += self._children(row["id"])
        return requeued

    def _children(self, id: int) -> list[tuple[int, int]]:
        depth = self.urls[id]["depth"]
        flat, edges = self.links.get(self.urls[id]["visit"], (0, b""))
        return [(fp - BIAS, depth + (n >= flat)) for n, fp in enumerate(array("Q", edges))]


def _row(u: dict[str, Any]) -> Row:
    return Row(
        u["id"],
        u["fp"] + BIAS,
        u["url"],
        u["kind"],
        u["depth"],
        u["hops"],
        u["parent"],
        u["score"],
        u["attempts"],
        u["unread"],
    )


def _new_host(id: int, origin: str) -> dict[str, Any]:
    return {"id": id, "origin": origin} | dict.fromkeys((*HOST_COLUMNS, *ROBOTS_COLUMNS), 0) | {
        "ip": "", "verdict": "", "state": "", "robots": None, "robots_state": "", "crawl_delay": -1.0
    }  # fmt: skip
