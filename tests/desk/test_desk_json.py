"""--json, exit codes, and what is escaped: the same rules for every command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nephila import cli
from nephila.errors import ConfigError, Damaged, DiskFull, JobError
from nephila.events import UNSAFE

DOC = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
LINES = {
    "crawl": ["crawl", "https://example.com/"],
    "status": ["status", "x"],
    "explain": ["explain", "x", "https://example.com/a"],
    "pause": ["pause", "x"],
    "resume": ["resume", "x"],
    "stop": ["stop", "x"],
    "set": ["set", "x", "max_depth=3"],
    "host": ["host", "x", "example.com", "slow", "--seconds", "10"],
    "forget": ["forget", "x", "https://example.com/a"],
    "extract": ["extract", "x"],
    "upload": ["upload", "x"],
    "export": ["export", "jsonl", "x"],
    "serve": ["serve", "x"],
    "search": ["search", "x", "word"],
    "completion": ["completion", "bash"],
}
"""A line for every command that ends well."""
ASKING = [command for command in LINES if command != "completion"]
"""Those that a job can trouble."""
HOSTILE = "\x1b]0;owned\x07\x9b\x7f\u202e\r\n"


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def documented(title: str) -> dict[str, str]:
    """First cell → last cell of the table under a heading of docs/commands.md."""
    section = DOC.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z -]+)` \|(?:.*\|)? *([^|]*) \|$", section, re.MULTILINE))


def test_there_is_a_line_for_every_command() -> None:
    assert list(LINES) == list(cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_json_and_an_example(command: str) -> None:
    parser = cli.COMMANDS[command].build()
    assert "--json" in parser._option_string_actions
    assert re.search(rf"^examples?:\n  nephila {command} ", parser.epilog or "", re.MULTILINE)


@pytest.mark.parametrize("command", LINES)
def test_one_object_with_the_keys_documented(command: str, job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*LINES[command], "--json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    keys = re.findall(r"`(\w+)`", documented("Results as JSON")[command])
    status = [*job.final] if command in ("crawl", "status") else []
    assert (said.err, [*told]) == ("", [*status, *keys, "exit_code"])
    assert told["exit_code"] == 0


def test_a_dry_run_has_its_lines(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crawl", "https://example.com/", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"lines": ["scope = host", "title: \x1b[31mred\u202e"], "exit_code": 0}


@pytest.mark.parametrize("command", ASKING)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("so and so"), 2),
        (JobError("so and so"), 2),
        (DiskFull("so and so"), 6),
        (Damaged("so and so"), 1),
        (KeyboardInterrupt(), 4),
        (ZeroDivisionError("so and so"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_and_their_codes(
    command: str, error: BaseException, code: int, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json an object on standard output, without it a sentence on standard error; the same code, and a documented one."""
    job.error = error
    assert cli.main(LINES[command]) == code
    said = capsys.readouterr()
    sentence = said.err.splitlines()[-1].removeprefix("nephila: ")
    assert (said.out, "so and so" in said.err) == ("", not isinstance(error, KeyboardInterrupt))
    assert cli.main([*LINES[command], "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told == {"error": sentence, "exit_code": code}
    assert str(code) in documented("Exit codes of each command")[command].split(", ")


@pytest.mark.parametrize("argv", [["crwl", "x"], ["status"], ["pause", "x", "--nwo"], ["completion", "tcsh"]])
def test_mistakes_are_objects_too(argv: list[str], job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*argv, "--json"]) == 2
    said = capsys.readouterr()
    assert said.err == ""
    assert list(json.loads(said.out)) == ["error", "exit_code"]


def test_every_command_has_its_exit_codes_documented() -> None:
    told = documented("Exit codes of each command")
    assert set(told) == set(cli.COMMANDS)
    assert told["crawl"] == "0, 1, 2, 3, 4, 5, 6"


def test_what_could_not_be_sent(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.left = 2
    assert cli.main(["upload", "x", "--json"]) == 4
    failed = [{"file": f"a-{n}.warc.gz", "reason": "refused"} for n in range(2)]
    told = {"store": "s3://there", "files": 5, "left": 2, "failed": failed, "exit_code": 4}
    assert json.loads(capsys.readouterr().out) == told
    assert cli.main(["upload", "x"]) == 4
    said = capsys.readouterr()
    assert said.out == "5 archive files were sent to s3://there\n"
    assert said.err.splitlines()[-1] == "nephila: 2 could not be sent: the same command carries on"


def test_a_pattern_is_shown_before_it_is_forgotten(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["forget", "x", "/a/", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["total"], told["exit_code"]) == (False, 3, 2)
    assert cli.main(["forget", "x", "/a/"]) == 2
    assert "nothing is taken down without --yes" in capsys.readouterr().out
    assert cli.main(["forget", "x", "/a/", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] is True


def test_remarks_of_an_export_are_apart(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.remarks = "; 3 left out; 2 lost"
    assert cli.main(["export", "jsonl", "x", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "view": "jsonl",
        "to": "x/views/visits.jsonl",
        "text": "wrote jsonl",
        "remarks": ["3 left out", "2 lost"],
        "exit_code": 0,
    }


def test_a_view_on_standard_output_leaves_no_place_for_json(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "jsonl", "x", "--to", "-", "--json"]) == 2
    assert "leave --json or --to - out" in json.loads(capsys.readouterr().out)["error"]
    assert job.asked == []


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "argv",
    [*LINES.values(), ["crawl", "https://example.com/", "--dry-run"], ["forget", "x", "/a/"], ["explain", "x", "--refused"], ["export", "jsonl", "x", "--to", "-"],
     [f"x{HOSTILE}"], ["status", "x", f"--{HOSTILE}"], ["crawl", f"gopher://{HOSTILE}/"], ["export", f"a{HOSTILE}", "x"]],
    ids=lambda argv: " ".join(argv).encode("unicode_escape").decode(),
)  # fmt: skip
@pytest.mark.parametrize("fails", [False, True])
def test_nothing_that_is_printed_is_obeyed(
    argv: list[str], as_json: bool, fails: bool, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters in whatever may come from the web: titles, addresses, folders, reasons, errors, bugs."""
    job.text, job.left, job.remarks, job.notes = HOSTILE, 1, f"; {HOSTILE}", [HOSTILE]
    for key in ("folder", "state"):
        job.final[key] += HOSTILE
    job.final |= {
        "reasons": {HOSTILE: 1},
        "hosts": [{"origin": HOSTILE, "queued": 1, "delay": 1.0, "failures": 1, "ms": 1}],
        "traps": [{"rule": HOSTILE, "count": 1, "examples": [HOSTILE]}],
        "parked": [{"origin": HOSTILE, "until": 1.0}],
        "proxies": [{"proxy": HOSTILE, "resting_since": 1.0, "reason": HOSTILE}],
        "unknown": [HOSTILE],
    }
    job.statuses, job.ending.text = [job.final], HOSTILE
    job.error = ValueError(HOSTILE) if fails else None
    cli.main([*argv, "--json"] if as_json else argv)
    said = capsys.readouterr()
    assert said.out + said.err != ""
    assert [line for line in (said.out + said.err).split("\n") if UNSAFE.search(line.replace("\t", ""))] == []
