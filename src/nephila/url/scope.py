"""Which URLs are wanted, and which rule refuses the others.

A `ScopeSpec` is the question as data: it crosses to the workers, and its `epoch` grows when it is widened. A `Scope` is the
same compiled: what depends on the host alone is decided once per scheme and host and remembered, so that the usual question
is one look-up in a dict. Regular expressions are RE2's: linear time whatever a page links to. What the scope wants may still
be a trap, by the look of its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from nephila.errors import ConfigError
from nephila.url.parse import SCHEMES, authority_of, host_of, path_of
from nephila.url.site import name_label, registrable
from nephila.url.traps import Shapes, trap_of

MODES = ("host", "site", "name", "prefix", "any")

URL_LENGTH_MAX = 8_192
"""Characters. Longer ones are traps or broken pages: no server that means well takes them (RFC 9110 asks for 8,000)."""
NO_DEPTH = 1 << 30
"""A depth that nothing has: there is no limit."""
_VERDICTS_MAX = 1 << 16
"""Hosts remembered; then the memory starts anew."""


class ScopeSpec(msgspec.Struct, frozen=True, array_like=True):
    """What is wanted: `mode` around the `seeds` (serialised URLs), narrowed by regular expressions.

    `embeds`: the parts of a page are wanted wherever they lie. `widened`: servers that a seed redirected to (in mode
    `prefix` followed by its directory). `epoch` grows with every change. `traps`: names of the traps that are switched on.
    `members`: sites (registrable domains) where we are logged in, and whose links that log out are not followed. `sitemaps` are
    read; `ignore_nofollow`: what a page says of its links does not count.
    """

    mode: str = "host"
    seeds: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    embeds: bool = False
    widened: tuple[str, ...] = ()
    epoch: int = 0
    traps: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    sitemaps: bool = False
    ignore_nofollow: bool = False

    def widen(self, target: str) -> ScopeSpec | None:
        """The scope after a seed redirected to `target`, or None: already wanted, or not of a seed's registrable domain."""
        if self.mode not in ("host", "prefix") or registrable(host_of(target)) not in self._sites():
            return None
        if target.startswith("ftp:"):
            return None  # the web's redirects do not lead out of the web
        place = _directory(target) if self.mode == "prefix" else _server(target)
        known = self.places()
        if place in known or (self.mode == "prefix" and any(p.startswith(place) or place.startswith(p) for p in known)):
            return None  # a redirect to the front page does not turn a crawl of /docs/ into one of everything
        return msgspec.structs.replace(self, widened=(*self.widened, place), epoch=self.epoch + 1)

    def places(self) -> tuple[str, ...]:
        """Modes host and prefix: the server (and directory) inside which a URL is wanted."""
        place = _directory if self.mode == "prefix" else _server
        return (*map(place, self.seeds), *self.widened)

    def _sites(self) -> frozenset[str]:
        return frozenset(registrable(host_of(seed)) for seed in self.seeds)


class Scope:
    """A compiled `ScopeSpec`. Raises ConfigError for an unknown mode or a wrong regular expression."""

    def __init__(self, spec: ScopeSpec) -> None:
        if spec.mode not in MODES:
            raise ConfigError(f"scope: {spec.mode!r} is not one of {', '.join(MODES)}")
        self.spec = spec
        self._include = _Patterns(spec.include, "include")
        self._exclude = _Patterns(spec.exclude, "exclude")
        self._places = spec.places()
        self._hosts = frozenset(place.partition("/")[0] for place in self._places)
        self._verdicts: dict[str, str] = {}
        self._embeds = spec.embeds
        self._members = frozenset(spec.members)
        self._filtered = bool(spec.include or spec.exclude or spec.members)
        self._shapes = Shapes(spec.traps)

    def refusal(self, url: str, kind: str) -> str:
        """ "" when the serialised `url` is wanted as a link of this kind, else the name of the rule that refuses it."""
        return self.outside(url, kind) or self.trap(url, kind)

    def again(self, url: str, kind: str, before: str) -> str:
        """ "" or the rule that refuses today what was judged under other rules; `before`: the one that refused it then, or "".
        What is seen in the pages that led there, and not in the address, stands as long as it is asked for."""
        spec = self.spec
        if (before == "nofollow" and not spec.ignore_nofollow) or before in ("kind.form", "sitemap.depth"):
            return before
        if kind == "sitemap" and not spec.sitemaps:
            return before or "kind.sitemap"
        return before if trap_of(before) in spec.traps else self.refusal(url, kind)

    def trap(self, url: str, kind: str) -> str:
        """ "" or the trap that a URL is by the look of it. Apart from `outside`, because it is no question of each link but of each
        URL that is new."""
        return self._shapes.refusal(url) if kind not in ("robots", "sitemap") else ""

    def outside(self, url: str, kind: str) -> str:
        """ "" or the rule by which the scope does not want a URL."""
        if len(url) > URL_LENGTH_MAX:
            return "url.too_long"
        head = url[: url.find("/", 8)]
        rule = self._verdicts.get(head)
        if rule is None:
            rule = self._judge(head, url)
        if rule:
            rule = self._elsewhere(rule, url, kind)
        if rule or not self._filtered or kind == "robots":
            return rule
        return self._pattern_refusal(url, kind)

    # Asked for only where the mode or a kind needs them: the public suffix list takes 0.1 s to load.

    @cached_property
    def _sites(self) -> frozenset[str]:
        return frozenset(map(registrable, map(_bare, self._hosts)))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(name_label, map(_bare, self._hosts)))

    def _judge(self, head: str, url: str) -> str:
        """The rule for a page, as far as the host decides it."""
        if not head.startswith(SCHEMES):
            return "scheme"
        page = self._host_refusal(_server(url), host_of(url))
        if len(self._verdicts) >= _VERDICTS_MAX:
            self._verdicts.clear()
        self._verdicts[head] = page
        return page

    def _host_refusal(self, server: str, host: str) -> str:
        match self.spec.mode:
            case "any":
                return ""
            case "host":
                return "" if server in self._hosts else "scope.host"
            case "site":
                return "" if registrable(host) in self._sites else "scope.site"
            case "name":
                return self._name_refusal(host)
            case _:
                return "scope.prefix"  # the path decides

    def _name_refusal(self, host: str) -> str:
        return "" if name_label(host) in self._names else "scope.name"

    def _elsewhere(self, page: str, url: str, kind: str) -> str:
        """The rule where the host alone is no reason to take a page: other kinds, and paths, may be wanted all the same."""
        if page == "scheme":
            return page
        if kind == "robots" or (kind == "embed" and self._embeds) or (page == "scope.prefix" and self._inside(url)):
            return ""
        return "" if kind == "sitemap" and registrable(host_of(url)) in self._sites else page

    def _inside(self, url: str) -> bool:
        return (_server(url) + path_of(url)).startswith(self._places)

    def _pattern_refusal(self, url: str, kind: str) -> str:
        """Exclusions hold for everything; inclusions neither for sitemaps, which are a means, nor for wanted page parts."""
        if excluded := self._exclude.first(url):
            return f"exclude:{excluded}"
        if self._members and kind != "embed" and logs_out(url) and registrable(host_of(url)) in self._members:
            return "logout"
        if not self.spec.include or kind == "sitemap" or (kind == "embed" and self.spec.embeds):
            return ""
        return "" if self._include.first(url) else "include"


class Rules(NamedTuple):
    """What stored URLs are held against when the rules have changed. `depth_max`: NO_DEPTH without a limit."""

    scope: Scope
    depth_max: int

    def judge(self, url: str, kind: str, depth: int, before: str) -> tuple[str, str]:
        """(state, rule) of a URL that nobody has asked for yet; `before`: the rule that has refused it, or ""."""
        if refusal := self.scope.again(url, kind, before):
            return "refused", refusal
        return ("queued", "") if depth <= self.depth_max else ("too_deep", "max_depth")


_LOGOUT = re.compile(
    r"(?:log|sign)(?:out|off)(?![a-z])|(?<![a-z])(?:log|sign)[-_.](?:out|off)(?![a-z])|loginout|[=/](?:tuichu|zhuxiao)(?![a-z])"
)


def logs_out(url: str) -> bool:
    """By the look of its path and query a URL ends a session: `/logout`, `doSignOut.action`, `?do=log-off`."""
    return _LOGOUT.search(path_of(url).lower()) is not None


def check_patterns(patterns: Iterable[str], option: str) -> None:
    """Raises ConfigError naming the first regular expression that RE2 does not take, and what is wrong with it."""
    for pattern in patterns:
        _compiled(pattern, option)


class _Patterns:
    """Regular expressions searched as one, so that many cost no more than one as long as none is found."""

    def __init__(self, patterns: Sequence[str], option: str) -> None:
        self._each = [(pattern, _compiled(pattern, option)) for pattern in patterns]
        self._any = self._each[0][1] if len(self._each) == 1 else _together(patterns)

    def first(self, url: str) -> str:
        """The first pattern found in `url`, or ""."""
        if not self._each or (self._any is not None and self._any.search(url) is None):
            return ""
        if len(self._each) == 1:
            return self._each[0][0]
        return next((pattern for pattern, regex in self._each if regex.search(url) is not None), "")


def _compiled(pattern: str, option: str) -> Any:
    if not pattern:
        raise ConfigError(f"{option}: an empty regular expression would match every URL: leave it out")
    import re2  # type: ignore[import-untyped]  # most crawls have no pattern, and start sooner without it

    try:
        return re2.compile(pattern, _options())
    except (re2.error, UnicodeError) as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise ConfigError(
            f"{option}: {pattern!r} is not a regular expression of RE2 ({said}); it has no look-around and no back-references"
        ) from error


def _together(patterns: Sequence[str]) -> Any:
    """All of them as alternatives; None when that is too large for one program, or \\Q would quote the next one too."""
    if not patterns or any(r"\Q" in pattern for pattern in patterns):
        return None
    import re2

    try:
        return re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), _options())
    except re2.error:
        return None


def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False  # else RE2 writes to standard error by itself
    options.never_capture = True
    return options


def _server(url: str) -> str:
    """host[:port], http and https being one server; FTP at the same host is another one: `ftp@host[:port]`."""
    return f"ftp@{authority_of(url)}" if url.startswith("ftp:") else authority_of(url)


def _directory(url: str) -> str:
    """The server, and the path up to the last slash."""
    return _server(url) + path_of(url).partition("?")[0].rpartition("/")[0] + "/"


def _bare(authority: str) -> str:
    return host_of(f"http://{authority}/")
