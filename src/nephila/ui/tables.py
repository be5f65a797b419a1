"""What the JSON API shows of a crawl in tables: hosts, addresses, one address, what a search finds."""

from __future__ import annotations

import base64
import binascii

import msgspec
from starlette.exceptions import HTTPException

from nephila.look import address, known, urls
from nephila.look.look import Look
from nephila.look.urls import Question
from nephila.stats import hosts
from nephila.ui import lookups
from nephila.ui.crawl import Crawl
from nephila.ui.desk import Desk
from nephila.ui.looking import Looking
from nephila.views import search
from nephila.views.replay import Replay


class Tables:
    """Each method answers one operation; `taken` is the request."""

    def __init__(self, desk: Desk, crawl: Crawl) -> None:
        self._library, self._crawl, self._looking = desk.library, crawl, Looking(desk)

    async def hosts(self, taken: lookups.Hosts) -> lookups.HostTable:
        words = (taken.text, taken.shown)
        found = await self._crawl.ask(hosts.hosts, *words, taken.sort, taken.falling, taken.offset, taken.limit)
        total = await self._crawl.ask(hosts.count, *words)
        return lookups.HostTable([lookups.Host(**host._asdict()) for host in found], total)

    async def urls(self, taken: lookups.Urls) -> lookups.UrlTable:
        words = {
            name: value for name, value in msgspec.structs.asdict(taken).items() if name not in ("limit", "cursor")
        }
        asked = Question(**words, rows=taken.limit)
        if taken.cursor:
            asked = msgspec.structs.replace(asked, **msgspec.structs.asdict(_place(taken)))
        found = await self._looking.ask(urls.table, asked)
        return lookups.UrlTable(found.rows, found.total, found.looked, found.of, _cursor(found.next), _cursor(found.on))

    async def url(self, taken: lookups.OneUrl) -> lookups.UrlFound:
        id = await self._looking.ask(known.find, taken.url)
        found = await self._looking.ask(address.address, id) if id else None
        if found is None:
            raise HTTPException(404, "this address was never met; /explain tells why")
        linkers, links, _ = await self._looking.ask(address.around, found, taken.after)
        return lookups.UrlFound(found.row, found.parent, found.visits, found.attempts, linkers, links)

    async def search(self, taken: lookups.Query) -> lookups.Found:
        standing = await self._library.ask(lambda replay: search.standing(replay.source))
        if not standing.ready:
            raise HTTPException(409, f"there is no index yet: nephila export search {self._crawl.folder} makes it")
        found = await self._library.ask(_answer, taken, await self._looking.ask(Look.closed))
        return lookups.Found(found.query, found.count, found.hits, found.ms, standing.behind)


class _Place(msgspec.Struct, frozen=True):
    """Where a table goes on."""

    value: float | str
    id: int
    first: int
    last: int


def _cursor(question: Question | None) -> str | None:
    if question is None:
        return None
    place = _Place(question.value, question.id, question.first, question.last)
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _place(taken: lookups.Urls) -> _Place:
    try:
        place = msgspec.json.decode(base64.urlsafe_b64decode(taken.cursor), type=_Place)
    except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise HTTPException(422, "cursor: give `next` or `on` of an answer, as it is") from error
    if isinstance(place.value, str) is not (taken.sort == "url" and bool(place.id)) and place.value:
        raise HTTPException(422, "cursor: this one belongs to another order")
    if not all(0 <= number < 1 << 62 for number in (place.id, place.first, place.last)):
        raise HTTPException(422, "cursor: give `next` or `on` of an answer, as it is")
    return place


def _answer(replay: Replay, taken: lookups.Query, closed: list[str]) -> search.Answer:
    return search.search_standing(replay.source, taken.q, closed, limit=taken.limit, with_noindex=taken.with_noindex)
