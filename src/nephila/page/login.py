"""Login forms: which form of a page asks for a user and a password, and what a browser would send for it.

The form submission algorithm is that of https://html.spec.whatwg.org section 4.10.22, for forms that are sent by POST to the
origin of their page: a password goes nowhere else, and into no address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote_plus

from turbohtml import Document, Element

from nephila.credentials import Login
from nephila.page import charset, media
from nephila.types import Lease, LoginForm, Outcome, Response, Visit
from nephila.url.parse import codec_of, origin, same_place

_CONTROLS = frozenset({"input", "select", "textarea", "button"})
_TEXTS = frozenset({"", "text", "email", "tel", "number", "search", "url"})
_MAY_ASK = re.compile(rb"type\s*=\s*[\"']?\s*password", re.IGNORECASE)
"""What every page with a password field has in it: most pages are done with after one look."""
_LOGIN_WORD = re.compile(r"log[-_]?[io]n|sign[-_]?in|auth|session|denglu", re.IGNORECASE)
_USER_WORD = re.compile(r"user|login|mail|account|name|uid|phone|mobile", re.IGNORECASE)


class Logins:
    """What a worker knows of the logins: how to fill in a form, and how to tell that a page was refused for want of one.
    `resolve` is (base, href, charset) → absolute URL or None."""

    def __init__(self, logins: Iterable[Login], resolve: Callable[[str, str, str], str | None]) -> None:
        self._logins = {login.url: login for login in logins}
        self._resolve = resolve

    def turned_away(self, visit: Visit) -> bool:
        """The answer's head says that a login is wanted: 401, or a redirect to the page with the form."""
        gate, response = visit.lease.gate, visit.response
        assert gate is not None
        assert response is not None
        if visit.outcome is Outcome.MOVED:
            return same_place(visit.moved_to, gate.url)
        return response.status == 401 and visit.lease.origin == origin(gate.url)

    def asks(self, lease: Lease, response: Response, content: bytes) -> bool:
        """The page has the login's form, where a page without it was to be."""
        assert lease.gate is not None
        if not lease.gate.action or not _MAY_ASK.search(content):
            return False
        document, encoding = _parsed(response, content)
        form = find(document)
        return form is not None and same_place(self._action(form, document, response.url, encoding), lease.gate.action)

    def form(self, lease: Lease, response: Response, content: bytes) -> LoginForm | None:
        """The form of a login's page, filled in; None when there is none (any more)."""
        assert lease.gate is not None
        if not _MAY_ASK.search(content):
            return None
        document, encoding = _parsed(response, content)
        if (form := find(document)) is None:
            return None
        action = self._action(form, document, response.url, encoding)
        if (form.attr("method") or "").strip().lower() != "post":
            return LoginForm(action, problem="its form would send the password in an address")
        if origin(action) != origin(response.url):
            return LoginForm(action, problem=f"its form sends to another origin ({origin(action)})")
        login = self._logins[lease.gate.url]
        return LoginForm(action, filled(form, login.user, login.password, encoding))

    def _action(self, form: Element, document: Document, url: str, encoding: str) -> str:
        base = document.find("base", href=True)
        base_url = self._resolve(url, base.attr("href") or "", encoding) if base is not None else ""
        button = _button(form)
        action = (button.attr("formaction") if button is not None else "") or form.attr("action") or ""
        return self._resolve(base_url or url, action, encoding) or "" if action else url


def find(document: Document) -> Element | None:
    """The form with one password field (two are a registration); of several one that says login."""
    _gather(document)
    forms = [form for form in document.find_all("form") if len(_passwords(form)) == 1]
    return next((form for form in forms if _says_login(form)), forms[0] if forms else None)


def filled(form: Element, user: str, password: str, encoding: str) -> bytes:
    """What a browser sends when somebody fills in a login form: hidden fields, choices and the button's name included."""
    field = _user_field(form)
    if field is not None:
        field.field_value = user
    _passwords(form)[0].field_value = password
    accepted = (form.attr("accept-charset") or "").replace(",", " ").split()
    encoding = next(filter(None, map(charset.canonical, accepted)), encoding)
    pairs = form.form_data()
    button = _button(form)
    if button is not None and (name := button.attr("name")):
        pairs.append((name, button.attr("value") or ""))
    codec = codec_of(encoding)
    return "&".join(
        f"{_coded(name, codec)}={_coded(encoding if name == '_charset_' else value, codec)}" for name, value in pairs
    ).encode()


def _parsed(response: Response, content: bytes) -> tuple[Document, str]:
    document = charset.document(content, media.charset_of(response.header("content-type")))
    return document, (document.encoding or "utf-8").lower()


def _gather(document: Document) -> None:
    """Controls that a form has only by its id, or by being written behind it in a table: the parser leaves the form empty
    there, and a browser remembers whose they are."""
    forms = {form.attr("id"): form for form in reversed(document.find_all("form")) if form.attr("id")}
    last: Element | None = None
    for node in list(document.iter_elements(_CONTROLS | {"form"})):
        if node.tag == "form":
            last = node if next(node.iter_elements(_CONTROLS), None) is None else None
            continue
        owner = forms.get(node.attr("form")) or (last if node.closest("form") is None else None)
        if owner is not None and owner is not node.closest("form"):
            owner.append(node)


def _passwords(form: Element) -> list[Element]:
    return [node for node in form.iter_elements(frozenset({"input"})) if _type(node) == "password"]


def _user_field(form: Element) -> Element | None:
    """The field that its name gives away, else the last text before the password, else the first."""
    before, after, seen = list[Element](), list[Element](), False
    for node in form.iter_elements(frozenset({"input"})):
        seen = seen or _type(node) == "password"
        if _type(node) in _TEXTS and node.attr("disabled") is None:
            (after if seen else before).append(node)
    named = [node for node in (*before, *after) if _USER_WORD.search(_words(node, "name", "id", "autocomplete"))]
    return next(iter([*named, *reversed(before), *after]), None)


def _button(form: Element) -> Element | None:
    """The button that Enter presses."""
    for node in form.iter_elements(frozenset({"input", "button"})):
        kind = _type(node) or ("submit" if node.tag == "button" else "")
        if kind == "submit" and node.attr("disabled") is None:
            return node
    return None


def _says_login(form: Element) -> bool:
    return bool(_LOGIN_WORD.search(_words(form, "action", "id", "name", "class")))


def _words(node: Element, *attributes: str) -> str:
    return " ".join(str(node.attr(attribute) or "") for attribute in attributes)


def _type(node: Element) -> str:
    return (node.attr("type") or "").strip().lower()


def _coded(text: str, codec: str) -> str:
    """application/x-www-form-urlencoded (URL standard, 5.2); what the charset lacks is a character reference."""
    lines = re.sub(r"\r\n|\r|\n", "\r\n", text)
    return quote_plus(lines.encode(codec, "xmlcharrefreplace"), safe="*-._").replace("~", "%7E")
