"""A server that does everything wrong, and what must come of it.

    python -m nephila.testing.torture          # serves every case on loopback, prints the table of rows with their addresses

A *row* (`rows.py`) is a fault with one right outcome. A *case* (`cases.py`) is one spelling of it on a host of its own. The modules
`framing`, `headers`, `redirects`, `rate`, `network`, `tls`, `http2`, `markup`, `traps`, `robots`, `sitemaps`, `ftp` hold the cases;
tests/torture crawls them all through the real door, engine, frontier and archive, and holds every one against its promise.

How to add a case, in the module of its section:

    @case("A4", "in-the-body", reason="truncated.disconnect", attempts=3, body=b"half")
    async def _short(talk: Talk) -> None:
        await talk.say(answer(b"half", length=8))
        talk.hang_up()

    says("A24", "empty", answer(), body=b"")      # the same bytes for every request

- The function answers every request to its host; `talk.path`, `talk.n` (how often this path was asked), `talk.header("cookie")`
  tell which. `answer`, `html`, `page` make answers. `talk.say(bytes)`, `talk.drip`, `talk.sleep`, `talk.hang_up`, `talk.reset`;
  a connection stays open unless closed. `talk.url("/x", host=1)` is an address on the case's second host (`hosts=2`). With `raw` the
  function is called once per connection, with `talk.reader`, `talk.writer` and `talk.start_tls(context)` (`scheme="https"`).
- robots.txt is a 404 unless the case says `robots=True`; then the function is asked for it, too.
- What is expected: `outcome` and `reason`; optionally attempts, requests, connections, truncated, links, body, gap_s, columns of
  `visit`, other URLs in `also={"/next": "OK", "/hidden": UNASKED}`, and a function `check(observed) -> [complaint, …]` for the rest
  (`observed.kept`, `.body`, `.payload`, `.place.hits`, `.other(url)`, `.query(sql)`).
- `settings={...}` are keys of the configuration that the case needs. Cases of a section with the same settings share a crawl, so
  use few. All crawls have tests/torture/run.py's BASE: every deadline is short, three tries, scope `any`.
- `proxies=(lambda: Speaker("socks5h", fault="refuse"),)` puts proxies before the case (see `ways`); `hosts` is then two more than they.
- `names=("shop.example",)` gives the host a name; `exits=4` allows the crawl to end with another code (a parked host).
- Never link to an address outside 127.0.0.0/8 that could be asked for: scope is `any`. Use a name ending in `.invalid`.
- `quick=True` for one or two cases per section that take no time: they run in `make test`, all others with `--long`.
  While writing: `pytest tests/torture --torture A4,B,C1.ring` (rows, sections, cases).
"""

from nephila.testing.torture.cases import UNASKED, Case, case, cases, says
from nephila.testing.torture.rows import ROWS, Row
from nephila.testing.torture.server import Talk, TortureServer, answer, html, page

__all__ = ["ROWS", "UNASKED", "Case", "Row", "Talk", "TortureServer", "answer", "case", "cases", "html", "page", "says"]
