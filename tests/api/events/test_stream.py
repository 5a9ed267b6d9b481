"""`/api/stream` over real sockets: what is told, to whom, from where on, and how it ends."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.api import ApiOptions, Server, create_api
from holdfast.api.events.hub import hub_of
from holdfast.core.values.role import Role
from holdfast.testing import run_inline
from tests.api.event_client import EventClient, waited

STREAMS = 50
GRACE_S = 60
"""How long the server waits for requests under way; streams must not make it wait."""
SOON_S = 20.0
"""Far less than that, though a busy machine takes longer than the moment it should be."""


@pytest.fixture
def streamed(database_url: str, pipeline: Pipeline) -> Iterator[Holdfast]:
    """The application `app`, by the store's own clock: streams are about real time."""
    with Holdfast(database_url, pipelines=[pipeline]) as made:
        yield made


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    """Starts servers, and stops them in the end."""
    servers: list[Server] = []

    def one(app: Holdfast, *, grace_s: int = 3, **options: object) -> Server:
        given = ApiOptions(**{"host": "127.0.0.1", **options})
        server = Server(create_api(app, options=given), options=given, grace_s=grace_s)
        server.start()
        servers.append(server)
        return server

    yield one
    for server in servers:
        server.request_stop()
    for server in servers:
        server.wait(10)


def status_and_problem(server: Server, path: str = "/api/stream", **headers: str):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    with closing(connection):
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_a_stream_tells_every_transition_as_it_happens(streamed, start) -> None:
    server = start(streamed)
    with EventClient(server.address) as client:
        job = streamed.submit("p", owner="ada")
        client.wait_for("queued")
        run_inline(streamed)
        client.wait_for("complete")
        failed = streamed.submit("p", delay=60)
        streamed.cancel(failed.id, by="ada", reason="not needed")
        streamed.pause_queue("default", by="ada")
        client.wait_for("cancelled", "queue")

    told = [event for event in client.events if event.data.get("job_id") == job.id]
    assert [event.name for event in told] == ["queued", "processing", "complete"]
    assert told[-1].data["state"] == "complete"
    assert told[-1].data["owner"] == "ada"
    assert told[-1].data["stage"] == "one"
    assert told[-1].data["meta"]["duration_ms"] >= 0
    assert all(event.id for event in client.events)


def test_no_proxy_may_keep_what_is_streamed(small_app, start) -> None:
    with EventClient(start(small_app).address) as client:
        client.wait(lambda it: it.retry_ms is not None)

        assert client.status == 200
        assert client.headers["content-type"].startswith("text/event-stream")
        assert client.headers["cache-control"] == "no-store"
        assert client.headers["x-accel-buffering"] == "no"
        assert client.last_id != ""


def test_what_happened_while_a_client_was_away_is_told_after_a_restart(
    streamed, start, pipeline, database_url
) -> None:
    server = start(streamed)
    with EventClient(server.address) as client:
        first = streamed.submit("p")
        client.wait_for("queued")
        seen = client.last_id
    server.request_stop()
    assert server.wait(10)

    run_inline(streamed)
    missed = [streamed.submit("p").id for _ in range(3)]
    with Holdfast(database_url, pipelines=[pipeline]) as again:
        other = start(again)
        with EventClient(other.address, last_id=seen) as client:
            client.wait_for("complete", "queued", "queued", "queued")
            live = again.submit("p")
            client.wait(lambda it: live.id in [event.data.get("job_id") for event in it.events])

    queued = [event.data["job_id"] for event in client.events if event.name == "queued"]
    complete = [event.data["job_id"] for event in client.events if event.name == "complete"]
    assert queued == [*missed, live.id]
    assert complete == [first.id]
    assert "gap" not in client.names


def test_a_client_that_comes_back_after_each_event_is_told_each_once(streamed, start) -> None:
    server = start(streamed)
    with EventClient(server.address) as client:
        client.wait(lambda it: it.last_id != "")
        seen = client.last_id
    heard: list[str] = []
    for _ in range(4):
        job = streamed.submit("p", delay=60)
        with EventClient(server.address, last_id=seen) as client:
            client.wait_for("queued")
            seen = client.last_id
        heard += [event.data["job_id"] for event in client.events]
        assert heard[-1] == job.id

    assert len(heard) == len(set(heard)) == 4


@pytest.mark.parametrize(
    ("last_id", "reason"),
    [("nonsense", "unknown_id"), ("WzEsWyIiLDEsMiwzLDQsNV1d", "too_old")],
)
def test_who_comes_with_an_id_that_leads_nowhere_is_told_of_the_gap(
    small_app, start, last_id, reason
) -> None:
    server = start(small_app)
    with EventClient(server.address, last_id=last_id) as client:
        client.wait_for("gap")
        job = small_app.submit("p")
        client.wait_for("queued")

    assert client.events[0].data["reason"] == reason
    assert client.events[0].id != last_id
    assert client.events[1].data["job_id"] == job.id


def test_the_id_to_go_on_from_may_stand_in_the_address(small_app, start) -> None:
    server = start(small_app)
    cursor = small_app.tail().cursor
    job = small_app.submit("p")

    with EventClient(server.address, f"/api/stream?since={cursor}") as client:
        client.wait_for("queued")

    assert client.events[0].data["job_id"] == job.id


def test_nothing_in_the_address_can_forge_an_event(small_app, start) -> None:
    server = start(small_app)
    with EventClient(server.address, "/api/stream?since=x%0Aevent:%20bye%0Adata:%20%7B%7D") as it:
        it.wait_for("gap")

        assert it.names == ["gap"]


def test_a_stream_may_be_narrowed(small_app, start) -> None:
    server = start(small_app)
    mine = small_app.submit("p", delay=60)
    with (
        EventClient(server.address, f"/api/stream?job={mine.id}") as of_job,
        EventClient(server.address, "/api/stream?pipeline=other") as of_other,
        EventClient(server.address, "/api/stream?event=cancelled&event=failed") as of_ends,
    ):
        other = small_app.submit("p", delay=60)
        small_app.cancel(other.id, by="ada")
        small_app.cancel(mine.id, by="ada")
        of_job.wait_for("cancelled")
        of_ends.wait_for("cancelled", "cancelled")

        assert {event.data["job_id"] for event in of_job.events} == {mine.id}
        assert of_ends.names == ["cancelled", "cancelled"]
        assert of_other.names == []


def test_another_owners_events_are_never_seen(streamed, start) -> None:
    _, of_ada = streamed.tokens.create("ada", role=Role.READER, owner="ada", by="test")
    _, of_all = streamed.tokens.create("all", role=Role.READER, by="test")
    server = start(streamed)
    cursor = streamed.tail().cursor
    theirs = [streamed.submit("p", owner=owner).id for owner in ("bob", "", "Ada", "ada ")]
    hers = streamed.submit("p", owner="ada")
    run_inline(streamed)

    with (
        EventClient(server.address, token=of_ada, last_id=cursor) as resumed,
        EventClient(server.address, token=of_ada) as live,
        EventClient(server.address, f"/api/stream?job={theirs[0]}", token=of_ada) as narrowed,
        EventClient(server.address, token=of_all, last_id=cursor) as unscoped,
    ):
        streamed.submit("p", owner="bob")
        streamed.pause_queue("default", by="bob")
        after = streamed.submit("p", owner="ada")
        for client in (resumed, live, unscoped):
            client.wait(lambda it: after.id in [event.data.get("job_id") for event in it.events])

        assert {event.data["job_id"] for event in resumed.events} == {hers.id, after.id}
        assert {event.data["job_id"] for event in live.events} == {after.id}
        assert narrowed.events == []
        assert {event.data.get("job_id") for event in unscoped.events} > {*theirs, hers.id}
        assert "queue" in unscoped.names


def test_on_this_machine_the_operators_stream_is_another_than_an_owners(streamed, start) -> None:
    server = start(streamed, walk_ins=True)

    with (
        EventClient(server.address) as somebody,
        EventClient(server.address, "/api/stream/all") as operator,
    ):
        theirs = streamed.submit("p", owner="walk-in-1")
        operator.wait_for("queued")
        mine = streamed.submit("p", owner=owner_of(somebody))
        somebody.wait_for("queued")

        assert {event.data["job_id"] for event in somebody.events} == {mine.id}
        assert {event.data["job_id"] for event in operator.events} >= {theirs.id}


def owner_of(client: EventClient) -> str:
    """The owner that the cookie of an answer makes of whoever asked."""
    return "walk-in-" + client.headers["set-cookie"].partition("=")[2].partition(".")[0]


def test_a_stream_takes_credentials(small_app, start) -> None:
    small_app.tokens.create("somebody", role=Role.READER, by="test")
    server = start(small_app)

    assert status_and_problem(server)[0] == 401
    assert status_and_problem(server, Authorization="Bearer hf_wrong")[0] == 401


def test_fifty_streams_are_fed_by_one_look_at_the_store(streamed, start) -> None:
    server = start(streamed)
    clients = [EventClient(server.address) for _ in range(STREAMS)]
    jobs = [streamed.submit("p").id for _ in range(10)]
    run_inline(streamed)
    try:
        for client in clients:
            client.wait(lambda it: it.names.count("complete") == len(jobs))

        for client in clients:
            queued = [event.data["job_id"] for event in client.events if event.name == "queued"]
            assert queued == jobs
    finally:
        for client in clients:
            client.close()


def test_nothing_is_read_while_nobody_listens(small_app, start) -> None:
    server = start(small_app)
    api = server._asgi
    with EventClient(server.address) as client:
        client.wait(lambda it: it.last_id != "")
        assert hub_of(api).reads
        assert hub_of(api).open_streams == 1

    assert waited(lambda: hub_of(api).open_streams == 0)
    assert waited(lambda: not hub_of(api).reads)
    with EventClient(server.address) as client:
        job = small_app.submit("p")
        client.wait_for("queued")
        assert client.events[0].data["job_id"] == job.id


def test_one_principal_may_open_so_many_streams_and_others_still_may(small_app, start) -> None:
    _, first = small_app.tokens.create("first", role=Role.READER, by="test")
    _, second = small_app.tokens.create("second", role=Role.READER, by="test")
    server = start(small_app, max_streams=2)
    with (
        EventClient(server.address, token=first),
        EventClient(server.address, token=first) as leaving,
        EventClient(server.address, token=second) as other,
    ):
        status, problem = status_and_problem(server, Authorization=f"Bearer {first}")
        assert (status, problem["code"]) == (429, "too_many_streams")
        assert "close some" in problem["detail"]
        assert other.status == 200
        leaving.close()

        def admitted() -> bool:
            with EventClient(server.address, token=first) as again:
                return again.status == 200

        assert waited(admitted)


def test_open_streams_say_goodbye_and_do_not_hold_the_shutdown_up(streamed, start) -> None:
    server = start(streamed, grace_s=GRACE_S)
    clients = [EventClient(server.address) for _ in range(10)]
    for client in clients:
        client.wait(lambda it: it.last_id != "")

    server.request_stop()
    assert server.wait(SOON_S)

    for client in clients:
        client.wait(lambda it: it.ended)
        assert client.names[-1] == "bye"
        assert client.events[-1].data == {"reason": "shutdown"}
        client.close()


def test_a_reader_who_does_not_read_holds_no_shutdown_up_and_nobody_else(small_app, start) -> None:
    server = start(small_app)
    stuck = socket.create_connection((server.host, server.port))
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    stuck.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    with EventClient(server.address) as client:
        assert waited(lambda: hub_of(server._asgi).open_streams == 2)
        jobs = [small_app.submit("p", delay=60).id for _ in range(50)]
        for job_id in jobs:
            small_app.cancel(job_id, by="ada", reason="x" * 1000)
        client.wait(lambda it: it.names.count("cancelled") == len(jobs))

        began_s = time.monotonic()
        server.request_stop()
        assert server.wait(15)

    assert time.monotonic() - began_s < 10
    stuck.close()
