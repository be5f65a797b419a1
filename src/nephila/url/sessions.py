"""Session ids: the same pages under an address that is new at every visit.

A site that keeps its visitors apart by a token in the address gives out a fresh one to whoever comes without cookies, and
puts it into every link of the page. The names that such parameters have are no proof (somewhere `sid` chooses the
page), nor are their values. What is: one token stands in many different addresses, as no page's own id does, and it is
not the only such token. From then on an address that was met with another token is refused, and each page is fetched
once, under whichever token it was met first.

Tokens whose names leave no doubt (`PHPSESSID`, `;jsessionid=`) are no part of an address's identity in the first place: `key`.
"""

from __future__ import annotations

import re

from nephila.url.parse import origin
from nephila.url.traps import PREFIX

RULE = PREFIX + "session_id"
SHARED_MIN = 5
"""Addresses that share a token before it is taken for one of a session."""
TOKENS_MIN = 2
"""Tokens that are shared so before a parameter is taken for a session's."""
TOKENS_MAX, KNOWN_MAX, PLACES_MAX = 64, 1 << 16, 256
"""Tokens remembered per parameter, addresses without their tokens per parameter, parameters. Past them, nothing is refused that
would not have been before."""

_SESSION = re.compile(
    r"(?:(?<=[?&;])(?P<name>[A-Za-z_]*(?:sess(?:ion)?(?:[_-]?id)?|sid|zenid)|s)=(?P<value>(?=[0-9]*[A-Za-z])(?=[A-Za-z]*[0-9])"
    r"[0-9A-Za-z,_-]{16,128}))(?:[&;]|(?=[/?]|$))|/\((?P<letter>[A-Z])\((?P<token>[0-9A-Za-z]{16,64})\)\)",
    re.IGNORECASE,
)
"""A parameter of the query or the path that is called like a session's and whose value is a mix of letters and digits; or the
`/(S(token))` of ASP.NET."""


class Sessions:
    """What one worker knows of sessions. All memory is bounded."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], _Parameter] = {}

    def refusal(self, url: str) -> str:
        """ "" or, for the address of a page that was met under another session, the rule that refuses it."""
        found = _SESSION.search(url, 8) if "=" in url or "/(" in url else None
        if found is None:
            return ""
        name, token = (found["name"], found["value"]) if found["name"] else (found["letter"], found["token"])
        place = (origin(url), name)
        if (parameter := self._places.get(place)) is None:
            if len(self._places) >= PLACES_MAX:
                del self._places[next(iter(self._places))]
            parameter = self._places[place] = _Parameter()
        return RULE if parameter.repeats(token, hash(url[: found.start()] + url[found.end() :])) else ""


class _Parameter:
    """One parameter of one site: its tokens, and the addresses that were met with any of them."""

    __slots__ = ("_known", "_shared", "_tokens")

    def __init__(self) -> None:
        self._tokens: dict[str, set[int]] = {}
        self._known: set[int] = set()
        self._shared = 0

    def repeats(self, token: str, rest: int) -> bool:
        """The address without its token, `rest`, was met, and the tokens are those of sessions. It is met from now on."""
        if rest in self._known:
            self._count(token, rest)
            return self._shared >= TOKENS_MIN
        if len(self._known) < KNOWN_MAX:
            self._known.add(rest)
        self._count(token, rest)
        return False

    def _count(self, token: str, rest: int) -> None:
        """How many addresses share the token, until that is enough."""
        if self._shared >= TOKENS_MIN:
            return
        if token not in self._tokens and len(self._tokens) >= TOKENS_MAX:
            del self._tokens[next(iter(self._tokens))]
        some = self._tokens.setdefault(token, set())
        if len(some) < SHARED_MIN:
            some.add(rest)
            self._shared += len(some) == SHARED_MIN
