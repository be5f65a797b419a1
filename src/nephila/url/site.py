"""Which hosts belong together: registrable domains by the public suffix list, its private section included.

The list's algorithm, with an unlisted top-level domain counting as a suffix (https://publicsuffix.org/list/).
"""

from __future__ import annotations

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

_HOSTS_MAX = 1 << 16
"""Answers remembered: a look-up in the list costs some 3 µs, a remembered one 0.1."""


@lru_cache(_HOSTS_MAX)
def registrable(host: str) -> str:
    """The domain that one owner registered: `sina.com.cn` of news.sina.com.cn. An address, a single label and a public
    suffix are their own."""
    bare = host.removesuffix(".")
    if is_address(bare):
        return bare
    return _psl().privatesuffix(bare) or bare


@lru_cache(_HOSTS_MAX)
def name_label(host: str) -> str:
    """The label before the public suffix: `sina` of news.sina.com.cn, sina.com and sina.net."""
    domain = registrable(host)
    return domain if is_address(domain) else domain.partition(".")[0]


@lru_cache(_HOSTS_MAX)
def is_public_suffix(host: str) -> bool:
    """Anyone may register below it: `com`, `co.uk`, `github.io`; also every single label, like `localhost`."""
    bare = host.removesuffix(".")
    return not is_address(bare) and _psl().is_public(bare)


def is_address(host: str) -> bool:
    """The host of a serialised URL is an IP address: [IPv6], or its last label is a number."""
    return host.startswith("[") or host[host.rfind(".") + 1 :].isdecimal()


@cache
def _psl() -> PublicSuffixList:
    """Loaded at the first question: it takes 0.1 s."""
    return PublicSuffixList()
