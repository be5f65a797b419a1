"""/metrics: the numbers of the status for Prometheus, in its text format or as OpenMetrics, whichever is asked for.

Few series, and always the same ones: labels are states, outcomes, kinds, the ten most frequent reasons, and the origins of the five hosts that will
take longest. What was not counted because it takes too long is left out; a counter never falls back to 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from nephila import __version__

STATES = ("running", "paused", "finished", "limit", "interrupted", "parked", "offline", "no_seed", "disk")
HOSTS_MAX, REASONS_MAX = 5, 10
NAMES = {
    "nephila_build_info": "version of Nephila, as a label",
    "nephila_running": "1 while a crawl answers",
    "nephila_state": "1 for the state that the crawl is in (label state), 0 for the others",
    "nephila_urls_found": "addresses in scope met so far",
    "nephila_urls_queued": "addresses that wait",
    "nephila_requests_in_flight": "requests under way",
    "nephila_visits_total": "visits by outcome (label outcome)",
    "nephila_visits_not_kept_total": "visits by reason, of what was not kept (label reason; the ten most frequent)",
    "nephila_body_bytes_total": "bytes of bodies, as they came over the wire",
    "nephila_crawl_seconds_total": "seconds of crawling, all runs together",
    "nephila_pages_per_second": "pages kept per second, on the whole",
    "nephila_eta_seconds": "seconds until the queue is empty if nothing new is found; absent when it is not known",
    "nephila_forecast_seconds": "seconds until the end: low, likely, high (label bound); absent while too little is known",
    "nephila_limited_by": "share of the last minute in which this held the crawl up (label what)",
    "nephila_warnings": "what somebody should know about, by kind (label kind)",
    "nephila_offline": "1 while there is no network",
    "nephila_workers": "worker processes",
    "nephila_archive_files": "archive files written",
    "nephila_hosts_parked": "hosts that asked for a long wait",
    "nephila_proxies_resting": "proxies that do not work",
    "nephila_trapped": "addresses refused as traps, by the rules that the status shows",
    "nephila_host_queued": "addresses that wait, of the hosts that will take longest (label origin; at most five)",
    "nephila_host_delay_seconds": "their pause between requests",
    "nephila_host_failures": "their failures in a row",
}
"""Every metric with its meaning; docs/api.md has the same table."""


def exposed(status: dict[str, Any], accept: str) -> tuple[bytes, str]:
    """The answer to a request with this `Accept`, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Numbers(status))
    encoder, kind = choose_encoder(accept)
    return encoder(registry), kind


class _Numbers(Collector):
    def __init__(self, status: dict[str, Any]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        s, unknown = self._status, set(self._status["unknown"])
        yield InfoMetricFamily("nephila_build", NAMES["nephila_build_info"], {"version": __version__})
        yield _gauge("nephila_running", s["running"])
        yield _labelled("nephila_state", "state", ((state, state == s["state"]) for state in STATES))
        if "found" not in unknown:
            yield _gauge("nephila_urls_found", s["found"])
        if "queued" not in unknown:
            yield _gauge("nephila_urls_queued", s["queued"])
        yield _gauge("nephila_requests_in_flight", s["in_flight"])
        if not unknown & {"outcomes", "robots"}:
            yield _counters("nephila_visits_total", "outcome", s["outcomes"].items())
            yield _counters("nephila_visits_not_kept_total", "reason", list(s["reasons"].items())[:REASONS_MAX])
            yield _counter("nephila_body_bytes_total", s["bytes"])
        yield _counter("nephila_crawl_seconds_total", s["seconds"])
        yield _gauge("nephila_pages_per_second", s["pages_per_second"])
        if s["eta_seconds"] is not None:
            yield _gauge("nephila_eta_seconds", s["eta_seconds"])
        if s["forecast"] is not None:
            bounds = ((bound, s["forecast"][f"{bound}_s"]) for bound in ("low", "likely", "high"))
            yield _labelled("nephila_forecast_seconds", "bound", bounds)
        yield _labelled("nephila_limited_by", "what", ((held["what"], held["share"]) for held in s["limited_by"]))
        kinds = Counter(warning["kind"] for warning in s["warnings"])
        yield _labelled("nephila_warnings", "kind", kinds.items())
        yield _gauge("nephila_offline", s["offline_since"] is not None)
        yield _gauge("nephila_workers", s["workers"])
        yield _gauge("nephila_archive_files", s["archive_files"])
        yield _gauge("nephila_hosts_parked", len(s["parked"]))
        yield _gauge("nephila_proxies_resting", sum(proxy["resting_since"] is not None for proxy in s["proxies"]))
        yield _gauge("nephila_trapped", sum(trap["count"] for trap in s["traps"]))
        hosts = s["hosts"][:HOSTS_MAX]
        yield _labelled("nephila_host_queued", "origin", ((host["origin"], host["queued"]) for host in hosts))
        yield _labelled("nephila_host_delay_seconds", "origin", ((host["origin"], host["delay"]) for host in hosts))
        yield _labelled("nephila_host_failures", "origin", ((host["origin"], host["failures"]) for host in hosts))


def _gauge(name: str, value: float) -> Metric:
    return GaugeMetricFamily(name, NAMES[name], value)


def _counter(name: str, value: float) -> Metric:
    return CounterMetricFamily(name, NAMES[name], value)


def _labelled(name: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, NAMES[name], labels=[label])
    for word, value in values:
        family.add_metric([word], value)
    return family


def _counters(name: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = CounterMetricFamily(name, NAMES[name], labels=[label])
    for word, value in values:
        family.add_metric([word], value)
    return family
