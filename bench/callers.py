"""Callers that submit in transactions of their own, as a program of its own process.

Started as `VERB OPTIONS` like the programs of `bench/systems`; it answers in the same way:

    transact  {url, callers}  ready, then for every line of standard input, which is
                              {transactions, wakes} as JSON
                              measured  began_ns and ended_ns of as many transactions of each caller
    ask       {url}           ready, then one submission and commit per line of standard input
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Literal

import psycopg

from bench.program import Tally, say
from bench.systems.holdfast import pipelines
from holdfast import Holdfast, Pipeline

LATER_S = 3600.0
"""By how much jobs are put off so that nobody is woken."""
Wakes = Literal["by holdfast", "in the transaction", "never"]
"""How workers are woken: by holdfast, by `pg_notify` in the caller's transaction, not at all."""


class Caller:
    """A connection, and transactions on it that each submit one job."""

    def __init__(self, app: Holdfast, pipeline: Pipeline, url: str) -> None:
        self.connection = psycopg.connect(url)
        self._app = app
        self._pipeline = pipeline

    def transact(self, n: int, *, wakes: Wakes = "by holdfast") -> None:
        delay = None if wakes == "by holdfast" else LATER_S
        with self.connection.transaction():
            self._app.submit(self._pipeline, {"n": n}, delay=delay, connection=self.connection)
            if wakes == "in the transaction":
                self.connection.execute("select pg_notify('holdfast_due', '')")

    def repeat(self, transactions: int, wakes: Wakes) -> None:
        for n in range(transactions):
            self.transact(n, wakes=wakes)


@contextmanager
def opened(url: str) -> Iterator[tuple[Holdfast, Pipeline]]:
    pipeline = pipelines(Tally(expected=0))["one"]
    with Holdfast(url, pipelines=[pipeline]) as app:
        yield app, pipeline


def transact(*, url: str, callers: int) -> None:
    """Run the transactions of all callers at once, each in a thread of its own."""
    with opened(url) as (app, pipeline), ExitStack() as stack:
        made = [Caller(app, pipeline, url) for _ in range(callers)]
        for caller in made:
            stack.enter_context(closing(caller.connection))
            caller.transact(0)
        say("ready")
        for line in sys.stdin:
            asked = json.loads(line)
            threads = [threading.Thread(target=each.repeat, kwargs=asked) for each in made]
            began_ns = time.monotonic_ns()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            say("measured", began_ns=began_ns, ended_ns=time.monotonic_ns())


def ask(*, url: str) -> None:
    with opened(url) as (app, pipeline):
        caller = Caller(app, pipeline, url)
        with closing(caller.connection):
            say("ready")
            while sys.stdin.readline():
                caller.transact(time.monotonic_ns())


VERBS: dict[str, Any] = {"transact": transact, "ask": ask}

if __name__ == "__main__":
    VERBS[sys.argv[1]](**json.loads(sys.argv[2]))
