"""What can be written after each command: the parsers of the command line, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from nephila import hints
from nephila.errors import ConfigError

GROUPS = {
    "what to fetch": "scope include exclude types embeds sitemaps max_depth order seen guess_links ignore_nofollow traps",
    "how much": "max_pages max_bytes max_time site_pages site_pages_max site_hosts",
    "manners": "delay per_host connections workers no_robots user_agent contact limit_rate",
    "the door": "header auth login follow_logout cookies save_cookies proxy resolve name_servers allow_private ca insecure http2 http3",
    "where and how it is kept": "durability mirror min_free store store_key keep_local state_dir",
}
"""The options of `crawl` as its help shows them; a key that is in no group is shown under `more`."""

_METAVARS = {
    "include": "REGEX",
    "exclude": "REGEX",
    "types": "TYPE[,…]",
    "delay": "auto|S",
    "user_agent": "TEXT",
    "contact": "TEXT",
    "header": "'NAME: VALUE'",
    "proxy": "[SITE=]URL",
    "auth": "ORIGIN=SPEC",
    "login": "URL=USER:PASSWORD",
    "cookies": "FILE",
    "save_cookies": "FILE",
    "resolve": "HOST:PORT:ADDR",
    "name_servers": "ADDR[:PORT]",
    "ca": "FILE",
    "insecure": "HOST",
    "state_dir": "DIR",
    "store": "s3://BUCKET/PREFIX",
    "store_key": "env:NAME|@FILE",
    "scope": "WHICH",
    "order": "WHICH",
    "seen": "WHICH",
    "traps": "WHICH",
    "durability": "WHICH",
}

_CRAWL_EPILOG = """\
Sizes take units (10MB, 1GiB), times too (90, 10m, 2h). Every option is also a key of crawl.toml (--max-pages is
max_pages) and a variable (NEPHILA_MAX_PAGES). A secret may be given as @FILE or env:NAME and is never stored.
With --json, standard output gets one JSON object at the end, standard error one per ten seconds.

examples:
  nephila crawl https://example.com/                        one site, politely, into ./example.com
  nephila crawl https://example.com/ --max-pages 1000 --mirror
  nephila crawl https://example.com/ --ui                   watch and steer it in a browser
  nephila crawl -i addresses.txt -o news --scope any --max-depth 2
  nephila crawl -o news                                     carry on where it stopped
  nephila crawl https://example.com/ --header 'Authorization: env:TOKEN'

exit codes: 0 finished, 1 a bug, 2 usage or configuration, 3 a limit was reached, 4 interrupted and can be carried on,
5 no seed could be fetched, 6 out of disk
"""


def build_crawl() -> argparse.ArgumentParser:
    from nephila.config import fields

    parser = Parser("crawl", "[URL …] [-o DIR] [options]", "Start a crawl, or carry on in its folder.", _CRAWL_EPILOG)
    parser.add_argument("url", nargs="*", metavar="URL", help="addresses to start from (none: carry on in -o DIR)")
    add = parser.add_argument
    add("-o", "--output", metavar="DIR", type=Path, help="the job's folder (default: ./HOST of the first address)")
    add("-i", "--input", metavar="FILE", action="append", help="more addresses, one per line; - is standard input")
    add("--config", metavar="FILE", type=Path, help="read settings from this TOML file")
    add("--fresh", action="store_true", help="start anew: an old folder is renamed, never deleted, and not read")
    add(
        "--dry-run",
        action="store_true",
        help="show settings, robots.txt and first links with the rule that decides; store nothing",
    )
    add("--retry", metavar="OUTCOME[,…]", help="queue again what ended so, such as UNREACHABLE,REFUSED")
    _add_json(parser, "the result as one JSON object on standard output, progress as JSON lines on standard error")
    add("--ui", action="store_true", help="a window on the crawl in a browser on this machine; its address is printed")
    add("--ui-port", metavar="N", type=int, default=0, help="its port on 127.0.0.1 (default: any that is free)")
    add("--quiet", action="store_true", help="print nothing but errors (and the result, with --json)")
    keys = {name: doc for name, (doc, extra) in fields().items() if extra["option"]}
    grouped = {title: [n for n in names.split() if n in keys] for title, names in GROUPS.items()}
    grouped["more"] = [name for name in keys if not any(name in names for names in grouped.values())]
    for title, names in grouped.items():
        group = parser.add_argument_group(title) if names else parser
        for name in names:
            _add_key(group, name, keys[name])
    return parser


def _add_key(group: Any, name: str, doc: str) -> None:
    """A key of the configuration as an option. What is not given stays None, so that files and variables count."""
    from nephila.config import Config

    default = getattr(Config(), name)
    flag = "--" + name.replace("_", "-")
    help_text = f"{doc}{_default(default, doc)}".replace("%", "%%")
    dest = f"key_{name}"
    if isinstance(default, bool):
        opposite = "--" + name.removeprefix("no_").replace("_", "-") if name.startswith("no_") else "--no-" + flag[2:]
        group.add_argument(flag, dest=dest, action="store_const", const=True, help=f"{help_text}; opposite: {opposite}")
        group.add_argument(opposite, dest=dest, action="store_const", const=False, help=argparse.SUPPRESS)
        return
    action = "append" if isinstance(default, list) else "store"
    metavar = _METAVARS.get(name, "SECONDS" if isinstance(default, float) else "N")
    group.add_argument(flag, dest=dest, action=action, metavar=metavar, help=help_text)


def _default(value: Any, doc: str) -> str:
    """What happens without the option, unless `doc` has said so."""
    if isinstance(value, list):
        return " (may be repeated)"
    if isinstance(value, bool):
        return " (default: yes)" if value else ""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "" if not text or f"({text}: " in doc else f" (default: {text})"


def build_status() -> argparse.ArgumentParser:
    parser = Parser(
        "status",
        "DIR [--json]",
        "Where a crawl stands, while it runs or afterwards.",
        "example:\n  nephila status example.com --json",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder")
    _add_json(parser)
    return parser


def build_steering(verb: str, about: str) -> Callable[[], argparse.ArgumentParser]:
    def build() -> argparse.ArgumentParser:
        parser = Parser(
            verb, "DIR [--now]" if verb == "stop" else "DIR", about, f"example:\n  nephila {verb} example.com"
        )
        parser.add_argument("dir", metavar="DIR", type=Path, help="the folder of a running crawl")
        if verb == "stop":
            parser.add_argument(
                "--now", action="store_true", help="do not wait for running requests; they are asked again"
            )
        _add_json(parser)
        return parser

    return build


def build_set() -> argparse.ArgumentParser:
    parser = Parser(
        "set",
        "DIR KEY=VALUE… [--preview] [--json]",
        "Change rules, budgets and manners of a running crawl; stored URLs are held against new rules at once.",
        "examples:\n  nephila set example.com max_depth=3 delay=2\n"
        "  nephila set example.com exclude+=/calendar/            adds to a list; exclude-=/calendar/ takes out of it\n"
        "  nephila set example.com include=/docs/ include=/blog/  puts these two in place of the list\n"
        "  nephila set example.com scope=site --preview           says how many URLs would come and go",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder of a running crawl")
    parser.add_argument("change", metavar="KEY=VALUE", nargs="+", help="a setting (docs/steering.md lists them)")
    parser.add_argument("--preview", action="store_true", help="only say what it would do to stored URLs")
    _add_json(parser)
    return parser


def build_host() -> argparse.ArgumentParser:
    parser = Parser(
        "host",
        "DIR HOST pause|resume|slow|drop [--seconds S] [--json]",
        "Leave one host of a running crawl alone, slow it down, let it go on, or give it up.",
        "examples:\n  nephila host example.com www.example.com slow --seconds 10\n"
        "  nephila host example.com https://cdn.example.com drop    its queued URLs are not fetched",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder of a running crawl")
    parser.add_argument("host", metavar="HOST", help="a name (all its origins) or an origin, https://example.com:8443")
    parser.add_argument("action", choices=("pause", "resume", "slow", "drop"), help="what to do with it")
    parser.add_argument(
        "--seconds", metavar="S", type=float, help="slow: between two requests (default: twice as long as now)"
    )
    _add_json(parser)
    return parser


def build_export() -> argparse.ArgumentParser:
    from nephila import job

    example = "example:\n  nephila export mirror example.com --to site"
    parser = Parser(
        "export",
        "VIEW DIR|--from FILE [--to X] [--with NAME]",
        "Make a view of what was crawled; as often as wanted, also while it runs.",
        example,
    )
    offered = "; ".join(f"{name} ({view.doc})" for name, view in job.VIEWS.items())
    parser.add_argument("view", metavar="VIEW", help=f"one of: {offered}")
    _add_source(parser)
    parser.add_argument(
        "--to",
        metavar="X",
        default="",
        help="file, folder, database or s3://BUCKET/KEY to write to (default: its place in DIR/views)",
    )
    views = parser.add_argument_group("of some views")
    for name, option in job.VIEW_OPTIONS.items():
        names = ", ".join(view for view, about in job.VIEWS.items() if name in about.takes)
        kind: dict[str, Any] = (
            {"metavar": option.metavar} if option.metavar else {"action": "store_const", "const": True}
        )
        flag = "--" + name.replace("_", "-")
        views.add_argument(flag, dest=f"of_view_{name}", help=f"{names}: {option.doc}", **kind)
    _add_json(parser)
    return parser


def build_serve() -> argparse.ArgumentParser:
    parser = Parser(
        "serve",
        "DIR|--from FILE [--port N] [--with NAME] [--token-file FILE]",
        "Show what was crawled in a browser on this machine: any kept page at any time, also while the crawl runs.",
        "examples:\n  nephila serve example.com\n  nephila serve --from theirs.wacz --port 8080\n"
        "  nephila serve example.com --port 8080 --token-file token     for programs, too (docs/api.md)",
    )
    _add_source(parser)
    parser.add_argument(
        "--port", metavar="N", type=int, default=0, help="port on 127.0.0.1 (default: any that is free)"
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="the token that programs send (docs/api.md); a file that is not there is made with a new one",
    )
    _add_json(parser)
    return parser


def _add_source(parser: argparse.ArgumentParser) -> None:
    """Whose pages."""
    parser.add_argument("dir", metavar="DIR", type=Path, nargs="?", help="the job's folder")
    parser.add_argument(
        "--from",
        dest="archives",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="in place of DIR: an archive of any crawler (WARC, ARC, Tianwang, WACZ, or a folder of them; may be repeated)",
    )
    _add_access(parser)


def _add_access(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="access",
        metavar="NAME",
        action="append",
        default=[],
        help="take in the pages fetched with this credential, such as basic@example.com (may be repeated)",
    )


def build_extract() -> argparse.ArgumentParser:
    parser = Parser(
        "extract",
        "DIR [--rules FILE] [--with NAME]",
        "Show the first ten rows that rules for items ([[extract]]) find in the pages kept, and what matches nothing.",
        "example:\n  nephila extract flats.example --rules flats.toml\n  nephila export items flats.example --rules flats.toml    writes all",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder")
    parser.add_argument("--rules", metavar="FILE", type=Path, help="a TOML file with them (default: DIR/crawl.toml)")
    _add_access(parser)
    _add_json(parser)
    return parser


def build_explain() -> argparse.ArgumentParser:
    parser = Parser(
        "explain",
        "DIR URL [--set KEY=VALUE] [--json] [--with NAME], or DIR --refused [--json]",
        "Why a page is there or not: each step with the rule that decided, and what would change it.",
        "examples:\n  nephila explain example.com https://example.com/about\n"
        "  nephila explain example.com https://example.com/a/b/c --set max_depth=4\n"
        "  nephila explain example.com --refused",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder; the crawl may be running")
    parser.add_argument("url", metavar="URL", nargs="?", default="", help="any address, also one that was never met")
    parser.add_argument(
        "--set",
        dest="given",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="say what this setting would do, such as max_depth=4 or scope=site (may be repeated: together)",
    )
    parser.add_argument("--refused", action="store_true", help="everything that was refused, by rule, with examples")
    _add_json(parser, "as one JSON object; docs/explain.md explains the keys")
    _add_access(parser)
    return parser


def build_search() -> argparse.ArgumentParser:
    parser = Parser(
        "search",
        "DIR QUERY [--limit N] [--json] [--with NAME] [--with-noindex]",
        "Find what was crawled by its words; the index is brought up to the crawl first.",
        "examples:\n  nephila search example.com '\"search engine\" -java date:2024'\n"
        "  nephila search example.com 'title:天网 lang:zh host:pku.edu.cn'\n"
        "  nephila search ftp.example.com 'name:linux*.tar.gz'",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder")
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="+",
        help='words, "a phrase", -without, one OR other, title: host: lang: name: date: (docs/search.md)',
    )
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="show at most so many (default: 10)")
    _add_json(parser, "as one JSON object; docs/search.md explains the keys")
    parser.add_argument("--with-noindex", action="store_true", help="search pages that ask not to be indexed, too")
    _add_access(parser)
    return parser


def build_forget() -> argparse.ArgumentParser:
    parser = Parser(
        "forget",
        "DIR URL|REGEX [--yes]",
        "Take pages down: their rows are emptied, their records overwritten, and they are not fetched again.",
        "examples:\n  nephila forget example.com https://example.com/private.html --reason 'asked by its owner'\n"
        "  nephila forget example.com '/users/[0-9]+$'            shows what would go; --yes does it",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder; no crawl may be running in it")
    parser.add_argument("what", metavar="URL|REGEX", help="an address of the job, or a pattern that is found in some")
    parser.add_argument("--reason", metavar="TEXT", default="", help="kept in the archive in place of the records")
    parser.add_argument("--yes", action="store_true", help="take down everything that a pattern finds")
    _add_json(parser)
    return parser


def build_upload() -> argparse.ArgumentParser:
    parser = Parser(
        "upload",
        "DIR [--store s3://BUCKET/PREFIX] [--store-key env:NAME|@FILE]",
        "Send the archive files of a crawl that has ended to its store; a running crawl does it by itself.",
        "example:\n  nephila upload example.com --store s3://crawls/example.com",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="the job's folder; no crawl may be running in it")
    parser.add_argument("--store", metavar="ADDRESS", help="where to (default: the store of the crawl)")
    parser.add_argument("--store-key", metavar="env:NAME|@FILE", action="append", help="ID:SECRET for the store")
    _add_json(parser)
    return parser


def build_completion() -> argparse.ArgumentParser:
    parser = Parser(
        "completion",
        "bash|zsh|fish",
        "Print a script that lets a shell complete commands, options, views and folders.",
        "examples:\n  nephila completion bash > ~/.local/share/bash-completion/completions/nephila\n"
        "  nephila completion zsh > ~/.zsh/_nephila                after: fpath=(~/.zsh $fpath) in ~/.zshrc\n"
        "  nephila completion fish > ~/.config/fish/completions/nephila.fish",
    )
    parser.add_argument("shell", metavar="SHELL", help="one of: bash, zsh, fish")
    _add_json(parser)
    return parser


def _add_json(
    parser: argparse.ArgumentParser, about: str = "as one JSON object; docs/commands.md explains the keys"
) -> None:
    """What every command has."""
    parser.add_argument("--json", action="store_true", help=about)


class Parser(argparse.ArgumentParser):
    """One clear line in place of the usage text when something is wrong."""

    def __init__(self, name: str, usage: str, about: str, epilog: str) -> None:
        super().__init__(
            f"nephila {name}",
            usage=f"nephila {name} {usage}",
            description=about,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        _, lacking, arguments = message.partition("the following arguments are required: ")
        if lacking:
            raise ConfigError(f"{hints.missing(arguments, self.prog)} ({self.prog} --help)")
        raise ConfigError(message if "--help" in message else f"{message} ({self.prog} --help)")


def unknown_option(word: str, parser: argparse.ArgumentParser) -> str:
    from nephila.values import nearest

    name = word.partition("=")[0]
    near = nearest(name, parser._option_string_actions, 0.65) if name.startswith("-") else ""
    return f"{name} is not known here" + (f"; did you mean {near}?" if near else f"; see {parser.prog} --help")
