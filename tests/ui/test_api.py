"""The JSON API and /metrics: who may ask, what is answered, and that all of it is as described."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as families
from ui.asking import ARCHIVE, OURS, PORT, Answer, Browser

from nephila import ui
from nephila.errors import ConfigError
from nephila.job import source_from
from nephila.ui import metrics
from nephila.ui.library import Library
from nephila.ui.serve import Server
from nephila.url.key import Fingerprints

BASE = "/api/v1"
DOC = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


class Program(Browser):
    """One that brings the token, and no cookie."""

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        return super().ask(method, path, body, **{"authorization": f"Bearer {self.server.gate.token}"} | headers)

    def told(self, path: str) -> Any:
        answer = self.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer.text
        return json.loads(answer.text)

    def order(self, path: str, words: Any = None, **headers: str) -> tuple[int, Any]:
        body = b"" if words is None else json.dumps(words).encode()
        answer = self.ask("POST", BASE + path, body, **{"content_type": "application/json"} | headers)
        return answer.status, json.loads(answer.text)


@pytest.fixture
def program(server: Server, job: Any) -> Program:
    (job.folder / "crawl.toml").write_text('seeds = ["https://a.example/"]\n')
    return Program(server)


@pytest.fixture
def front(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A running crawl, as far as orders are concerned: what it was told."""
    told: list[dict[str, Any]] = []

    async def tell(request: dict[str, Any], timeout_s: float = 1.0) -> dict[str, Any] | None:
        told.append(request)
        match request:
            case {"host": "slow.example"}:
                return {"error": "the crawl does not answer within 10 s", "late": True}
            case {"host": "wrong.example"}:
                return {"error": "no such host"}
            case {"verb": "set", "values": {"max_depth": 3}}:
                return {
                    "ok": "max_depth = 3",
                    "effect": {"back": 1, "gone": 2, "near": 0, "far": 4, "looked_at": 9, "of": 9},
                }
            case {"verb": "status"}:
                return None
        return {"ok": f"did {request['verb']}"}

    assert server.desk.crawl is not None
    monkeypatch.setattr(server.desk.crawl, "tell", tell)
    return told


@pytest.mark.parametrize("path", [f"{BASE}/status", f"{BASE}/openapi.json", f"{BASE}/nothing", "/metrics"])
def test_who_may_read(path: str, program: Program, browser: Browser) -> None:
    found = 404 if path.endswith("nothing") else 200
    assert program.get(path).status == browser.get(path, **OURS).status == found
    for refused, status in (
        (Browser(program.server).get(path), 401),
        (program.get(path, authorization="Bearer wrong"), 401),
        (program.get(path, authorization=f"Basic {program.server.gate.token}"), 401),
        (program.get(path, origin="http://evil.example"), 403),
        (browser.get(path, sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 403),
    ):
        assert (refused.status, refused.headers["content-type"]) == (status, "application/problem+json")
        assert json.loads(refused.text)["status"] == status
    assert "www-authenticate" in Browser(program.server).get(path).headers
    assert program.get(path, host="evil.example").status == 421
    assert program.get(path, host=ARCHIVE).status == 404


def test_a_cookie_changes_nothing_and_a_token_opens_no_page(
    program: Program, browser: Browser, front: list[dict[str, Any]]
) -> None:
    assert browser.ask("POST", f"{BASE}/pause", **OURS).status == 401
    assert program.ask("POST", f"{BASE}/pause", origin="http://evil.example").status == 403
    assert front == []
    assert program.get("/").status == 401
    assert program.order("/pause") == (200, {"done": "did pause"})
    assert front == [{"verb": "pause"}]


def test_orders(program: Program, front: list[dict[str, Any]]) -> None:
    assert program.order("/resume")[0] == 200
    assert program.order("/stop", {"now": True})[0] == 200
    assert program.order("/stop", {})[0] == 200
    assert program.order("/host", {"host": "a.example", "action": "slow", "value": 3})[0] == 200
    assert front == [
        {"verb": "resume"},
        {"verb": "stop", "now": True},
        {"verb": "stop", "now": False},
        {"verb": "host", "host": "a.example", "action": "slow", "value": 3.0},
    ]
    status, told = program.order("/host", {"host": "wrong.example", "action": "drop"})
    assert (status, told["detail"]) == (422, "no such host")
    assert program.order("/host", {"host": "slow.example", "action": "drop"})[0] == 503


def test_settings(program: Program, front: list[dict[str, Any]]) -> None:
    status, told = program.order("/settings", {"values": {"max_depth": 3}})
    assert (status, told["done"], told["effect"]["far"]) == (200, "max_depth = 3", 4)
    assert program.order("/settings", {"values": {}})[0] == 400
    assert program.order("/settings", {"values": {"max_depth": {}}})[0] == 400
    assert front == [{"verb": "set", "values": {"max_depth": 3}}]
    status, told = program.order("/settings/preview", {"values": {"exclude+": ["/a/"], "delay": 2}})
    assert (status, told["gone"], told["changes"]["exclude"]) == (200, 0, [[], ["/a/"]])
    assert program.order("/settings/preview", {"values": {"seeds": []}})[0] == 422
    assert len(front) == 1


def test_explanations(job: Any, program: Program) -> None:
    told = program.told(f"{BASE}/explain?url=https://nowhere.example/&set=scope=any")
    assert (told["url"], told["verdict"]) == ("https://nowhere.example/", "unseen")
    assert told["would"][0]["set"] == {"scope": "any"}
    assert program.told(f"{BASE}/refused")["rules"] == []
    assert program.get(f"{BASE}/explain?url=https://a.example/&set=max_depth").status == 422
    assert program.get(f"{BASE}/explain").status == 400


def test_tables(job: Any, program: Program) -> None:
    job.con.execute("INSERT INTO meta VALUES ('fingerprint_key', '7')")
    job.con.execute("INSERT INTO host (id, origin) VALUES (1, 'https://a.example')")
    for n in range(7):
        id, fp = job.page(f"https://a.example/{n}"), Fingerprints(7)(f"https://a.example/{n}") - (1 << 63)
        job.con.execute("UPDATE url SET fp = ? WHERE id = ?", (fp, id))
        job.con.execute("INSERT INTO known VALUES (?, ?)", (id, fp.to_bytes(8, "little", signed=True)))
    urls, cursor, asked = list[str](), "", 0
    while cursor is not None:
        told = program.told(f"{BASE}/urls?limit=3&sort=url&cursor={cursor}")
        urls += [row["url"] for row in told["urls"]]
        cursor, asked = told["next"], asked + 1
    assert (urls, asked) == ([f"https://a.example/{n}" for n in range(7)], 3)
    assert (told["looked"], told["of"], told["on"]) == (7, 7, None)
    assert program.told(f"{BASE}/urls?regex=/%5B12%5D$")["total"] == 2
    assert program.told(f"{BASE}/urls?outcome=REFUSED")["urls"] == []
    told = program.told(f"{BASE}/url?url=a.example/3")
    assert (told["url"]["url"], len(told["visits"]), told["linkers"]["pages"]) == ("https://a.example/3", 1, [])
    assert program.get(f"{BASE}/url?url=https://b.example/").status == 404
    told = program.told(f"{BASE}/hosts?sort=origin&falling=false")
    assert [host["origin"] for host in told["hosts"]] == ["https://a.example"]
    assert told["total"] == 1


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("urls?regex=(", 422),
        ("urls?cursor=e30=", 422),
        ("urls?cursor=AAAA", 422),
        ("urls?cursor=!", 400),
        ("urls?status=4x", 400),
        ("urls?limit=501", 400),
        ("urls?limit=1&limit=2", 400),
        ("hosts?sort=colour", 400),
        ("hosts?falling=maybe", 400),
        ("url", 400),
        ("search?q=a", 409),
        ("search?limit=3", 400),
    ],
)
def test_questions_that_cannot_be_meant(question: str, status: int, program: Program) -> None:
    answer = program.get(f"{BASE}/{question}")
    assert (answer.status, json.loads(answer.text)["status"]) == (status, status)


def test_nothing_runs(program: Program) -> None:
    status, told = program.order("/pause")
    assert (status, told) == (
        409,
        {"title": "Conflict", "status": 409, "detail": "no crawl is running in this folder"},
    )


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/stop", b"{", {}, 400),
        ("POST", "/stop", b'{"later": true}', {}, 400),
        ("POST", "/stop", b'{"now": 1}', {}, 400),
        ("POST", "/stop", b"\xff", {}, 400),
        ("POST", "/stop", b"{}", {"content_type": "text/plain"}, 415),
        ("POST", "/stop", b" " * (1 << 17), {}, 413),
        ("POST", "/pause", b"{}", {}, 400),
        ("POST", "/host", b'{"host": "a", "action": "eat"}', {}, 400),
        ("POST", "/host", b'{"host": "a", "action": "slow", "value": -1}', {}, 400),
        ("GET", "/status?page=1", b"", {}, 400),
        ("GET", "/nothing", b"", {}, 404),
        ("DELETE", "/status", b"", {}, 405),
    ],
)
def test_what_is_wrong_is_a_problem(
    method: str, path: str, body: bytes, headers: dict[str, str], status: int, program: Program
) -> None:
    answer = program.ask(method, BASE + path, body, **{"content_type": "application/json"} | headers)
    told = json.loads(answer.text)
    assert (answer.status, told["status"], list(told)) == (status, status, ["title", "status", "detail"])
    assert ("allow" in answer.headers) is (status == 405)


def test_answers_are_as_described(program: Program) -> None:
    """Every GET without words; the others are asked by schemathesis (test_api_conforms.py)."""
    told = program.told(f"{BASE}/openapi.json")
    assert told["servers"] == [{"url": f"http://127.0.0.1:{PORT}{BASE}"}]
    asked = 0
    for path, methods in told["paths"].items():
        if "get" not in methods or any(one["required"] for one in methods["get"].get("parameters", ())):
            continue
        schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema_rs.validate(schema | {"components": told["components"]}, program.told(BASE + path))
        asked += 1
    assert asked >= 1


def test_the_description_says_what_the_documents_say(program: Program) -> None:
    paths = program.told(f"{BASE}/openapi.json")["paths"]
    told = {
        (method.upper(), path): one["summary"] for path, methods in paths.items() for method, one in methods.items()
    }
    rows = re.findall(r"^\| `(GET|POST) (/\S*)` \| ([^|]*?)(?:: .*)? \|$", DOC, re.MULTILINE)
    assert {(method, path): text for method, path, text in rows} == told


def test_every_key_of_the_status_is_described(program: Program) -> None:
    commands = (Path(__file__).parents[2] / "docs" / "commands.md").read_text().partition("## Keys of the status")[2]
    keys = set(re.findall(r"^\| `(\w+)` \|", commands, re.MULTILINE)) | {"running"}
    schemas = program.told(f"{BASE}/openapi.json")["components"]["schemas"]
    assert set(schemas["Status"]["properties"]) == keys


def test_archives_of_others_have_no_api(job: Any, tmp_path: Path) -> None:
    job.page("https://a.example/")
    with Library(source_from([job.folder / "archive"], print)) as library:
        program = Program(Server(library, "theirs", PORT))
        assert program.get(f"{BASE}/status").status == program.get("/metrics").status == 404


# --- metrics ---------------------------------------------------------------------------------------------------------


def status(**other: Any) -> dict[str, Any]:
    return {
        "running": True, "state": "running", "found": 10, "queued": 4, "in_flight": 2, "outcomes": {"OK": 5, "REFUSED": 1},
        "reasons": {f"status.4{n:02}": n for n in range(20)}, "bytes": 1234, "seconds": 2.5, "pages_per_second": 2.0,
        "hosts": [{"origin": f'https://{n}.example/"\\', "queued": n, "delay": 1.5, "failures": 0, "ms": 3} for n in range(9)],
        "eta_seconds": 60.0, "offline_since": None, "proxies": [], "workers": 1, "folder": "x", "archive_files": 1,
        "traps": [{"rule": "trap:calendar", "count": 7, "examples": []}], "parked": [], "unknown": [],
        "forecast": {"low_s": 30.0, "likely_s": 50.0, "high_s": 90.0}, "limited_by": [{"what": "manners", "share": 0.9, "hosts": []}],
        "warnings": [{"kind": "disk", "text": "little is free", "since": 1.0}, {"kind": "disk", "text": "full soon", "since": 2.0}],
    } | other  # fmt: skip


def read(found: dict[str, Any]) -> dict[str, dict[tuple[str, ...], float]]:
    """Name of a series → its labels' values → its value."""
    series: dict[str, dict[tuple[str, ...], float]] = {}
    for family in families(metrics.exposed(found, "")[0].decode()):
        for sample in family.samples:
            series.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return series


def test_every_metric_is_documented_and_few() -> None:
    series = read(status())
    assert list(series) == list(metrics.NAMES)
    rows = dict(re.findall(r"^\| `(nephila_\w+)` \| (.*) \|$", DOC, re.MULTILINE))
    assert rows == metrics.NAMES
    assert sum(map(len, series.values())) < 100
    assert series["nephila_visits_total"] == {("OK",): 5, ("REFUSED",): 1}
    assert series["nephila_state"][("running",)] == 1
    assert len(series["nephila_host_queued"]) == 5
    assert ('https://0.example/"\\',) in series["nephila_host_queued"]
    assert len(series["nephila_visits_not_kept_total"]) == 10
    assert series["nephila_forecast_seconds"] == {("low",): 30, ("likely",): 50, ("high",): 90}
    assert series["nephila_warnings"] == {("disk",): 2}


def test_what_is_not_known_is_left_out() -> None:
    """A counter that falls to 0 would look like a new crawl."""
    series = read(status(unknown=["outcomes", "found", "queued"], eta_seconds=None, forecast=None))
    assert {"nephila_visits_total", "nephila_body_bytes_total", "nephila_urls_found", "nephila_urls_queued"}.isdisjoint(
        series
    )
    assert "nephila_eta_seconds" not in series
    assert "nephila_forecast_seconds" not in series


def test_openmetrics_when_asked_for(program: Program) -> None:
    answer = program.get("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert {family.name for family in openmetrics(answer.text)} >= {"nephila_visits", "nephila_running"}
    plain = program.get("/metrics")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "nephila_running 0.0\n" in plain.text


# --- the token -------------------------------------------------------------------------------------------------------


def test_a_token_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    made = ui.token(file, {})
    assert (len(made), stat.S_IMODE(file.stat().st_mode)) == (43, 0o600)
    assert ui.token(file, {"NEPHILA_TOKEN": "of the environment"}) == made
    assert ui.token(None, {"NEPHILA_TOKEN": "0123456789abcdef"}) == "0123456789abcdef"
    assert ui.token(None, {}) == ""


@pytest.mark.parametrize("text", ["", "short", "0123456789 abcdef", "x" * 300, "0123456789abcdé"])
def test_a_bad_token_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError, match="16 to 256 letters"):
        ui.token(tmp_path / "token", {})
    with pytest.raises(ConfigError, match=r"--token-file .*nowhere/token cannot be used: No such file"):
        ui.token(tmp_path / "nowhere" / "token", {})
    if text:
        with pytest.raises(ConfigError, match="NEPHILA_TOKEN"):
            ui.token(None, {"NEPHILA_TOKEN": text})
