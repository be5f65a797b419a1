"""Command lines in, exit codes and sentences out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nephila
from nephila import cli, options
from nephila.config import fields
from nephila.errors import ConfigError, Damaged, DiskFull, JobError

URL = "https://example.com/"


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["help"], []])
def test_the_overview_names_every_command(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 0
    out = capsys.readouterr().out
    for word, command in cli.COMMANDS.items():
        assert f"  {word:<10} {command.about}" in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"nephila {nephila.__version__}\n"


@pytest.mark.parametrize("word", list(cli.COMMANDS))
def test_help_of_every_command_mentions_every_option(word: str, job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([word, "--help"]) == 0
    out = re.sub(r"\s+", "", capsys.readouterr().out)
    parser = cli.COMMANDS[word].build()
    assert all(option in out for option in parser._option_string_actions)
    assert all(action.help for action in parser._actions)


def test_every_key_that_is_an_option_is_one() -> None:
    known = cli.COMMANDS["crawl"].build()._option_string_actions
    for key, (_, extra) in fields().items():
        assert ("--" + key.replace("_", "-") in known) is extra["option"]
    assert sorted(" ".join(options.GROUPS.values()).split()) == sorted(
        k for k, (_, e) in fields().items() if e["option"]
    )


def test_crawl_hands_everything_to_the_job(job: Any) -> None:
    argv = ["crawl", URL, "-o", "x", "--max-pages", "10k", "--header", "A: 1", "--header", "B: 2", "--no-http2"]
    argv += ["--no-robots", "--retry", "unreachable,REFUSED", "--fresh", "https://b.example/", "--max-depth", "-1"]
    assert cli.main(argv) == 0
    (asked,) = job.asked
    config = asked["config"]
    assert config.seeds == [URL, "https://b.example/"]
    assert (config.max_pages, config.header, config.http2, config.no_robots) == (10_000, ["A: 1", "B: 2"], False, True)
    assert (asked["folder"], asked["fresh"], asked["retry"]) == (Path("x"), True, ["UNREACHABLE", "REFUSED"])
    assert (asked["observe_s"], asked["observe"] is None) == (10.0, False)


@pytest.mark.parametrize(
    ("seed", "folder"),
    [
        ("https://example.com/a?b", "example.com"),
        ("EXAMPLE.com", "example.com"),
        ("http://localhost:8080/", "localhost_8080"),
        ("https://example.com:443/", "example.com"),
        ("http://[::1]:81/", "__1_81"),
        ("https://例子.中国/", "xn--fsqu00a.xn--fiqs8s"),
    ],
)
def test_default_folder(seed: str, folder: str, job: Any) -> None:
    assert cli.main(["crawl", seed]) == 0
    assert job.asked[0]["folder"] == Path(folder)


def test_settings_of_the_folder_count_unless_fresh(job: Any) -> None:
    Path("x").mkdir()
    Path("x/crawl.toml").write_text(f'seeds = ["{URL}"]\nmax_pages = 7\n')
    assert cli.main(["crawl", "-o", "x"]) == 0
    assert cli.main(["crawl", "-o", "x", "--fresh", "https://b.example/"]) == 0
    assert [(a["config"].seeds, a["config"].max_pages) for a in job.asked] == [([URL], 7), (["https://b.example/"], 0)]


def test_a_resume_without_its_secret_is_refused(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x").mkdir()
    Path("x/crawl.toml").write_text(f'seeds = ["{URL}"]\n[withheld]\nheader = ["Cookie"]\n')
    assert cli.main(["crawl", "-o", "x"]) == 2
    assert "secret that is not stored (Cookie): give --header again" in capsys.readouterr().err
    assert cli.main(["crawl", "-o", "x", "--header", "Cookie: a=b"]) == 0


def test_an_opposite_option_undoes_a_stored_one(job: Any) -> None:
    Path("x").mkdir()
    Path("x/crawl.toml").write_text(f'seeds = ["{URL}"]\nno_robots = true\nembeds = true\n')
    assert cli.main(["crawl", "-o", "x", "--robots", "--no-embeds"]) == 0
    assert (job.asked[0]["config"].no_robots, job.asked[0]["config"].embeds) == (False, False)


def test_addresses_from_a_file(job: Any) -> None:
    Path("list").write_bytes("\ufeff# news\nhttps://a.example/\r\n\n  https://例子.中国/ \n".encode())
    assert cli.main(["crawl", "-i", "list"]) == 0
    assert job.asked[0]["config"].seeds == ["https://a.example/", "https://例子.中国/"]
    assert job.asked[0]["folder"] == Path("a.example")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["crawl"], "give an address to start from"),
        (["crawl", "-o", "nowhere"], "nowhere holds no crawl to carry on"),
        (["crawl", URL, "--max-page", "3"], "--max-page is not known here; did you mean --max-pages?"),
        (["crawl", URL, "--frobnicate"], "--frobnicate is not known here; see nephila crawl --help"),
        (["crawl", URL, "--max-pages"], "argument --max-pages: expected one argument"),
        (["crawl", URL, "--max-pages", "many"], "--max-pages: 'many' does not fit; a whole number is expected"),
        (["crawl", URL, "--scope", "galaxy"], "scope = 'galaxy': one of host, site, name, prefix, any is expected"),
        (["crawl", URL, "--include", "("], "include"),
        (["crawl", URL, "--config", "none.toml"], "none.toml cannot be read as settings: No such file or directory"),
        (["crawl", URL, "--retry", "REFUSD"], "--retry REFUSD: no such outcome; did you mean REFUSED?"),
        (["crawl", "-i", "none"], "--input none cannot be read"),
        (["crawl", "gopher://example.com/"], "gopher"),
        (["crwl", URL], "crwl is not a command; did you mean nephila crawl?"),
        (["xyzzy"], "xyzzy is not a command; there are: crawl, status"),
        ([URL], f"to crawl an address, say: nephila crawl {URL}"),
        (["example.com"], "to crawl an address, say: nephila crawl example.com"),
        (["localhost:80"], "to crawl an address, say: nephila crawl localhost:80"),
        (["status"], "say which crawl: nephila status DIR (nephila status --help)"),
        (["export", "miror", "x"], "miror is not a view; did you mean mirror?"),
        (["export", "x", "mirror"], "the view comes first: nephila export mirror x"),
        (["export", "zzz", "x"], "zzz is not a view; there are: mirror, jsonl"),
        (["bad\x1b[31m"], "bad\\x1b[31m is not a command"),
    ],
)
def test_mistakes_end_with_2_and_one_clear_line(
    argv: list[str], message: str, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.startswith("nephila: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert job.asked == []


@pytest.fixture
def crawls_here() -> None:
    for name in ("news", "example.com"):
        Path(name).mkdir()
        (Path(name) / "crawl.toml").write_text("seeds = []\n")
        os.utime(Path(name) / "crawl.toml", (len(name), len(name)))
    Path("urls.txt").write_text("https://a.example/\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["status"], "say which crawl: nephila status DIR; crawls here: example.com, news"),
        (["search", "--limit", "3"], "say which crawl: nephila search DIR QUERY; crawls here: example.com, news"),
        (["status", "newz"], "there is no folder newz; crawls here: example.com, news"),
        (["status", "."], ". is not a crawl: it has no crawl.db; crawls here: example.com, news"),
        (["export", "mirror"], "archives of another program with --from, not both; crawls here: example.com, news"),
        (["export", "news"], "say which view of news, such as: nephila export mirror news; there are: mirror, jsonl"),
        (["crawl", "urls.txt"], "urls.txt is a file: -i urls.txt crawls the addresses in it"),
        (["crawl", "news"], "news is the folder of a crawl: nephila crawl -o news carries on"),
        (["crawl", "-i", "none.txt"], "--input none.txt cannot be read: No such file or directory"),
        (["news"], "news is not a command"),
    ],
)
def test_first_mistakes_in_a_folder_with_crawls(
    argv: list[str], message: str, crawls_here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    assert message in capsys.readouterr().err


def test_the_name_of_a_folder_that_is_an_address_carries_on(crawls_here: None, job: Any) -> None:
    assert cli.main(["crawl", "example.com"]) == 0
    assert job.asked[0]["folder"] == Path("example.com")


def test_help_of_a_command_in_other_words(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["help", "stop"]) == 0
    assert capsys.readouterr().out.startswith("usage: nephila stop DIR [--now]")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConfigError("scope: wrong"), 2, "nephila: scope: wrong\n"),
        (JobError("x is in use"), 2, "nephila: x is in use\n"),
        (DiskFull("the disk is full\x1b"), 6, "nephila: the disk is full\\x1b\n"),
        (Damaged("crawl.db does not read"), 1, "nephila: crawl.db does not read\n"),
        (KeyboardInterrupt(), 4, "nephila: interrupted; the same command carries on\n"),
    ],
)
def test_errors_of_the_job(
    error: BaseException, code: int, message: str, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    job.error = error
    assert cli.main(["crawl", URL]) == code
    assert capsys.readouterr().err == message


def test_a_bug_shows_where_escaped(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.error = ValueError("http://x/\x1b]0;owned\x07")
    assert cli.main(["crawl", URL]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "ValueError: http://x/\\x1b]0;owned\\x07" in err
    assert err.endswith("carries on\n")
    assert "\x1b" not in err


@pytest.mark.parametrize("code", [0, 3, 4, 5, 6])
def test_the_ending_is_the_exit_code(code: int, job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.ending.code = code
    assert cli.main(["crawl", URL]) == code
    assert f"(exit code {code}, " in capsys.readouterr().out


def test_progress_and_notes_on_stderr_summary_on_stdout(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.notes, job.statuses = ["scope widened to www.example.com\x1b"], [job.final]
    assert cli.main(["crawl", URL]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "nephila: scope widened to www.example.com\\x1b",
        "nephila: running 0:12:31; found 12,345, kept 3,210, queued 9,001, in flight 12; not kept 33, 245 MB, 4.3 pages/s",
    ]
    assert said.out.startswith("Finished: all that was found was visited. (exit code 0, finished)\n")


def test_quiet_prints_nothing(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.notes, job.statuses = ["a note"], [job.final]
    assert cli.main(["crawl", URL, "--quiet"]) == 0
    assert tuple(capsys.readouterr()) == ("", "")
    assert job.asked[0]["observe"] is None


def test_json_one_object_out_progress_lines_err(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.notes, job.statuses = ["a note"], [job.final]
    assert cli.main(["crawl", URL, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == job.final | {"exit_code": 0, "reason": "finished", "text": job.ending.text}
    assert [json.loads(line) for line in said.err.splitlines()] == [{"note": "a note"}, job.final]


def test_dry_run_prints_escaped_and_crawls_nothing(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crawl", URL, "--dry-run", "--scope", "site"]) == 0
    assert capsys.readouterr().out == "scope = site\ntitle: \\x1b[31mred\\u202e\n"
    assert job.asked == []


def test_status(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == job.final | {"exit_code": 0}
    assert cli.main(["status", "x"]) == 0
    assert "found 12,345 · kept 3,210" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "request_"),
    [
        (["pause", "x"], {"verb": "pause"}),
        (["resume", "x"], {"verb": "resume"}),
        (["stop", "x"], {"verb": "stop"}),
        (["stop", "x", "--now"], {"verb": "stop", "now": True}),
    ],
)
def test_steering(argv: list[str], request_: dict[str, Any], job: Any) -> None:
    assert cli.main(argv) == 0
    assert job.asked == [(Path("x"), request_)]
    job.nobody = True
    assert cli.main(argv) == 2


def test_a_refused_request_is_an_error(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job.answer = {"error": "too many connections"}
    assert cli.main(["pause", "x"]) == 2
    assert tuple(capsys.readouterr()) == ("", "nephila: too many connections\n")


def test_export(job: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(
            ["export", "urls", "x", "--to", "kind://a//b", "--every", "--with", "basic@a.example", "--with", "cookies"]
        )
        == 0
    )
    assert job.asked == [("urls", Path("x"), "kind://a//b", ["basic@a.example", "cookies"], {"every": True})]
    assert tuple(capsys.readouterr()) == ("wrote urls\n", "")


@pytest.mark.parametrize(("remarks", "said"), [("", ""), ("; 3 left out; 2 lost", "nephila: 3 left out; 2 lost\n")])
def test_export_to_standard_output_makes_only_remarks(
    remarks: str, said: str, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    job.remarks = remarks
    assert cli.main(["export", "jsonl", "x", "--to", "-"]) == 0
    assert tuple(capsys.readouterr()) == ("", said)


def _run(argv: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("NEPHILA_")}
    return subprocess.run([sys.executable, *argv], capture_output=True, text=True, timeout=30, env=env, **how)


def test_help_imports_nothing_heavy() -> None:
    heavy = "msgspec tomllib sqlite3 pycurl numpy turbohtml asyncio nephila.config"
    code = f"import sys; from nephila.cli import main; main(['--help']); print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = _run(["-c", code])
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m() -> None:
    done = _run(["-m", "nephila", "crwl"])
    assert (done.returncode, done.stderr) == (2, "nephila: crwl is not a command; did you mean nephila crawl?\n")


FAKE = """
import sys, types, json
job = types.ModuleType("nephila.job")
job.crawl = lambda folder, config, **rest: types.SimpleNamespace(code=3, reason="limit", text=str(len(config.seeds)))
job.status = lambda folder: json.loads(%r)
import nephila
sys.modules["nephila.job"] = nephila.job = job
from nephila.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_addresses_from_standard_input(job: Any) -> None:
    listed = "".join(f"https://example.com/{i}\n" for i in range(5000))
    done = _run(["-c", FAKE % json.dumps(job.final), "crawl", "-i", "-"], input=listed)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("5000 (exit code 3, limit)\n")


def test_a_reader_that_left_is_no_trouble(job: Any) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-c", FAKE % json.dumps(job.final), "crawl", URL],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, done.stderr) == (3, "")


def test_an_ascii_terminal_gets_escapes(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    job.final["folder"] = "例子"
    done = _run(["-c", FAKE % json.dumps(job.final), "crawl", URL])
    assert done.returncode == 3
    assert "\\u4f8b\\u5b50" in done.stdout
