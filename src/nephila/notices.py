"""What a running crawl tells its user besides its numbers: sentences for what changes what they should expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nephila.config import Config
from nephila.types import Request
from nephila.url.guard import is_private
from nephila.url.parse import host_of

DOMAINS_SAID = 20


def of(event: str, fields: Mapping[str, Any]) -> str:
    """The sentence of an event of the log; "" for those that nobody has to hear of."""
    return SENTENCES.get(event, "").format(**fields)


SENTENCES = {
    "scope.widened": "the seed {seed} redirected to {target}: its host is in scope too",
    "seed.elsewhere": "the seed {seed} redirects to {target}, which is outside the scope (see --scope)",
    "seed.http": "nothing answers at {origin} ({reason}): trying http",
    "site.hosts": "{hosts} hosts of {site} are asked; {origin} and others wait (see --site-hosts)",
    "trap.suspected": "{pages} addresses like {origin}{form} say nothing new: the rest is refused (see --traps)",
    "host.parked": "{origin} is parked: {why}",
    "archive.reread": "{text}",
    "hosts.paused": "{queued} URLs wait for hosts that are paused, most for {origin}: `nephila host DIR HOST resume` lets them go on",
    "network.lost": "no network: waiting, nothing is counted as failed",
    "network.back": "the network is back",
    "proxy.none": "no proxy works ({proxy}: {reason}): waiting, nothing is counted as failed",
    "proxy.back": "the proxy {proxy} works again",
    "host.unreachable": "{origin} does not answer any more: its URLs end as UNREACHABLE",
    "tls.unverified": "{origin} is read although its certificate does not hold ({reason})",
    "robots.unreachable": "{origin}/robots.txt cannot be read ({reason}): its URLs are not fetched",
    "login.failed": "the login at {url} did not work: {reason}",
    "login.given_up": "the login at {url} is given up ({reason}): the pages of its site wait; carry on with another --login",
    "store.failed": "{file} is not in the store ({reason})",
    "archive.damaged": "{file} does not read back as written: {visits} visits are queued again",
}


def contact(config: Config, seeds: Iterable[Request]) -> str:
    """A request to say who crawls; "" when it is said, or when no public host is asked."""
    public = not all(is_private(host_of(request.url)) for request in seeds)
    if not public or config.contact or config.user_agent:
        return ""
    return "please say who crawls: --contact you@example.org (or your page) becomes part of the User-Agent"


def domains(met: Sequence[str]) -> str:
    """One name may be many owners' (sina.com, sina.net): the user sees where the crawl went."""
    more = f" and {len(met) - DOMAINS_SAID} more" if len(met) > DOMAINS_SAID else ""
    said = f"{', '.join(met[:DOMAINS_SAID])}{more}"
    return f"--scope name took in {len(met)} domains, which need not be one owner's: {said}"
