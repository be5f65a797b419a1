"""What is around the window's pages: its files, the switches of language and colours, and the orders to the whole crawl."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from nephila.types import LANGUAGES
from nephila.ui.desk import THEMES, Desk, back

ORDERS = ("pause", "resume", "stop")
_YEAR_S = 365 * 86_400


def routes(desk: Desk) -> list[BaseRoute]:
    async def steer(request: Request) -> Response:
        form = await desk.form(request)
        order = form.get("order")
        if order not in ORDERS or desk.crawl is None:
            return PlainTextResponse("there is no such order\n", 400)
        answer = await desk.crawl.tell({"verb": order})
        if answer and "ok" in answer:
            answer = {"ok": desk.say(request)("steer." + order)}
        return desk.done(request, form, answer)

    async def show(request: Request) -> Response:
        """Language and colours, kept by the browser."""
        form = await desk.form(request)
        answer = RedirectResponse(back(form.get("back", "")), 303)
        for name, known in (("language", LANGUAGES), ("theme", THEMES)):
            if form.get(name) in known:
                answer.set_cookie(name, form[name], max_age=_YEAR_S, samesite="strict", path="/")
        return answer

    async def another(request: Request) -> Response:
        return await desk.page(request, "another.html", address=desk.invite())

    return [
        Mount("/static", StaticFiles(packages=[("nephila.ui", "static")])),
        Route("/steer", steer, methods=["POST"]),
        Route("/show", show, methods=["POST"]),
        Route("/another", another, methods=["POST"]),
    ]
