"""`python -m nephila.testing.torture`: serves every case on loopback and prints the rows with their addresses.

It runs until standard input ends or the process is stopped.
"""

from __future__ import annotations

import argparse
import sys

from nephila.testing.torture.cases import cases, chosen_by
from nephila.testing.torture.rows import ROWS, SECTIONS
from nephila.testing.torture.server import Place, TortureServer


def main(argv: list[str] | None = None) -> None:
    options = argparse.ArgumentParser("python -m nephila.testing.torture", description=__doc__)
    options.add_argument("--port", type=int, default=0, help="default: a free one")
    options.add_argument("--only", default="", help="sections, rows or cases, such as A,B4,C1.ring")
    given = options.parse_args(argv)
    chosen = chosen_by(given.only, cases()) if given.only else cases()
    with TortureServer(chosen, port=given.port) as server:
        print("\n".join(table(list(server.places.values()))))
        print("\n".join(f"--resolve {entry}" for entry in server.resolve))
        if any(case.dns for case in chosen):
            print(f"--name-servers {server.name_server}")
        print("\n".join(f"--proxy {rule}" for rule in server.proxies))
        if any(case.settings.get("ca") for case in chosen):
            from nephila.testing.torture.trust import authority

            print(f"--ca {authority().file}")
        print("crawl one with: nephila crawl ADDRESS -o out", flush=True)
        sys.stdin.read()


def table(places: list[Place]) -> list[str]:
    """The rows with the addresses of their cases, as lines."""
    lines, section = [], ""
    for row in ROWS.values():
        here = [place for place in places if place.case.row is row]
        if here and row.section != section:
            section = row.section
            lines.append(f"\n{section}. {SECTIONS[section]}")
        if here:
            lines.append(f"  {row.id}  {row.fault}: {row.outcome}")
        for place in here:
            lines.append(f"      {place.seed}  {place.case.name}: {place.case.outcome} {place.case.reason}".rstrip())
    return lines


if __name__ == "__main__":
    main()
