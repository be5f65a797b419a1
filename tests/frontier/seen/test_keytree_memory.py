"""What the key tree takes: bytes for each key, at its peak too, and what becomes of it when there is no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nephila.frontier.seen import keytree_kernel

KERNELS = [
    pytest.param(
        True, marks=pytest.mark.skipif(not keytree_kernel.available(), reason="system: the kernel was not compiled")
    ),
    False,
]

FILL = """
import sys, numpy as np
from nephila.frontier.seen.keytree import KeyTree
kernel, payload, many = sys.argv[1] == "True", sys.argv[2] == "True", int(sys.argv[3])
def status(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
def fill(tree, many):
    dice = np.random.default_rng(many)
    for at in range(0, many, 10_000):
        keys = dice.integers(0, 1 << 64, 10_000, dtype=np.uint64)
        tree.add_many(keys, 3) if payload else tree.add_many(keys)
"""
MEASURE = (
    FILL
    + """
fill(KeyTree(payload, kernel=kernel), 20_000)  # what the first use of all takes
empty, tree = status("VmRSS"), KeyTree(payload, kernel=kernel)
fill(tree, many)
print(len(tree), status("VmRSS") - empty, status("VmHWM") - empty)
"""
)
EXHAUST = (
    FILL
    + """
import resource
keys, tree, start = np.random.default_rng(1).integers(0, 1 << 64, (200, 10_000), dtype=np.uint64), KeyTree(kernel=kernel), 0
fill(KeyTree(payload, kernel=kernel), 20_000)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + 6_000_000, hard))
try:
    for start in range(200):
        tree.add_many(keys[start])
except MemoryError:
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    print(start > 20, len(tree) == start * 10_000)
    print(all(tree.contains_many(some).all() for some in keys[:start]), tree.contains_many(keys[start]).any())
    print(all(tree.add_many(some).all() for some in keys[start:]))
"""
)


def run(program: str, *words: object) -> list[str]:
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.skipif(sys.platform != "linux", reason="system: limits of address space")
def test_out_of_memory_the_set_is_as_before_the_call(kernel: bool) -> None:
    assert run(EXHAUST, kernel, False, 0) == ["True", "True", "True", "False", "True"]


@pytest.mark.long
@pytest.mark.parametrize("payload", [False, True])
@pytest.mark.parametrize("many", [1_000_000, 1_280_000, 2_000_000, 4_300_000, 10_000_000])
@pytest.mark.skipif(sys.platform != "linux", reason="system: resident memory is read from /proc")
def test_bytes_for_each_key(many: int, payload: bool) -> None:
    if not keytree_kernel.available():
        pytest.skip("system: the kernel was not compiled")
    count, resident, peak = map(int, run(MEASURE, True, payload, many))
    assert count == many
    assert resident / many < 9.5 + payload
    assert peak / resident < 1.5


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="system: resident memory is read from /proc")
def test_bytes_for_each_key_in_numpy() -> None:
    count, resident, peak = map(int, run(MEASURE, False, False, 5_000_000))
    assert count == 5_000_000
    assert resident / count < 9.5
    assert peak / resident < 1.5
