"""A web in a box: thousands of hosts and millions of pages made up from hashes, the same for everyone who asks, stored nowhere.

`MadeUpWeb(Spec(...))` knows what every URL answers and what a crawl has to find; it is a site like those in
`nephila.testing.sites`, so that `FakeWeb` and `SiteServer` can serve it. `WebServer` serves it fast from a thread,
`python -m nephila.testing.web` from a process of its own.
"""

from nephila.testing.web.model import MadeUpWeb
from nephila.testing.web.server import WebServer
from nephila.testing.web.spec import Spec

__all__ = ["MadeUpWeb", "Spec", "WebServer"]
