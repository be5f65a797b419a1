"""Registrable domains, by the tests of the public suffix list."""

from __future__ import annotations

import re

from conformance.table import Run

from nephila.url.parse import host_of, normalise
from nephila.url.site import is_public_suffix, registrable


def test_registrable_domains(corpus: Run) -> None:
    with corpus("psl/test_psl.txt") as run:
        for line in run.bytes("psl/test_psl.txt").decode().splitlines():
            if check := re.match(r"checkPublicSuffix\((null|'[^']*'), (null|'[^']*')\);", line):
                asked, wanted = (part.strip("'") for part in check.groups())
                run.check(asked, domain(asked), host(wanted))


def host(name: str) -> str:
    """The name as it stands in a URL, "" when it is none."""
    url = None if name == "null" or name.startswith(".") else normalise(f"http://{name}/")
    return host_of(url) if url else ""


def domain(name: str) -> str:
    """ "" when there is none: a public suffix belongs to nobody, and is its own here so that every host has a site."""
    found = host(name)
    if is_public_suffix(found):
        assert registrable(found) == found
        return ""
    return registrable(found)
