"""schemathesis asks whatever the description allows, and what it does not: no answer is a 5xx, and all are as described."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import schemathesis
from commands.stranger import Prompt, SiteServer, chain
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

pytestmark = pytest.mark.long
EXAMPLES = 12
QUESTIONS = ("/explain", "/search", "/urls", "/settings", "/settings/preview")
"""What is written as described and cannot be meant (a pattern, a query, a setting) is 422 there."""


class Served(NamedTuple):
    api: str
    token: str
    crawl: subprocess.Popen[bytes] | None


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def served(stack: ExitStack, folder: Path, crawl: subprocess.Popen[bytes] | None = None) -> Served:
    window = subprocess.Popen(
        [sys.executable, "-m", "nephila", "serve", str(folder), "--json"], stdout=subprocess.PIPE, text=True
    )
    stack.enter_context(window)
    stack.callback(window.kill)
    assert window.stdout is not None
    text = ""
    while "exit_code" not in text:
        text += window.stdout.readline()
    told = json.loads(text + "}")
    return Served(told["api"], told["token"], crawl)


@pytest.mark.parametrize("running", [False, True], ids=["finished", "running"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_operation_conforms(running: bool, tmp_path: Path, place: ExitStack) -> None:
    site = place.enter_context(SiteServer(chain(100_000 if running else 20, 0.2 if running else 0.0), tmp_path / "log"))
    command = ["crawl", site.url(), "-o", "job", "--workers", "1", "--quiet"]
    crawl = None
    if running:
        crawl = subprocess.Popen([sys.executable, "-m", "nephila", *command], cwd=tmp_path)
        place.enter_context(crawl)
        place.callback(crawl.kill)
        end = time.monotonic() + 20
        while len(site.hits()) < 3 and time.monotonic() < end:
            time.sleep(0.1)
    else:
        Prompt(tmp_path).here(*command)
    window = served(place, tmp_path / "job", crawl)
    headers = {"Authorization": f"Bearer {window.token}"}
    schema = schemathesis.openapi.from_url(f"{window.api}/openapi.json", headers=headers)
    asked = [asked_of(result.ok(), headers) for result in schema.get_all_operations() if result.ok().path != "/stop"]
    assert all(count >= EXAMPLES for count in asked)
    for path, words in (
        ("/url", {"url": site.url()}),
        ("/urls", {"sort": "url", "limit": 1}),
        ("/explain", {"url": site.url()}),
    ):
        (operation,) = (result.ok() for result in schema.get_all_operations() if result.ok().path == path)
        answer = operation.Case(query=words).call_and_validate(headers=headers)
        assert answer.status_code == 200, answer.text
    if crawl is not None:
        assert crawl.poll() is None
        stop = [result.ok() for result in schema.get_all_operations() if result.ok().path == "/stop"]
        stop[0].Case(body={"now": True}, media_type="application/json").call_and_validate(headers=headers)
        assert crawl.wait(30) == 4


def asked_of(operation: Any, headers: dict[str, str]) -> int:
    """How many requests were made of it."""
    count = 0
    left_out = [CHECKS.get_one("positive_data_acceptance")] if operation.path in QUESTIONS else []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
            continue

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def one(case: Any) -> None:
            nonlocal count
            count += 1
            case.call_and_validate(headers=headers, timeout=20, excluded_checks=left_out)

        one()
    return max(count, EXAMPLES) if not (operation.query or operation.body) else count
