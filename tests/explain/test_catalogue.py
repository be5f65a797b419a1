"""Every rule and every reason that the code can say has a sentence, in both languages."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from both import check_both

import nephila
from nephila import types
from nephila.explain.catalogue import REASONS, RULES, of_reason, of_rule, reason_name, rule_name
from nephila.fetch import faults, tls
from nephila.url.traps import TRAPS

ROOT = Path(nephila.__file__).parent
DOCS = ROOT.parents[1] / "docs"
SAID_BY = {"Failure", "Trouble", "trouble", "Verdict", "Visit", "Settlement", "Resolution", "Decoded", "Page"}
"""What holds a reason among its values."""
HELD_IN = {"reason", "fault", "flaw", "skip", "problem", "verdict"}
"""Names of values and attributes that hold one."""
TELLS = {
    "fault",
    "denial",
    "_blame",
    "outside",
    "_host_refusal",
    "_name_refusal",
    "_pattern_refusal",
    "_judge",
    "_refusal",
    "refusal",
}
"""Functions that give one."""
WORD = re.compile(r"[a-z][a-z0-9_]*(?:[._][a-z0-9_]+)+|[a-z]+[_.]?[a-z]+")
NONE = {"coding"}
"""Words in those places that are none."""


@functools.cache
def said() -> set[str]:
    """Reasons and rules as they stand in the source."""
    found: set[str] = set()
    for path in ROOT.rglob("*.py"):
        if not {"testing", "explain", "views", "ui", "store"} & set(path.relative_to(ROOT).parts):
            found |= {text for text in _in(ast.parse(path.read_text())) if WORD.fullmatch(text)}
    return found


def _in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in SAID_BY:
                yield from _texts(node.args[:2])
            yield from _texts(one.value for one in node.keywords if one.arg in HELD_IN)
        elif isinstance(node, ast.Assign):
            if any(getattr(target, "attr", getattr(target, "id", "")) in HELD_IN for target in node.targets):
                yield from _texts([node.value])
        elif isinstance(node, ast.FunctionDef) and node.name in TELLS:
            yield from _texts(one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value)


def _texts(nodes: object) -> Iterator[str]:
    """The texts that an expression may come to: not what is compared in it."""
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.IfExp):
            yield from _texts([node.body, node.orelse])
        elif isinstance(node, ast.BoolOp):
            yield from _texts(node.values)
        elif isinstance(node, ast.Tuple):
            yield from _texts(node.elts)


TABLED = {
    *types.RETRYABLE,
    *types.HOST_FAILURES,
    *types.TLS_FAILURES,
    *faults.REASONS.values(),
    *faults.CONNECT_ERRNO.values(),
    *tls.VERIFY.values(),
    *tls.SSL_REASONS.values(),
    *(f"trap:{trap}" for trap in TRAPS),
    *(f"truncated.{how}" for how in ("length", "time", "disconnect", "decode", "unspecified")),
    *(f"status.{code}" for code in (400, 404, 451, 503, 999)),
    *(f"timeout.{phase}" for phase in ("dns", "connect", "tls", "headers", "body")),
    *(f"insecure.{reason.partition('.')[2]}" for reason in types.TLS_FAILURES),
    *("exclude:/x", "type:image/png", "max_depth", "scheme", "read_crash"),
}
"""Those that stand in tables, and members of families."""


@pytest.mark.parametrize("name", sorted((said() - NONE) | TABLED))
def test_it_has_a_sentence(name: str) -> None:
    assert rule_name(name) in RULES or reason_name(name) in REASONS


def test_the_search_finds_what_it_should() -> None:
    found = said()
    assert {"robots_disallow", "redirect_loop", "proxy_tls", "read_memory", "header_too_large", "cut.links"} <= found
    assert {"scope.host", "include", "kind.form", "url.too_long", "bomb", "host_unreachable"} <= found


@pytest.mark.parametrize(
    "reason",
    sorted(
        {
            name
            for page in ("network", "ftp", "proxies")
            for name in re.findall(
                r"^\| `((?:tls|dns|timeout|connect|proxy|ftp)[._]\w+)`", (DOCS / f"{page}.md").read_text(), re.MULTILINE
            )
        }
    ),
)
def test_so_has_what_is_documented(reason: str) -> None:
    assert reason_name(reason) in REASONS


@pytest.mark.parametrize("name", [*RULES, *REASONS])
def test_both_languages_take_the_same_facts(name: str) -> None:
    check_both((RULES | REASONS)[name])


def test_facts_are_put_in() -> None:
    assert of_reason("status.404", host="h", origin="o") == "the server answered 404 Not Found"
    assert of_reason("status.999", host="h", origin="o") == "the server answered 999"
    assert of_reason("type:image/png", host="h", origin="o").startswith("its media type is image/png")
    assert "pattern /x{1} of exclude" in of_rule("exclude:/x{1}", host="h", depth=1, max_depth=1)
    assert "(http://a.test/cal?m)" in of_rule("trap:calendar http://a.test/cal?m", host="h", depth=1, max_depth=1)
    assert of_reason("never heard of", host="h", origin="o") == "of never heard of"


@pytest.mark.parametrize(("names", "title"), [(RULES, "Rules"), (REASONS, "Reasons")])
def test_every_one_is_in_the_docs(names: dict[str, tuple[str, str]], title: str) -> None:
    section = (DOCS / "explain.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE))
    assert rows == {name: english for name, (english, _) in names.items()}
