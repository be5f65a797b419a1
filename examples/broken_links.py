"""Broken links of a site, and the pages that hold them: python examples/broken_links.py https://example.com"""

import asyncio
import sys
from collections import defaultdict

import nephila

holders, broken = defaultdict(list), {}


class Links(nephila.Crawler):
    def on_page(self, page: nephila.Page) -> None:
        for link in page.links:
            holders[link.url].append(page.url)

    def on_outcome(self, url: str, outcome: str, reason: str) -> None:
        if outcome in ("REFUSED", "UNREACHABLE"):
            broken[url] = reason


ending = asyncio.run(Links(sys.argv[1]).run())
for url, reason in sorted(broken.items()):
    print(reason, url, "linked from", ", ".join(sorted(set(holders[url]))[:3]) or "nowhere (a seed)")
sys.exit(1 if broken else ending.code)
