"""A site served on an address of one's choice, for servers that stand in a network of their own: `away.py ADDRESS PORT SITE`.

Prints a line when it listens and one (`status path`) for every request; ends with its standard input.
"""

from __future__ import annotations

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nephila.testing import sites

DELAY_S = 0.05
"""Before each answer, so that a crawl lasts long enough to be disturbed."""


def main(address: str, port: str, site: str) -> None:
    Handler.site = staticmethod(sites.named(site))
    server = ThreadingHTTPServer((address, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """Head and body leave in one packet."""
    disable_nagle_algorithm = True
    site: sites.Site

    def do_GET(self) -> None:
        time.sleep(DELAY_S)
        answer = self.site(self.headers["Host"], self.path, 1)
        print(answer.status, self.path, flush=True)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """What is to be known is on standard output."""


if __name__ == "__main__":
    main(*sys.argv[1:])
