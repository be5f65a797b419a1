"""What every frontier has to do, as tests: whole crawls of a web in memory under a clock that jumps.

A store's test file says how to make one and gets all of it:

    class TestMyStore(FrontierContract):
        def make_store(self, config): ...
        def reopen(self, config): ...
        def table(self, store, name): ...

The right values come from the rules a crawl follows (manners, depths, moments of a visit) and never from the code.
"""

from __future__ import annotations

from nephila.testing.contract.depths import Depths
from nephila.testing.contract.limits import Limits
from nephila.testing.contract.manners import Manners
from nephila.testing.contract.network import Network
from nephila.testing.contract.orders import Orders
from nephila.testing.contract.outcomes import Outcomes
from nephila.testing.contract.redirects import Redirects
from nephila.testing.contract.refusals import Refusals
from nephila.testing.contract.resumes import Resumes
from nephila.testing.contract.retries import Retries
from nephila.testing.contract.robots import Robots
from nephila.testing.contract.steering import Steering
from nephila.testing.contract.workers import Workers

__all__ = [
    "Depths",
    "FrontierContract",
    "Limits",
    "Manners",
    "Network",
    "Orders",
    "Outcomes",
    "Redirects",
    "Refusals",
    "Resumes",
    "Retries",
    "Robots",
    "Steering",
    "Workers",
]


class FrontierContract(
    Outcomes, Robots, Manners, Retries, Orders, Limits, Depths, Redirects, Refusals, Resumes, Network, Workers, Steering
):
    """All of it, for one store."""
