"""Where requests are answered: what may wait in a thread, the rest in the loop."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from typing import Annotated

import pytest
from fastapi import Depends
from pydantic import BaseModel, field_serializer

from holdfast.api import ApiOptions, create_api
from holdfast.api.access import Reader, guarded_router
from holdfast.api.server.threads import Threads, run_through
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from tests.api.clients import client_of
from tests.api.server.wire import PATIENCE_S, answered, connected, head, served

OPTIONS = ApiOptions(host="127.0.0.1")


def in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Told(BaseModel):
    """What an endpoint found out, and later what made JSON of it."""

    ran_in_loop: bool
    ran_in: int
    told_in: int = 0

    @field_serializer("told_in")
    def told(self, _value: object) -> int:
        return threading.get_ident()


def found_out() -> Told:
    return Told(ran_in_loop=in_loop(), ran_in=threading.get_ident())


async def from_afar() -> str:
    await asyncio.sleep(0.001)
    return "afar"


@pytest.fixture
def client(small_app):
    """A client of an API with some more routes."""
    router = guarded_router("things")

    @router.get("/plain")
    def plain(_who: Reader) -> Told:
        return found_out()

    @router.get("/awaited")
    async def awaited(_who: Reader) -> Told:
        return found_out()

    @router.get("/waiting")
    def waiting(_who: Reader, _from: Annotated[str, Depends(from_afar)]) -> Told:
        return found_out()

    @router.get("/stopping")
    def stopping(_who: Reader) -> Told:
        raise StopIteration("no more")

    api = create_api(small_app, options=OPTIONS)
    api.include_router(router)
    return client_of(api)


def test_a_plain_endpoint_runs_in_the_thread_that_makes_its_answer(client):
    told = client.get("/api/things/plain").json()

    assert not told["ran_in_loop"]
    assert told["ran_in"] == told["told_in"]


def test_an_awaited_endpoint_runs_in_the_loop(client):
    told = client.get("/api/things/awaited").json()

    assert told["ran_in_loop"]
    assert told["ran_in"] == told["told_in"]


def test_a_plain_endpoint_may_depend_on_what_waits_in_the_loop(client):
    told = client.get("/api/things/waiting").json()

    assert not told["ran_in_loop"]
    assert told["ran_in"] != told["told_in"]


def test_an_endpoint_that_stops_an_iteration_is_answered_for(client):
    assert client.get("/api/things/stopping").json()["code"] == "internal_error"


def test_a_body_that_comes_after_its_head_is_waited_for(steady_app):
    body = json.dumps({"pipeline": "p", "payload": {}}).encode()
    with served(create_api(steady_app, options=OPTIONS)) as server, connected(server) as connection:
        connection.sendall(
            head(
                "POST",
                "/api/jobs",
                Content_Length=str(len(body)),
                Content_Type="application/json",
                Connection="close",
            )
        )
        for part in (body[:5], body[5:]):
            sleep_s(0.05)
            connection.sendall(part)

        assert answered(connection).startswith(b"HTTP/1.1 201")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"Authorization": "Bearer hf_unknown"}, b"401"),
        ({"Authorization": "Bearer hf_unknown", "Expect": "100-continue"}, b"401"),
        ({"Content_Type": "text/plain"}, b"415"),
    ],
    ids=["unknown", "unknown that asks first", "no JSON"],
)
def test_a_body_that_is_refused_is_not_waited_for(steady_app, more, status):
    with served(create_api(steady_app, options=OPTIONS)) as server, connected(server) as connection:
        began_s = monotonic_s()
        connection.sendall(
            head(
                "POST",
                "/api/jobs",
                **{"Content_Length": "900", "Content_Type": "application/json"} | more,
                Connection="close",
            )
        )

        assert answered(connection).startswith(b"HTTP/1.1 " + status)
        assert monotonic_s() - began_s < OPTIONS.body_s / 2


def test_a_call_returns_what_the_function_does_and_raises_what_it_raises():
    threads = Threads()

    async def all_of_it():
        assert await threads.call(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await threads.call(divmod, 7, 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.call(next, iter(()))

    asyncio.run(all_of_it())


def test_one_call_after_the_other_takes_one_thread():
    threads = Threads()

    async def all_of_it():
        return {await threads.call(threading.get_ident) for _ in range(50)}

    assert len(asyncio.run(all_of_it())) == threads.running == 1


def test_a_call_inside_a_call_stays_in_its_thread():
    threads = Threads(most=1)

    def outer():
        return threading.get_ident(), run_through(threads.call(threading.get_ident))

    async def all_of_it():
        return await threads.call(outer)

    here, inside = asyncio.run(all_of_it())

    assert here == inside


def test_what_must_wait_for_a_loop_is_refused_in_a_thread():
    with pytest.raises(RuntimeError, match="waits for a loop"):
        run_through(asyncio.sleep(0))


def test_no_more_than_so_many_calls_run_at_a_time_and_each_has_its_turn():
    threads = Threads(most=3)
    guard = threading.Lock()
    under_way, most = 0, 0

    def counted(number):
        nonlocal under_way, most
        with guard:
            under_way += 1
            most = max(most, under_way)
        sleep_s(0.002)
        with guard:
            under_way -= 1
        return number

    async def all_of_it():
        return await asyncio.gather(*(threads.call(counted, number) for number in range(40)))

    assert asyncio.run(all_of_it()) == list(range(40))
    assert most == threads.running == 3


def test_calls_of_several_loops_are_answered_in_each():
    threads = Threads()

    async def some():
        return [await threads.call(int, number) for number in range(20)]

    answers = []
    others = [threading.Thread(target=lambda: answers.append(asyncio.run(some()))) for _ in "abc"]
    for other in others:
        other.start()
    for other in others:
        other.join(PATIENCE_S)

    assert answers == [list(range(20))] * 3


def test_threads_that_have_nothing_to_do_end_and_others_begin():
    threads = Threads(idle_s=0.02)
    until_s = monotonic_s() + PATIENCE_S

    asyncio.run(threads.call(int))
    while threads.running and monotonic_s() < until_s:
        sleep_s(0.01)

    assert threads.running == 0
    assert asyncio.run(threads.call(int, "7")) == 7


def test_a_call_knows_the_context_that_it_was_made_in():
    said = contextvars.ContextVar("said")
    threads = Threads()

    async def all_of_it():
        said.set("hello")
        return await threads.call(said.get)

    assert asyncio.run(all_of_it()) == "hello"


def test_whoever_is_cancelled_waits_for_the_end_of_the_call():
    threads = Threads()
    entered, release = threading.Event(), threading.Event()
    ended = []

    def slow():
        entered.set()
        release.wait(PATIENCE_S)
        ended.append("call")

    async def all_of_it():
        task = asyncio.create_task(threads.call(slow))
        await asyncio.to_thread(entered.wait, PATIENCE_S)
        task.cancel()
        _, waiting = await asyncio.wait([task], timeout=0.05)
        assert waiting
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        ended.append("task")

    asyncio.run(all_of_it())

    assert ended == ["call", "task"]
