"""`python -m nephila.testing.web --hosts 2000 --pages 50`: a web to crawl on this machine, and the command that crawls it.

It runs until standard input ends or the process is stopped, and then says what it answered and what that cost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from nephila.testing.web.server import WebServer
from nephila.testing.web.spec import Spec

SEEDS_SHOWN = 3
NAMES_SHOWN = 10
DESCRIBED = {  # every field of Spec is an option
    "seed": "webs with different seeds have nothing in common",
    "hosts": "number of hosts",
    "pages": "pages of a host, in the mean",
    "pages_sigma": "how much that differs between hosts (lognormal); 0: not at all",
    "depth": "clicks from a start page to the last page, in the median",
    "size": "bytes of a page, in the median",
    "size_sigma": "how much that differs (lognormal)",
    "degree": "links of a page, in the median",
    "degree_sigma": "how much that differs (lognormal)",
    "external": "share of links that lead to other hosts",
    "images": "images of a host",
    "moved": "share of pages that their parent knows by a redirect",
    "twins": "share of pages with a second address",
    "dead": "share of pages with a dead link",
    "variants": "share of pages with a second version behind a query",
    "null": "share of the pages without children that are empty",
    "private": "share of pages with a link that robots.txt forbids",
    "legacy": "share of hosts whose pages are not in UTF-8",
    "robots": "share of hosts with a robots.txt",
    "slow": "share of hosts that take --slow-s seconds, in the median, to answer",
    "slow_s": "see --slow",
    "gzip": "share of hosts that compress",
    "traps": "share of hosts with an endless calendar",
    "names": "pattern of host names, such as 'h{}.example'; default: addresses from 127.0.0.1 on",
    "port": "default: a free one",
}


def main(argv: list[str] | None = None) -> None:
    given = _options(argv)
    spec = Spec(**{name: getattr(given, name) for name in DESCRIBED})
    signal.signal(signal.SIGTERM, lambda *_: os.close(0))  # as if standard input had ended
    with WebServer(spec, shared=given.shared or given.processes > 1) as server:
        others = [_another(server.web.spec) for _ in range(given.processes - 1)]
        print(_how(server, given.config), flush=True)
        _until_input_ends()
        said = [json.loads(other.communicate()[0].splitlines()[-1]) for other in others]
    used = resource.getrusage(resource.RUSAGE_SELF)
    answers = sum(server.counts.values()) + sum(one["answers"] for one in said)
    connections = server.connections + sum(one["connections"] for one in said)
    cpu_s = used.ru_utime + used.ru_stime + sum(one["cpu_s"] for one in said)
    each = round(1e6 * cpu_s / max(1, answers), 1)
    print(json.dumps({"answers": answers, "connections": connections, "cpu_s": round(cpu_s, 3), "us_per_answer": each}))


def _how(server: WebServer, config: Path | None) -> str:
    """The seeds and a command to copy."""
    seeds, resolve = server.seeds, server.resolve
    lines = seeds[:SEEDS_SHOWN] + ([f"… {len(seeds) - SEEDS_SHOWN} more"] if len(seeds) > SEEDS_SHOWN else [])
    if config is not None:
        config.write_text(toml(seeds, resolve))
        how = f"nephila crawl --config {config} -o out"
    elif len(resolve) > NAMES_SHOWN:
        how = "so many names need a file: start this with --config FILE, then: nephila crawl --config FILE -o out"
    elif resolve:
        how = " ".join(["nephila crawl", *seeds, *(f"--resolve {entry}" for entry in resolve), "--delay 0 -o out"])
    else:
        how = f"nephila crawl {seeds[0]} --scope any --allow-private --delay 0 -o out"
    return "\n".join([*lines, how])


def toml(seeds: list[str], resolve: list[str]) -> str:
    """A file for `nephila crawl --config`: all seeds, all names, links followed from host to host, no pause."""
    lists = [("seeds", seeds), ("resolve", resolve)]
    lines = [f"{key} = [\n{''.join(f'  {json.dumps(item)},' + chr(10) for item in items)}]" for key, items in lists]
    return "\n".join([*lines, 'scope = "any"', "allow_private = true", 'delay = "0"']) + "\n"


def _another(spec: Spec) -> subprocess.Popen[bytes]:
    """One more process on the same port."""
    fields = msgspec.structs.asdict(spec)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
    command = [sys.executable, "-m", "nephila.testing.web", "--shared", *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _until_input_ends() -> None:
    with contextlib.suppress(KeyboardInterrupt, OSError):
        while os.read(0, 4096):
            pass


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m nephila.testing.web", description=__doc__)
    defaults = msgspec.structs.asdict(Spec(port=0))
    for name, meaning in DESCRIBED.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=type(defaults[name]), default=defaults[name], help=meaning
        )
    parser.add_argument("--processes", type=int, default=1, help="serve from so many processes (SO_REUSEPORT)")
    parser.add_argument("--shared", action="store_true", help="others may listen on the same port")
    parser.add_argument("--config", type=Path, help="write seeds and names into this file, for nephila crawl --config")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
