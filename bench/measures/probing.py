"""Asks `bench.probe`, in a process of its own, for one thing."""

import sys
from typing import Any

from bench.environments import Command
from bench.process import Process

PROBE = Command((sys.executable, "-m", "bench.probe"), {})


def probed(verb: str, *, within_s: float, **options: Any) -> dict[str, Any]:
    with Process(PROBE, verb, options) as process:
        return process.expect("measured", within_s=within_s)
