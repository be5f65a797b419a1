"""A small spider: every heading of the pages it keeps, as JSON lines. python examples/headings.py https://example.com"""

import asyncio
import json
import sys

import nephila


class Headings(nephila.Crawler):
    def on_page(self, page: nephila.Page):
        for heading in page.select("h1, h2"):
            yield {"url": page.url, "heading": heading.text.strip()}


async def main(seed: str) -> None:
    crawler = Headings(seed, max_pages=50, types=["text/html"])
    async for page in crawler:
        for item in page.items:
            print(json.dumps(item, ensure_ascii=False))
    print(crawler.ending.text, file=sys.stderr)


asyncio.run(main(sys.argv[1]))
