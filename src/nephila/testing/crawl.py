"""`nephila crawl` with fault points: the same command line, and a process that may die at a chosen step (see `faults`).

    NEPHILA_FAULT=kill:front:17 python -m nephila.testing.crawl crawl http://127.0.0.1:8000/ -o out

The only way to get fault points is to start this module; `nephila` itself never looks at that variable.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import msgspec

from nephila.testing.faults import FaultPlan

ENGINE = f"{__name__ if __name__ != '__main__' else 'nephila.testing.crawl'}:build"
"""Who builds the engine in a worker, in the form that the crew hands on."""


def main() -> int:
    """Run one command. Returns the exit code."""
    from nephila import cli, job

    plan = FaultPlan.from_environment("front")
    job.crawl = functools.partial(job.crawl, step=plan.step, engine=ENGINE)
    return cli.main()


def build(packed: bytes, frontier: Any, slot: Any) -> tuple[Any, int]:
    """The job's own engine in a worker process, given the steps of this worker's plan."""
    from nephila.corridor import build_engine
    from nephila.plan import WorkerSpec
    from nephila.url.scope import ScopeSpec

    plan = FaultPlan.from_environment("worker")
    spec = msgspec.msgpack.decode(packed, type=WorkerSpec)
    engine = build_engine(spec, frontier, slot, step=plan.step)
    use = frontier.on_scope
    frontier.on_scope = lambda raw: use(msgspec.convert(raw, ScopeSpec))
    return engine, spec.config.connections


if __name__ == "__main__":
    sys.exit(main())
