"""The titles of a site's pages: python examples/titles.py https://example.com"""

import asyncio
import sys

import nephila


async def main(seed: str) -> None:
    async for page in nephila.crawl(seed, max_pages=100):
        if page.title:
            print(page.status, page.url, page.title, sep="\t")


asyncio.run(main(sys.argv[1]))
