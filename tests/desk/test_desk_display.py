"""What is drawn, in a fixed width, from a fixed status."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest

from nephila import display, figures
from nephila.events import UNSAFE


@pytest.fixture
def status(job: Any) -> dict[str, Any]:
    final: dict[str, Any] = job.final
    return final


def test_the_live_view(status: dict[str, Any]) -> None:
    assert [line for line, _ in display.frame(status, 100)] == [
        "example.com  running for 0:12:31 · 2 workers · about 1:40:00 left",
        "  found 12,345 · kept 3,210 · queued 9,001 · in flight 12",
        "  245 MB · 4.3 pages/s · 2 archive files",
        "  not kept: REFUSED 31 · UNREACHABLE 2",
        "  because: status.404 25 · status.403 6 · timeout.connect 2",
        "  slowest: https://slow.example 1,200 queued, pause 5 s, answers in 320 ms, 1 failure in a row",
    ]


def test_a_crawl_that_ended_is_not_going_on(status: dict[str, Any]) -> None:
    status |= {"state": "finished", "workers": 0}
    assert display.frame(status, 100)[0][0] == "example.com  finished after 0:12:31"


def test_offline_parked_and_uncounted_are_said(status: dict[str, Any]) -> None:
    status |= {"offline_since": 1.0, "parked": [{"origin": "https://p.example", "until": 1e15}], "unknown": ["found"]}
    lines = [line for line, _ in display.frame(status, 100)]
    assert "  no network since 1970-01-01 00:00:01 UTC; waiting for it" in lines
    assert "  parked: https://p.example until 9999-12-31 23:59:59 UTC" in lines
    assert lines[-1] == "  not counted, because it takes too long: found"
    assert "; no network since 1970-01-01 00:00:01 UTC" in display.one_line(status)


def test_proxies_that_rest_are_said(status: dict[str, Any]) -> None:
    one, two = ({"proxy": f"http://p{n}:1", "resting_since": None, "reason": ""} for n in (1, 2))
    status["proxies"] = [one | {"resting_since": 1.0, "reason": "proxy_tls"}, two]
    some = "proxies: 1 of 2 rest: http://p1:1 (proxy_tls)"
    assert f"  {some}" in [line for line, _ in display.frame(status, 100)]
    assert display.one_line(status).endswith(f"; {some}")
    status["proxies"][1] = two | {"resting_since": 2.0, "reason": "proxy_auth"}
    none = (
        "proxies: none works since 1970-01-01 00:00:02 UTC, waiting: http://p1:1 (proxy_tls), http://p2:1 (proxy_auth)"
    )
    assert f"  {none}" in [line for line, _ in display.frame(status, 120)]


@pytest.mark.parametrize("columns", [20, 40, 79, 120])
def test_no_line_is_wider_than_the_terminal(status: dict[str, Any], columns: int) -> None:
    status["hosts"] = [{"origin": "https://" + "例子" * 40, "queued": 1, "delay": 0, "failures": 0, "ms": 1}]
    status["folder"] = "新闻e\u0301" * 30
    for line, _ in display.frame(status, columns):
        assert display.columns_of(line) <= columns


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("中文", 4), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("한글", 4), ("é", 1), ("…", 1), ("", 0)],
)
def test_cells(text: str, columns: int) -> None:
    assert display.columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "right"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("中文字", 6, "中文字"),
        ("中文字", 5, "中文…"),
        ("中文字", 4, "中…"),
    ],
)
def test_cut(text: str, columns: int, right: str) -> None:
    assert display.cut(text, columns) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("plain 中文 é 👩‍💻", "plain 中文 é 👩‍💻"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\rc\td\x00", "a\\nb\\rc\\td\\x00"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202egpj.exe\u2066", "\\u202egpj.exe\\u2066"),
        ("\u2028\u2029\ufeff\u200f", "\\u2028\\u2029\\ufeff\\u200f"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_safe(text: str, right: str) -> None:
    assert display.safe(text) == right


def test_hostile_names_are_escaped_everywhere(status: dict[str, Any]) -> None:
    bad = "\x1b]0;owned\x07\u202e"
    status |= {"folder": bad, "reasons": {bad: 1}, "parked": [{"origin": bad, "until": 0.0}]}
    status["hosts"][0]["origin"] = bad
    shown = "".join(line for line, _ in display.frame(status, 200)) + display.one_line(status)
    shown += display.summary(status, 0, "finished", bad).replace("\n", "")
    assert not UNSAFE.search(shown)
    assert shown.count("\\x1b]0;owned\\x07\\u202e") >= 8


def test_the_summary(status: dict[str, Any]) -> None:
    assert display.summary(status, 3, "limit", "Stopped: max_pages = 3210 is reached.").splitlines() == [
        "Stopped: max_pages = 3210 is reached. (exit code 3, limit)",
        "",
        "  kept       3,210 pages, 245 MB, in 0:12:31 (4.3 pages/s)",
        "  found      12,345 addresses, 9,001 still queued",
        "  in         example.com (2 archive files)",
        "  outcomes   OK           3,210",
        "             REFUSED         31",
        "             MOVED           12",
        "             UNREACHABLE      2",
        "  because    status.404       25",
        "             status.403        6",
        "             timeout.connect   2",
        "",
        "Next:",
        "  nephila crawl -o example.com --max-pages N  go on with a higher limit",
        "  nephila export jsonl example.com            one line per page, for other tools",
        "  nephila status example.com                  where it stands",
    ]


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        ("finished", "nephila export mirror 'my site'"),
        ("limit", "nephila crawl -o 'my site' --max-pages N"),
        ("interrupted", "nephila crawl -o 'my site'"),
        ("parked", "nephila crawl -o 'my site'"),
        ("offline", "nephila crawl -o 'my site'"),
        ("no_seed", "nephila crawl -o 'my site' --dry-run"),
        ("disk", "nephila crawl -o 'my site'"),
    ],
)
def test_three_commands_follow_every_ending(reason: str, first: str) -> None:
    commands = [command for command, _ in display.next_commands(reason, "my site")]
    assert commands[0] == first
    assert len(set(commands)) == 3


def test_the_limit_that_was_reached_is_the_one_to_raise() -> None:
    assert display.next_commands("limit", "x", "max_time: 4 s are over")[0][0] == "nephila crawl -o x --max-time N"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "how", "mode"),
    [
        (Terminal(), {"TERM": "xterm"}, {}, "live"),
        (Terminal(), {"TERM": "dumb"}, {}, "lines"),
        (Terminal(), {}, {}, "lines"),
        (io.StringIO(), {"TERM": "xterm"}, {}, "lines"),
        (Terminal(), {"TERM": "xterm"}, {"as_json": True}, "json"),
        (Terminal(), {"TERM": "xterm"}, {"quiet": True, "as_json": True}, "quiet"),
    ],
)
def test_mode(stream: io.StringIO, env: dict[str, str], how: dict[str, bool], mode: str) -> None:
    screen = display.Screen.on(stream, env, **how)
    assert (screen.mode, screen.observe_s) == (mode, 1.0 if mode == "live" else 10.0)


def test_live_redraws_in_place_and_leaves_nothing_but_notes(status: dict[str, Any]) -> None:
    out = Terminal()
    screen = display.Screen(out, "live", columns=80)
    screen.update(status)
    first = out.getvalue()
    assert first.count("\n") == 6
    assert "\x1b" not in first
    screen.note("scope widened")
    assert out.getvalue()[len(first) :] == "\x1b[6F\x1b[Jnephila: scope widened\n"
    screen.update(status)
    screen.close()
    assert out.getvalue().endswith(f"{first}\x1b[6F\x1b[J")


def test_colour_only_when_wanted(status: dict[str, Any]) -> None:
    coloured, plain = Terminal(), Terminal()
    display.Screen.on(coloured, {"TERM": "xterm"}).update(status)
    display.Screen.on(plain, {"TERM": "xterm", "NO_COLOR": "1"}).update(status)
    assert "\x1b[31m  not kept" in coloured.getvalue()
    assert "\x1b" not in plain.getvalue()


def test_a_full_pipe_costs_frames_and_no_time(status: dict[str, Any]) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    while True:
        try:
            os.write(write, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(write, True)
    with os.fdopen(write, "w") as stream, os.fdopen(read, "rb") as reader:
        screen = display.Screen(stream, "lines")
        screen.note("kept for later")
        screen.update(status)
        reader.read1(1 << 20)
        screen.update(status)
        assert reader.read1(1 << 20).decode().splitlines() == ["nephila: kept for later", display.one_line(status)]


def test_a_reader_that_left_ends_the_progress_only(status: dict[str, Any]) -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w")
    screen = display.Screen(stream, "lines")
    screen.update(status)
    screen.update(status)
    screen.close()
    with pytest.raises(BrokenPipeError):
        stream.close()


@pytest.mark.parametrize(
    ("size", "right"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (245e6, "245 MB"),
        (1.25e9, "1.2 GB"),
        (3.4e15, "3,400.0 TB"),
    ],
)
def test_amount(size: float, right: str) -> None:
    assert figures.amount(size) == right


@pytest.mark.parametrize(("seconds", "right"), [(0, "0:00:00"), (3599.9, "0:59:59"), (86400 * 2 + 61, "2d 00:01:01")])
def test_duration(seconds: float, right: str) -> None:
    assert figures.duration(seconds) == right


@pytest.mark.parametrize("columns", [40, 80])
def test_every_number_fits(columns: int, status: dict[str, Any]) -> None:
    """On a narrow terminal numbers take another line; of a long folder the end is shown."""
    status = status | {"folder": "/srv/crawls/of/this/year/and/the/last/example.com", "eta_seconds": 90_000.0}
    lines = [line for line, _ in display.frame(status, columns)]
    assert max(display.columns_of(line) for line in lines) <= columns
    text = " ".join(line.strip() for line in lines)
    for part in ("example.com  running for 0:12:31", "2 workers", "about 1d 01:00:00 left", "found 12,345", "kept 3,210",
                 "queued 9,001", "in flight 12", "245 MB", "4.3 pages/s", "2 archive files", "REFUSED 31", "timeout.connect 2"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("env", "terminal", "pipe"),
    [
        ({"TERM": "xterm"}, True, False),
        ({}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, False),
        ({"TERM": "xterm", "CLICOLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, True, True),
        ({"FORCE_COLOR": "0", "TERM": "xterm"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_when_colours_are_used(env: dict[str, str], terminal: bool, pipe: bool) -> None:
    assert (display.colours(Terminal(), env), display.colours(io.StringIO(), env)) == (terminal, pipe)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
