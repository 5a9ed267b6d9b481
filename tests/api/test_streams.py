"""Streams of systems over real sockets: the news of one job, in a system's own words."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from holdfast import Holdfast, Pipeline
from holdfast.api import ApiOptions, Server, create_api
from holdfast.api.access import Reader, guarded_router
from holdfast.api.events.hub import hub_of
from holdfast.api.streams import END, StreamEvent, stream_of
from holdfast.core.values.role import Role
from holdfast.errors import StoreUnavailable
from holdfast.testing import run_inline
from tests.api.event_client import EventClient, waited


class Parcel:
    """What a system says of a parcel, and how often it was asked."""

    def __init__(self, app: Holdfast) -> None:
        self.app = app
        self.rendered: list[StreamEvent | None] = []
        self.options: dict[str, Any] = {}
        self.fails: list[Exception] = []
        self.api: Any = None

    def state(self, job_id: str) -> list[Any]:
        view = self.app.job(job_id)
        told = (f"parcel.{view.state}", {"parcel": job_id}, f"{job_id}:{view.job.revision}")
        return [told, END] if view.state in {"complete", "cancelled"} else [told]

    def stream(self, request: Request, job_id: str, who: Any) -> StreamingResponse:
        def render(event: StreamEvent | None) -> list[Any]:
            self.rendered.append(event)
            if self.fails:
                raise self.fails.pop()
            return self.state(job_id)

        return stream_of(
            request,
            self.app,
            job_id=job_id,
            render=render,
            first=lambda: self.state(job_id),
            who=who,
            **self.options,
        )


@pytest.fixture
def parcel(database_url: str, pipeline: Pipeline) -> Iterator[Parcel]:
    with Holdfast(database_url, pipelines=[pipeline]) as app:
        yield Parcel(app)


@pytest.fixture
def start(parcel: Parcel) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def one(**options: object) -> Server:
        given = ApiOptions(**{"host": "127.0.0.1", **options})
        api = create_api(parcel.app, options=given)
        routes = guarded_router("parcels")

        @routes.get("/{parcel_id}/events")
        async def events(parcel_id: str, request: Request, who: Reader) -> Any:
            return parcel.stream(request, parcel_id, who)

        @routes.get("/{parcel_id}/plain", response_model=None)
        def plain(parcel_id: str, request: Request, who: Reader) -> Any:
            return parcel.stream(request, parcel_id, who)

        api.include_router(routes)
        parcel.api = api
        server = Server(api, options=given, grace_s=3)
        server.start()
        servers.append(server)
        return server

    yield one
    for server in servers:
        server.request_stop()
    for server in servers:
        server.wait(10)


def path_of(job_id: str, kind: str = "events") -> str:
    return f"/api/parcels/{job_id}/{kind}"


@pytest.mark.parametrize("kind", ["events", "plain"])
def test_the_present_is_sent_first_then_every_news_until_the_end(parcel, start, kind) -> None:
    job = parcel.app.submit("p")
    with EventClient(start().address, path_of(job.id, kind)) as client:
        client.wait_for("parcel.queued")
        run_inline(parcel.app)
        client.wait_for("parcel.complete")
        assert waited(lambda: client.ended)

    assert client.headers["content-type"].startswith("text/event-stream")
    assert client.headers["x-accel-buffering"] == "no"
    assert client.retry_ms == 5_000
    last = client.events[-1]
    assert (last.name, last.data) == ("parcel.complete", {"parcel": job.id})
    assert last.id.startswith(job.id)


def test_a_job_that_has_ended_is_told_and_the_stream_ends(parcel, start) -> None:
    job = parcel.app.submit("p")
    run_inline(parcel.app)
    server = start()
    with EventClient(server.address, path_of(job.id)) as client:
        assert waited(lambda: client.ended)

    assert [event.name for event in client.events] == ["parcel.complete"]
    assert parcel.rendered == []


def test_what_other_jobs_do_is_no_news(parcel, start) -> None:
    job, other = parcel.app.submit("p", delay=3600), parcel.app.submit("p")
    with EventClient(start().address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        run_inline(parcel.app)
        parcel.app.cancel(job.id, by="ann")
        client.wait_for("parcel.cancelled")

    assert other.get().state == "complete"
    assert {event.job_id for event in parcel.rendered if event} == {job.id}


def test_what_another_process_does_is_news(parcel, start, database_url) -> None:
    job = parcel.app.submit("p", delay=3600)
    with EventClient(start().address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        with Holdfast(database_url) as other:
            other.cancel(job.id, by="ann")
        client.wait_for("parcel.cancelled")


def test_pings_without_an_id_are_sent_and_a_revoked_token_ends_the_stream(parcel, start) -> None:
    parcel.options = {"heartbeat_s": 0.1}
    token, secret = parcel.app.tokens.create("ann", role=Role.READER, by="test")
    job = parcel.app.submit("p", delay=3600)
    with EventClient(start().address, path_of(job.id), token=secret) as client:
        client.wait_for("ping")
        known = client.last_id
        client.wait_for("ping")
        assert client.last_id == known
        parcel.app.tokens.revoke(token.id, by="test")
        assert waited(lambda: client.ended)

    assert {event.name for event in client.events} == {"parcel.queued", "ping"}


def test_a_stream_without_news_ends_after_a_while(parcel, start) -> None:
    parcel.options = {"heartbeat_s": 0.1, "idle_s": 0.5}
    job = parcel.app.submit("p", delay=3600)
    began = time.monotonic()
    with EventClient(start().address, path_of(job.id)) as client:
        assert waited(lambda: client.ended)

    assert time.monotonic() - began >= 0.5
    assert {event.name for event in client.events} == {"parcel.queued", "ping"}


def test_a_stream_may_look_for_news_that_no_event_brings(parcel, start) -> None:
    parcel.options = {"poll_s": 0.1}
    job = parcel.app.submit("p", delay=3600)
    with EventClient(start().address, path_of(job.id)) as client:
        assert waited(lambda: None in parcel.rendered)
        assert waited(lambda: len(client.events) > 1)


def test_a_store_that_is_away_for_a_moment_costs_no_news(parcel, start) -> None:
    job = parcel.app.submit("p", delay=3600)
    with EventClient(start().address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        parcel.fails = [StoreUnavailable("db", reason="gone")]
        parcel.app.cancel(job.id, by="ann")
        client.wait_for("parcel.cancelled")


def test_a_mistake_in_rendering_ends_the_stream_and_is_logged(parcel, start, caplog) -> None:
    job = parcel.app.submit("p", delay=3600)
    with EventClient(start().address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        parcel.fails = [KeyError("typo")]
        parcel.app.cancel(job.id, by="ann")
        assert waited(lambda: client.ended)

    assert "cannot be told" in caplog.text


def test_an_owner_has_so_many_streams_and_the_rest_is_refused(parcel, start) -> None:
    job = parcel.app.submit("p", delay=3600)
    server = start(max_streams=1)
    with EventClient(server.address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
        with closing(connection):
            connection.request("GET", path_of(job.id))
            assert connection.getresponse().status == 429


def test_nothing_is_left_of_a_stream_that_was_closed(parcel, start) -> None:
    job = parcel.app.submit("p", delay=3600)
    server = start()
    with EventClient(server.address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
    hub = hub_of(parcel.api)

    assert waited(lambda: hub.open_streams == 0 and not hub.reads)


def test_streams_end_when_the_process_does(parcel, start) -> None:
    job = parcel.app.submit("p", delay=3600)
    server = start()
    with EventClient(server.address, path_of(job.id)) as client:
        client.wait_for("parcel.queued")
        server.request_stop()
        assert waited(lambda: client.ended)


def test_a_first_look_that_fails_is_answered_as_a_problem(parcel, start) -> None:
    server = start()
    connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
    with closing(connection):
        connection.request("GET", path_of("00000000-0000-7000-8000-000000000000"))
        assert connection.getresponse().status == 404
    hub = hub_of(parcel.api)
    assert waited(lambda: hub.open_streams == 0)
