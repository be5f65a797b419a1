"""Nephila: a web spider that loses nothing, explains itself, and crawls once for many views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Crawler", "Page", "Request", "__version__", "crawl"]

if TYPE_CHECKING:
    from nephila.api import Crawler, Page, crawl
    from nephila.types import Request


def __getattr__(name: str) -> Any:
    """The library is imported when it is asked for: `nephila --help` must not pay for it (PEP 562)."""
    if name in ("Crawler", "Page", "crawl"):
        from nephila import api

        return getattr(api, name)
    if name == "Request":
        from nephila.types import Request

        return Request
    raise AttributeError(f"module 'nephila' has no attribute {name!r}")
