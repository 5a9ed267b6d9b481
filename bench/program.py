"""The program side of a benchmark: what every Python system under test runs.

A system is one program that the harness starts once per step, as `VERB OPTIONS` with the options
as JSON. It answers on standard output with one JSON object per line, each with an `event`:

    describe  {}                           described  name, version, workloads, settings, and the
                                           SQL `unfinished` and `finished` that counts jobs,
                                           as text or by URL scheme
    prepare   {url}                        prepared   the schema is installed
    submit    {url, shape, jobs, per_call} submitted  seconds
    work      {url, shape, jobs}           ran        first_ns, last_ns (handlers, this far)
    answer    {url}                        started    waited_ns, for every job that starts
    ask       {url}                        ready, then one submission per line of standard input

`work` and `answer` run a worker until standard input closes, then say `stopped` with the number of
handler runs. The clock is the machine's monotonic one, which all processes share.

Only the standard library is imported here: peers run this in an environment of their own.
"""

import asyncio
import inspect
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

WARM_UP_SUBMISSIONS = 20
"""Untimed submissions before timed ones, so that no system pays for preparing its statements."""


class Submitter(Protocol):
    """Submits jobs whose payload is `{"n": n}`; both methods may be coroutine functions."""

    def payload(self, n: int) -> Any: ...
    def one(self, payload: Any) -> Any: ...
    def many(self, payloads: list[Any]) -> Any: ...


class System(Protocol):
    """What a Python program of `bench/systems` gives to `main`; all may be asynchronous."""

    def describe(self) -> dict[str, Any]: ...
    def prepare(self, url: str) -> Any: ...
    def submitter(self, url: str, shape: str) -> AbstractContextManager[Submitter]: ...
    def work(self, url: str, shape: str, tally: "Tally") -> Any: ...


def say(event: str, **facts: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


class Tally:
    """Counts handler runs and tells the harness when the last expected one has run."""

    def __init__(self, *, expected: int | None) -> None:
        self._runs = itertools.count(1)
        self._expected = expected
        self._first_ns = 0
        self.runs = 0
        self.note: Callable[[int], None] = self._answer if expected is None else self._count

    def begin(self) -> None:
        """Called by the first of several stages; a single-stage handler need not call it."""
        if not self._first_ns:
            self._first_ns = time.monotonic_ns()

    def _count(self, _n: int) -> None:
        """Called by the only, or the last, stage."""
        if not self._first_ns:
            self._first_ns = time.monotonic_ns()
        # next() is atomic, so handlers on threads need no lock.
        runs = next(self._runs)
        if runs >= self._expected:
            self.runs = max(runs, self.runs)
            if runs == self._expected:
                say("ran", first_ns=self._first_ns, last_ns=time.monotonic_ns())

    def _answer(self, n: int) -> None:
        """Called when the payload is the moment of submission."""
        waited_ns = time.monotonic_ns() - n
        self.runs = next(self._runs)
        say("started", waited_ns=waited_ns)

    @staticmethod
    def when_told_to_stop(callback: Callable[[], None]) -> None:
        """Call back from a thread once the harness closes standard input."""

        def wait() -> None:
            sys.stdin.read()
            callback()

        threading.Thread(target=wait, daemon=True).start()

    @classmethod
    async def told_to_stop(cls) -> None:
        """Wait until the harness closes standard input."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        cls.when_told_to_stop(lambda: loop.call_soon_threadsafe(stop.set))
        await stop.wait()


def main(system: System, *, run_async: Callable[..., Any] = asyncio.run) -> None:
    verb, options = sys.argv[1], json.loads(sys.argv[2])
    step = VERBS[verb](system, **options)
    if inspect.isawaitable(step):
        run_async(_awaited(step))


async def _awaited(step: Any) -> None:
    await step


def _describe(system: System) -> None:
    say("described", **system.describe())


def _prepare(system: System, *, url: str) -> Any:
    if not inspect.iscoroutinefunction(system.prepare):
        system.prepare(url)
        return say("prepared")

    async def prepare() -> None:
        await system.prepare(url)
        say("prepared")

    return prepare()


def _submit(system: System, *, url: str, shape: str, jobs: int, per_call: int) -> Any:
    opened = system.submitter(url, shape)
    if hasattr(opened, "__aenter__"):
        return _submit_async(opened, jobs=jobs, per_call=per_call)
    with opened as submitter:
        payloads = [submitter.payload(n) for n in range(jobs)]
        if per_call == 1:
            for n in range(WARM_UP_SUBMISSIONS):
                submitter.one(submitter.payload(n))
            started_ns = time.monotonic_ns()
            for payload in payloads:
                submitter.one(payload)
        else:
            started_ns = time.monotonic_ns()
            for batch in _batches(payloads, per_call):
                submitter.many(batch)
        elapsed_ns = time.monotonic_ns() - started_ns
    return say("submitted", seconds=elapsed_ns / 1e9)


async def _submit_async(opened: Any, *, jobs: int, per_call: int) -> None:
    async with opened as submitter:
        payloads = [submitter.payload(n) for n in range(jobs)]
        if per_call == 1:
            for n in range(WARM_UP_SUBMISSIONS):
                await submitter.one(submitter.payload(n))
            started_ns = time.monotonic_ns()
            for payload in payloads:
                await submitter.one(payload)
        else:
            started_ns = time.monotonic_ns()
            for batch in _batches(payloads, per_call):
                await submitter.many(batch)
        elapsed_ns = time.monotonic_ns() - started_ns
    say("submitted", seconds=elapsed_ns / 1e9)


def _batches(payloads: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(payloads), size):
        yield payloads[start : start + size]


def _work(system: System, *, url: str, shape: str, jobs: int | None) -> Any:
    tally = Tally(expected=jobs)
    if not inspect.iscoroutinefunction(system.work):
        system.work(url, shape, tally)
        return say("stopped", runs=tally.runs)

    async def work() -> None:
        await system.work(url, shape, tally)
        say("stopped", runs=tally.runs)

    return work()


def _answer(system: System, *, url: str) -> Any:
    return _work(system, url=url, shape="one", jobs=None)


def _ask(system: System, *, url: str) -> Any:
    opened = system.submitter(url, "one")
    if hasattr(opened, "__aenter__"):
        return _ask_async(opened)
    with opened as submitter:
        say("ready")
        while sys.stdin.readline():
            submitter.one(submitter.payload(time.monotonic_ns()))
    return None


async def _ask_async(opened: Any) -> None:
    async with opened as submitter:
        say("ready")
        while await asyncio.to_thread(sys.stdin.readline):
            await submitter.one(submitter.payload(time.monotonic_ns()))


VERBS: dict[str, Callable[..., Any]] = {
    "describe": _describe,
    "prepare": _prepare,
    "submit": _submit,
    "work": _work,
    "answer": _answer,
    "ask": _ask,
}
