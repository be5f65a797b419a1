"""A small site with a login form, as they are written: a token in a hidden field, a session in a cookie, an end to it."""

from __future__ import annotations

import secrets
import threading
import time
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote

USER, PASSWORD = "müller", "pa:ss=wörd&"
GBK_USER, GBK_PASSWORD = "张三", "密码=1"


class Ask(NamedTuple):
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class MemberSite:
    """`pages` pages `/0` … that link to the next ones, for members only; `/` is for everybody. A context manager.

    `turns_away`: what who is not logged in gets: `redirect`, `401` or `form` (the login form, with status 200). `session_pages`:
    a session ends after so many pages. `closed`: pages that no member may see. `refuses`: the first so many logins do
    not work. `charset`: of the login page, and so of what is sent. `slow_s`: how long a login takes.
    """

    def __init__(
        self,
        pages: int = 12,
        *,
        turns_away: str = "redirect",
        session_pages: int = 0,
        closed: frozenset[str] = frozenset(),
        refuses: int = 0,
        charset: str = "utf-8",
        user: str = USER,
        password: str = PASSWORD,
        slow_s: float = 0.0,
        after: int = 302,
    ) -> None:
        self.pages, self.turns_away, self.session_pages, self.closed = pages, turns_away, session_pages, closed
        self.refuses, self.charset, self.user, self.password, self.slow_s = refuses, charset, user, password, slow_s
        self.after = after
        self.asks: list[Ask] = []
        self.logins = self.logging_in = 0
        self.most_at_once = 0
        self._tokens: dict[str, str] = {}
        self._sessions: dict[str, int] = {}
        self._lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                ask = Ask(self.command, self.path, headers, body)
                with site._lock:
                    site.asks.append(ask)
                status, more, content = site.answer(ask)
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", "Content-Length": str(len(content)), **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def login(self, how: str = "") -> str:
        """What `--login` takes."""
        return f"{self.url('/login')}={how or f'{self.user}:{self.password}'}"

    def targets(self, method: str = "GET") -> list[str]:
        return [ask.target for ask in self.asks if ask.method == method and ask.target != "/robots.txt"]

    def __enter__(self) -> MemberSite:
        self._thread.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # --- answers ----------------------------------------------------------------------------------------------------

    def answer(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        path = ask.target.partition("?")[0]
        session = _cookie(ask, "session")
        if path == "/robots.txt":
            return 404, {}, b""
        if path == "/":
            return 200, {}, self._page("welcome", ["/0", "/about"])
        if path == "/about":
            return 200, {}, self._page("about", [])
        if path == "/login":
            return self._do_login(ask) if ask.method == "POST" else self._form()
        with self._lock:
            member = self._use(session)
        if path == "/logout":
            self._sessions.pop(session, None)
            return 302, {"Location": "/"}, b""
        if not member or path in self.closed:
            return self._turn_away(ask)
        if path == "/home":
            return 200, {}, self._page("home", ["/0"])
        n = int(path[1:]) if path[1:].isdecimal() else self.pages
        if n >= self.pages:
            return 404, {}, b"not here"
        links = [f"/{i}" for i in (n + 1, n + 2, n + 3) if i < self.pages]
        return 200, {}, self._page(f"member page {n}", links)

    def _page(self, title: str, links: list[str]) -> bytes:
        anchors = "".join(f'<a href="{link}">x</a>' for link in [*links, "/logout?now=1"])
        return f"<!doctype html><title>{title}</title>{anchors}".encode(self.charset)

    def _use(self, session: str) -> bool:
        """A page of a session; True while it lasts."""
        if session not in self._sessions:
            return False
        self._sessions[session] += 1
        if self.session_pages and self._sessions[session] > self.session_pages:
            del self._sessions[session]
            return False
        return True

    def _turn_away(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        if self.turns_away == "401":
            return 401, {"WWW-Authenticate": "Form"}, b"who are you?"
        if self.turns_away == "form":
            return self._form()
        return 302, {"Location": f"/login?next={quote(ask.target, safe='')}"}, b""

    def _form(self) -> tuple[int, dict[str, str], bytes]:
        token, visitor = secrets.token_hex(8), secrets.token_hex(8)
        self._tokens[visitor] = token
        text = f"""<!doctype html><meta charset="{self.charset}"><title>login</title>
        <form action="/search"><input name="q"></form>
        <table><form action="/login" method="post"><tr><td><input type="hidden" name="csrf" value="{token}">
        <input type="text" name="username"><input type='password' name="pass"><input type="checkbox" name="stay" value="1" checked>
        <input type="submit" name="go" value="Log in"></td></tr></form></table>"""
        return 200, {"Set-Cookie": f"visitor={visitor}; Path=/"}, text.encode(self.charset)

    def _do_login(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.logging_in += 1
            self.most_at_once = max(self.most_at_once, self.logging_in)
        time.sleep(self.slow_s)
        with self._lock:
            self.logging_in -= 1
            self.logins += 1
            fields = parse_qs(ask.body.decode("ascii"), keep_blank_values=True, encoding=self.charset)
            wanted = {
                "csrf": [self._tokens.get(_cookie(ask, "visitor"), "?")],
                "username": [self.user],
                "pass": [self.password],
                "stay": ["1"],
                "go": ["Log in"],
            }
            if fields != wanted or self.logins <= self.refuses:
                return self._form()
            session = secrets.token_hex(8)
            self._sessions[session] = 0
        return self.after, {"Set-Cookie": f"session={session}; Path=/; HttpOnly", "Location": "/home"}, b""


def _cookie(ask: Ask, name: str) -> str:
    found = SimpleCookie(ask.headers.get("cookie", "")).get(name)
    return found.value if found else ""
