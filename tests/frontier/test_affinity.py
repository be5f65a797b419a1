"""A host goes back to the worker that holds its connection, as long as nobody waits for that."""

from __future__ import annotations

from nephila.frontier.host import PASSED_MAX, Host, HostHeap


def heap(homes: list[int]) -> HostHeap:
    """Hosts 1, 2, … due at 1, 2, … with the given homes."""
    found = HostHeap()
    for i, home in enumerate(homes, 1):
        host = Host(i, f"http://{i}.test")
        host.home = home
        found.push(host, float(i))
    return found


def popped(heap: HostHeap, worker: int, now: float = 100.0) -> int | None:
    host = heap.pop_due(now, worker)
    assert host is None or isinstance(host, Host)
    return host.id if host else None


def test_a_worker_gets_the_host_whose_connection_it_has() -> None:
    hosts = heap([1, 2, 1, 2])
    assert [popped(hosts, worker) for worker in (2, 2, 1, 1)] == [2, 4, 1, 3]
    assert popped(hosts, 1) is None


def test_a_host_without_a_home_is_anybodys_and_keeps_its_place() -> None:
    assert popped(heap([0, 2]), 2) == 1


def test_with_nothing_else_to_do_it_takes_the_others_first_host() -> None:
    hosts = heap([1, 1])
    assert [popped(hosts, 2), popped(hosts, 2), popped(hosts, 2)] == [1, 2, None]


def test_only_hosts_that_are_due_count() -> None:
    assert popped(heap([1, 2]), 2, now=1.5) == 1


def test_the_search_is_short() -> None:
    assert popped(heap([1] * PASSED_MAX + [2]), 2) == 1


def test_hosts_passed_over_stay_in_the_heap_in_their_order() -> None:
    hosts = heap([1, 1, 2])
    assert popped(hosts, 2) == 3
    assert [popped(hosts, 1), popped(hosts, 1)] == [1, 2]


def test_a_host_that_left_the_heap_is_not_brought_back() -> None:
    hosts = HostHeap()
    gone, there = Host(1, "http://1.test"), Host(2, "http://2.test")
    gone.home = there.home = 1
    hosts.push(gone, 1.0)
    hosts.push(there, 2.0)
    hosts.remove(gone)
    assert [popped(hosts, 2), popped(hosts, 2)] == [2, None]
