"""The least Scrapy needs to fetch a whole site; run in the peers' environment: `scrapy_site.py REPORT SEED…`.

Bodies are not stored, nothing survives a kill, robots.txt is not asked for and logging is off; only a[href] and area[href] are
followed (its default; more tags take it a quarter longer). Its best case. REPORT gets
a JSON object with what it met and the seconds (wall and CPU) between the first request and the last answer.
"""

import json
import sys
import time
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

REPORT, SEEDS = sys.argv[1], sys.argv[2:]
SETTINGS = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
}


class Site(CrawlSpider):
    name = "site"
    start_urls = SEEDS
    allowed_domains = [urlsplit(SEEDS[0]).hostname]
    rules = [Rule(LinkExtractor(deny_extensions=[]), callback="kept", follow=True)]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.files, self.html = set(), set()
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def parse_start_url(self, response):
        return self.kept(response)

    def kept(self, response):
        self.files.add(response.url)
        if isinstance(response, scrapy.http.HtmlResponse):
            self.html.add(response.url)

    def closed(self, reason):
        crawl = {"crawl_s": time.monotonic() - self.wall, "crawl_cpu_s": time.process_time() - self.cpu}
        with open(REPORT, "w") as report:
            json.dump({"files": len(self.files), "html": len(self.html), **crawl}, report)


process = CrawlerProcess(SETTINGS)
process.crawl(Site)
process.start()
