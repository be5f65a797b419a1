"""What may help where no rule refuses an address: after a visit that failed, at a limit, or when nobody links to it.

Only what we decide ourselves is promised; the rest is said to be worth a try.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nephila.explain.catalogue import reason_name
from nephila.explain.change import Change, Values, as_options, would
from nephila.explain.model import Would
from nephila.explain.policy import PRIVATE, Case
from nephila.explain.record import Record
from nephila.url.parse import host_of, origin


def after(record: Record, case: Case, reason: str, *, chinese: bool = False) -> list[Would]:
    """What may help where the rules say yes and the visit ended otherwise. Nothing of it is certain but what we decide."""
    c, outcome = record.config, case.outcome
    name = reason_name(reason)
    if name == "type:":
        return [would(record, case, c, Change({"types": [*c.types, reason.partition(":")[2]]}), "", chinese)]
    if reason == PRIVATE:
        return [would(record, case, c, Change({"allow_private": True}), "", chinese)]
    changes = _MAY_HELP.get(name, lambda config, host: [])(c, host_of(case.url))
    if reason in ("login_required", "status.401"):
        said = (
            "--login URL=USER:PASSWORD"
            if reason == "login_required"
            else f"--auth {origin(case.url)}=basic:USER:PASSWORD"
        )
        options = f"{said} --retry {outcome}"
        return [
            Would({}, options, False, f"可以试试 {options}" if chinese else f"may be fetched with {options}", [outcome])
        ]
    if not changes and outcome in ("REFUSED", "UNREACHABLE", "UNREADABLE", "DENIED"):
        changes = [{}]
    return [_perhaps(record, values, [outcome], chinese) for values in changes]


_MAY_HELP: dict[str, Any] = {
    "too_many_redirects": lambda c, host: [{"redirects_max": 2 * c.redirects_max}],
    "read_time": lambda c, host: [{"read_seconds_max": 6 * c.read_seconds_max}],
    "read_memory": lambda c, host: [{"worker_memory_max": 4 * c.worker_memory_max}],
    "bomb": lambda c, host: [{"decode_ratio_max": 50 * c.decode_ratio_max}],
    "header_too_large": lambda c, host: [{"header_bytes_max": 8 * c.header_bytes_max}],
    "timeout.connect": lambda c, host: [{"connect_timeout_s": 4 * c.connect_timeout_s}],
    "timeout.headers": lambda c, host: [{"header_timeout_s": 4 * c.header_timeout_s}],
    **dict.fromkeys(
        (
            "tls.expired",
            "tls.not_yet_valid",
            "tls.self_signed",
            "tls.unknown_ca",
            "tls.wrong_host",
            "tls.revoked",
            "tls.weak",
            "tls.certificate",
            "tls.protocol",
        ),
        lambda c, host: [{"insecure": [*c.insecure, host.strip("[]")]}],
    ),
}
"""Reason → settings under which another try may end otherwise."""


def _perhaps(record: Record, values: Values, retry: list[str], chinese: bool, what: str = "fetched") -> Would:
    options = as_options(values, retry, record.config)
    return Would(values, options, False, f"可以试试 {options}" if chinese else f"may be {what} with {options}", retry)


def limits(record: Record, case: Case, *, chinese: bool = False) -> list[Would]:
    """What lets a queued address go on that a limit has kept from its turn."""
    c, meta = record.config, record.meta
    if meta.get("state") != "limit":
        return []
    tally = msgspec.json.decode(meta.get("tally", "{}"))
    used = {
        "max_pages": tally.get("outcomes", {}).get("OK", 0),
        "max_bytes": tally.get("bytes", 0),
        "max_time": float(meta.get("seconds", 0)),
    }
    over = [key for key, n in used.items() if 0 < getattr(c, key) <= n]
    over = over or ["site_pages" if c.site_pages else "site_hosts"]
    changes = [Change({key: type(getattr(c, key))(0)}) for key in over]
    return [would(record, case, c, one, "", chinese) for one in changes]


def begun(record: Record, case: Case, *, chinese: bool = False) -> list[Would]:
    """What brings in an address that the rules want and nobody links to."""
    c = record.config
    seeds = Change({"seeds": [*c.seeds, case.url]})
    certain = would(record, case._replace(seed=True), c, seeds, "", chinese)
    perhaps = [{key: True} for key in ("sitemaps", "guess_links") if not getattr(c, key)]
    return [certain, *(_perhaps(record, values, [], chinese, "found") for values in perhaps)]
