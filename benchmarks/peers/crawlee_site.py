"""The least Crawlee needs to fetch a whole site; run in the peers' environment: `crawlee_site.py REPORT SEED…`.

Parsel (lxml) reads the pages; requests are held in memory, bodies are not stored, robots.txt is not asked for and logging
is off: its best case. REPORT gets a JSON object with what it met and the seconds (wall and CPU) of the crawl.
"""

import asyncio
import json
import logging
import sys
import time
from datetime import timedelta
from urllib.parse import urldefrag, urljoin, urlsplit

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

REPORT, SEEDS = sys.argv[1], sys.argv[2:]
LINKS = "a::attr(href), area::attr(href), link::attr(href), img::attr(src), script::attr(src)"


async def crawl() -> dict[str, float]:
    service_locator.set_storage_client(MemoryStorageClient())
    met = {"files": 0, "html": 0}
    origin = urlsplit(SEEDS[0]).netloc
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=64, desired_concurrency=64, max_concurrency=64),
        configure_logging=False,
        max_request_retries=0,
        statistics_log_format="inline",
        request_handler_timeout=timedelta(minutes=5),
    )
    logging.disable(logging.CRITICAL)

    @crawler.router.default_handler
    async def kept(context: ParselCrawlingContext) -> None:
        html = context.http_response.headers.get("content-type", "").startswith("text/html")
        met["files"] += 1
        met["html"] += html
        if html:
            base = context.request.loaded_url or context.request.url
            found = {urldefrag(urljoin(base, href))[0] for href in context.selector.css(LINKS).getall()}
            await context.add_requests([url for url in found if urlsplit(url).netloc == origin])

    wall, cpu = time.monotonic(), time.process_time()
    await crawler.run(SEEDS)
    return met | {"crawl_s": time.monotonic() - wall, "crawl_cpu_s": time.process_time() - cpu}


with open(REPORT, "w") as report:
    json.dump(asyncio.run(crawl()), report)
