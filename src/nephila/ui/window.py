"""The window's pages: which there are, and where each is.

To add one: write a module with `routes(desk: Desk) -> list[BaseRoute]`, put it into `PAGES` (in the order of the navigation), give it a
template `templates/NAME.html` that extends base.html, and its words a section of `words.py` (`nav.NAME` is its name in the navigation).

- A handler ends with `return await desk.page(request, "NAME.html", fact=…)`. Templates also know `say`, `language`, `path`, `here`.
- `desk.crawl.ask(question, *words)` runs `question(con, *words)` on the database, two seconds at most; questions live in the room
  `stats`. `desk.crawl.tell({"verb": …})` asks the crawl itself; `desk.library.ask` has the kept pages.
- What changes something is a POST (`form = await desk.form(request)`) that ends in `desk.done(request, form, answer)`: back to the page, with the answer as a sentence.
- What moves by itself is a part: an element `<div data-part="NAME">` that includes its own template, and a route that ends with
  `return desk.live(request, {"NAME": "part.html"}, facts)`; the page names that route in `{% block live %}`. `await facts()` gives what they are rendered with. The part is rendered again
  every second, and sent when it differs; the script replaces the element's content. Forms stand outside of parts.
- Everything from the web is a value in a template (escaped there) and goes through the filter `shown`; there is no inline script or style.
"""

from __future__ import annotations

from starlette.routing import BaseRoute

from nephila.ui import api, frame, hosts, now, replay, rules, search, sitemap, urls, why
from nephila.ui.desk import Desk, Page

PAGES = (
    Page("now", "/", now.routes),
    Page("hosts", "/hosts", hosts.routes),
    Page("urls", "/pages", urls.routes, under=("/page",)),
    Page("map", "/map", sitemap.routes),
    Page("search", "/search", search.routes),
    Page("rules", "/rules", rules.routes, under=("/rules/",)),
    Page("why", "/why", why.routes),
    Page("archive", "/archive", replay.routes, of_crawl=False, under=("/view/", "/times/")),
)


def routes(desk: Desk) -> list[BaseRoute]:
    """All of the desk's. Fills the navigation."""
    desk.pages = tuple(page for page in PAGES if desk.crawl or not page.of_crawl)
    return [*frame.routes(desk), *api.routes(desk), *(route for page in desk.pages for route in page.routes(desk))]
