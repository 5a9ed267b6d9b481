"""Whatever a handler raises, the job ends with a whole dead letter, and its worker goes on."""

import asyncio
import json
import time

import pytest

from holdfast import JobState, Pipeline, Retry
from holdfast.secrecy import keep_secret
from holdfast.testing import run_inline

SECRET = "Ue2-in-an-odd-exception-8Sk"


class Mute(Exception):
    def __str__(self):
        raise RuntimeError(SECRET)

    __repr__ = __str__


class Recursive(Exception):
    def __str__(self):
        return str(self)


class NoText(Exception):
    def __str__(self):
        return 7  # noqa: PLE0307 - so it goes


class NotPickled(Exception):
    def __init__(self, *, lock):
        super().__init__(f"{lock} {SECRET}")

    def __reduce__(self):
        raise TypeError(SECRET)


class Liar(Exception):
    """Says something else each time, and once too often."""

    def __init__(self):
        self.asked = 0

    def __str__(self):
        self.asked += 1
        return f"{SECRET} {self.asked}" * 1_000


class Exploding(type):
    def __getattribute__(cls, name):
        if name in {"__module__", "__qualname__"}:
            raise RuntimeError(SECRET)
        return super().__getattribute__(name)


class OfExploding(Exception, metaclass=Exploding):
    pass


def cyclic():
    first, second = ValueError(f"first {SECRET}"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def deep_chain():
    error = None
    for number in range(10_000):
        outer = ValueError(f"{number} {SECRET}")
        outer.__cause__ = error
        error = outer
    return error


def deep_group():
    error = ValueError(SECRET)
    for _ in range(500):
        error = ExceptionGroup(f"group {SECRET}", [error])
    return error


def deep_argument():
    nested = [SECRET]
    for _ in range(900):
        nested = [nested]
    return ValueError(nested)


def circular_argument():
    circle = {"password": SECRET}
    circle["self"] = circle
    return ValueError(circle)


ODD = {
    "mute": Mute,
    "recursive": Recursive,
    "no text": NoText,
    "not pickled": lambda: NotPickled(lock=1),
    "liar": Liar,
    "nameless": OfExploding,
    "ten megabytes": lambda: ValueError(f"{SECRET} " + "password=hunter2 " * 600_000),
    "ten megabytes without a break": lambda: ValueError(SECRET + "A" * 10_000_000),
    "cyclic causes": cyclic,
    "ten thousand causes": deep_chain,
    "groups in groups": deep_group,
    "wide group": lambda: ExceptionGroup("wide", [ValueError(SECRET)] * 5_000),
    "deep argument": deep_argument,
    "circular argument": circular_argument,
    "control characters": lambda: ValueError(f"a\0b\x1b[2J\ud800 {SECRET}"),
    "empty": ValueError,
    "bytes": lambda: ValueError(SECRET.encode()),
    "half a marker": lambda: ValueError("x" * 1_990 + "[redacted:" + SECRET),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_exception_leaves_a_whole_dead_letter(name, open_app):
    keep_secret([SECRET])
    pipeline = Pipeline("odd", retry=Retry(attempts=1))

    @pipeline.stage
    def stumble(job):
        error = ODD[name]()
        raise error

    @pipeline.stage
    def after(job):
        return 1

    app = open_app(pipeline)
    job = app.submit(pipeline)
    begun = time.process_time()
    run_inline(app, until=job)

    assert time.process_time() - begun < 5
    view = job.get()
    assert view.state is JobState.FAILED
    error = view.error
    assert error["error_class"] == "BUG"
    assert error["message"]
    assert error["exception_type"]
    assert "test_odd_exceptions.py" in error["stack"]
    letter = app.dead.show(job.id)
    told = json.dumps(
        [error, [line.to_document() for line in app.history(job.id)], letter.to_document()],
        default=str,
    )
    assert SECRET[:8] not in told
    assert "hunter2" not in told
    assert app.verify() == []


def test_a_failing_redactor_shows_a_marker_and_keeps_the_facts(open_app):
    """A text that asks for too much work is not shown, but the job still says what it died of."""
    pipeline = Pipeline("odd", retry=Retry(attempts=1))

    @pipeline.stage
    def stumble(job):
        raise TimeoutError("pwd=a " * 40_000)

    app = open_app(pipeline)
    job = app.submit(pipeline)
    run_inline(app, until=job)

    error = job.get().error
    assert (error["error_class"], error["category"]) == ("NETWORK_TIMEOUT", "TRANSIENT")
    assert "pwd=a " not in error["message"]
    assert "[redacted:" in error["message"]


async def inner_task_was_cancelled():
    inner = asyncio.create_task(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(inner.cancel)
    await inner


async def exits():
    raise SystemExit(3)


@pytest.mark.parametrize("stop", [inner_task_was_cancelled, exits])
def test_a_handler_that_stops_itself_uses_up_its_budget(stop, open_app):
    pipeline = Pipeline("odd", retry=Retry(attempts=2, base=1, jitter="none"))
    runs = []

    @pipeline.stage
    async def stops(job):
        runs.append(job.attempt)
        await stop()

    app = open_app(pipeline)
    job = app.submit(pipeline)
    run_inline(app, until=job, advance=True)

    assert runs == [1, 2]
    assert job.get().error["error_class"] == "HANDLER_STOPPED"
    assert [view.letter.error_class for view in app.dead.find()] == ["HANDLER_STOPPED"]
