"""Replays in the background of a process that serves, with real workers and real time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import httpx2
import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.api import ApiOptions, Server, create_api
from holdfast.dead_letters import LetterFilter
from tests.api.clients import client_of

PATIENCE_S = 40
AT_ONCE = {"cause": "transient", "evidence": "it is back", "canary": 1, "rate": None}


def until(told: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + PATIENCE_S
    while not told():
        assert time.monotonic() < ends_at, "it never happened"
        time.sleep(0.05)


@pytest.fixture
def broken() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def app(database_url: str, broken: threading.Event) -> Iterator[Holdfast]:
    """An application with a worker that runs all the time."""
    pipeline = Pipeline("p")

    @pipeline.stage
    def convert(job, n: int) -> int:
        if broken.is_set():
            raise GiveUp("GATEWAY_DOWN", "no answer")
        return n

    with Holdfast(database_url, pipelines=[pipeline]) as made:
        worker = made.worker()
        running = threading.Thread(target=worker.run, kwargs={"handle_signals": False})
        running.start()
        yield made
        worker.request_stop()
        running.join(PATIENCE_S)


@contextmanager
def served(app: Holdfast) -> Iterator[httpx2.Client]:
    server = Server(create_api(app, options=ApiOptions(host="127.0.0.1")))
    server.start()
    with httpx2.Client(base_url=server.address) as client:
        yield client
    server.request_stop()
    assert server.wait(PATIENCE_S)


def dead(app: Holdfast, count: int, broken: threading.Event) -> None:
    for n in range(count):
        app.submit("p", {"n": n}, key=f"k-{n}")
    until(lambda: len(app.dead.find()) == count)
    broken.clear()


def test_a_replay_goes_on_by_itself_and_tells_how_far_it_is(app, broken):
    dead(app, 4, broken)

    with served(app) as client:
        made = client.post("/api/replays", json={"letters": {}, **AT_ONCE})
        where = made.headers["location"]
        until(lambda: client.get(where).json()["state"] == "done")

        assert client.get(where).json()["counts"]["succeeded"] == 4
    assert {view.standing for view in app.dead.find()} == {"verified"}


def test_the_next_process_that_serves_goes_on_with_it(app, broken):
    dead(app, 3, broken)
    with served(app) as client:
        client.post("/api/queues/default/pause")
        made = client.post("/api/replays", json={"letters": {}, **AT_ONCE})
        where = made.headers["location"]
        until(lambda: client.get(where).json()["counts"]["under_way"] == 1)

    with served(app) as client:
        client.post("/api/queues/default/resume")
        until(lambda: client.get(where).json()["state"] == "done")

        assert client.get(where).json()["counts"]["succeeded"] == 3


def test_one_that_was_mounted_and_never_started_goes_on_when_somebody_looks(app, broken):
    dead(app, 2, broken)
    begun = app.replays.start("r", LetterFilter(), by="ada", hand_over=True, **AT_ONCE)
    api = create_api(app, options=ApiOptions(host="127.0.0.1"))

    with closing(client_of(api)) as client:
        until(lambda: client.get(f"/api/replays/{begun.id}").json()["state"] == "done")
        assert client.get(f"/api/replays/{begun.id}").json()["counts"]["succeeded"] == 2

    api.state.replays.stop()
