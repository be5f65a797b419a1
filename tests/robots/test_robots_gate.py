from __future__ import annotations

import pytest

from nephila.robots import gate as gate_module
from nephila.robots.gate import Gate
from nephila.types import RobotsFile

H = "http://h.org"
FOUND = RobotsFile("found", b"User-agent: *\nDisallow: /x\n\nUser-agent: other\nDisallow: /", 200)


@pytest.mark.parametrize(
    ("robots", "path", "denial"),
    [
        (FOUND, "/", ""),
        (FOUND, "/x", "robots_disallow"),
        (RobotsFile("found"), "/x", ""),
        (RobotsFile("absent", b"", 404), "/x", ""),
        (RobotsFile("absent", FOUND.text, 404), "/x", ""),
        (RobotsFile("unreachable", b"", 503), "/", "robots_unreachable"),
    ],
)
def test_denial(robots: RobotsFile, path: str, denial: str) -> None:
    gate = Gate()
    gate.learn(H, robots)
    assert gate.denial(H, H + path) == denial


def test_what_is_learnt_later_counts() -> None:
    gate = Gate()
    gate.learn(H, FOUND)
    assert gate.denial(H, H + "/x") == "robots_disallow"
    gate.learn(H, RobotsFile("absent", b"", 404))
    assert gate.denial(H, H + "/x") == ""
    gate.learn(H, FOUND)
    assert gate.denial(H, H + "/x") == "robots_disallow"


def test_the_token_chooses_the_group() -> None:
    gate = Gate(token="Other")
    gate.learn(H, FOUND)
    assert gate.denial(H, H + "/") == "robots_disallow"


def test_an_unknown_origin_is_a_bug() -> None:
    with pytest.raises(KeyError, match=r"http://h\.org"):
        Gate().denial(H, H + "/")


def test_disabled_it_denies_nothing() -> None:
    gate = Gate(enabled=False)
    gate.learn(H, FOUND)
    assert gate.denial(H, H + "/x") == ""
    assert gate.denial("http://unknown.org", "http://unknown.org/") == ""


def test_the_origin_not_used_for_longest_is_forgotten() -> None:
    gate = Gate(origins_max=2)
    gate.learn("http://a", FOUND)
    gate.learn("http://b", FOUND)
    gate.denial("http://a", "http://a/")
    gate.learn("http://c", FOUND)
    assert gate.denial("http://a", "http://a/x") == gate.denial("http://c", "http://c/x") == "robots_disallow"
    with pytest.raises(KeyError):
        gate.denial("http://b", "http://b/")


def test_compiled_rules_are_bounded_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "_COMPILED_MAX", 2)
    gate = Gate()
    origins = [f"http://h{i}.org" for i in range(5)]
    for origin in origins:
        gate.learn(origin, FOUND)
    for origin in origins * 2:
        assert gate.denial(origin, origin + "/x") == "robots_disallow"
        assert len(gate._compiled) <= 2
