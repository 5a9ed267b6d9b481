"""What a hub does for its streams, and what it asks of the store meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.api import ApiOptions, Server, create_api
from holdfast.api.events.hub import Hub
from holdfast.api.events.stream import Stream, Wanted
from holdfast.api.problems import Problem
from holdfast.core.values.role import Role
from holdfast.engine.submit.submission import Submit
from holdfast.testing import run_inline
from holdfast.testing.servers.proxy import PostgresProxy
from tests.api.event_client import EventClient, waited

PATIENCE_S = 20


@pytest.fixture
def watched(database_url: str, pipeline: Pipeline) -> Iterator[Holdfast]:
    with Holdfast(database_url, pipelines=[pipeline]) as made:
        yield made


async def welcome() -> bool:
    return True


def stream_of(hub: Hub, *, since: str | None = None, who: object = "ada", **how) -> Stream:
    return Stream(hub, wanted=Wanted(), since=since, who=who, **{"welcome": welcome, **how})


async def opened(hub: Hub, **how) -> AsyncIterator[bytes]:
    """The chunks of a new stream, its opening read."""
    stream = stream_of(hub, **how)
    chunks = stream.chunks(await asyncio.to_thread(hub.join, stream))
    assert (await anext(chunks)).startswith(b"retry: ")
    return chunks


async def heard(chunks: AsyncIterator[bytes], *, until: str) -> list[dict[str, object]]:
    """The data of the events up to the first of that name, with their names."""
    events: list[dict[str, object]] = []
    async with asyncio.timeout(PATIENCE_S):
        while until not in [event["event"] for event in events]:
            for block in (await anext(chunks)).decode().split("\n\n"):
                lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
                if "data" in lines:
                    events.append({**json.loads(lines["data"]), **lines})
    return events


OPENED: list[Hub] = []


def hub_of(engine: Holdfast, **options) -> Hub:
    """A hub that stops reading when its test ends."""
    OPENED.append(Hub(engine, **options))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def all_hubs_closed():
    yield
    while OPENED:
        OPENED.pop().close()


def two_more_turns(hub: Hub) -> None:
    """Waits until all that was committed so far was handed out."""
    turns = hub.turns
    assert waited(lambda: hub.turns >= turns + 2)


def test_a_client_that_is_too_slow_is_told_of_the_gap_and_goes_on(watched) -> None:
    async def main() -> None:
        hub = hub_of(watched, most_each=9, most_queued=50, poll_s=0.02)
        stream = stream_of(hub)
        chunks = stream.chunks(await asyncio.to_thread(hub.join, stream))
        await anext(chunks)
        for _ in range(4):
            watched.submit_many("p", [Submit(delay=60) for _ in range(20)])
            await asyncio.to_thread(two_more_turns, hub)
            assert stream.waiting <= 50

        (gap,) = await heard(chunks, until="gap")
        job = watched.submit("p")
        told = await heard(chunks, until="queued")
        while told[-1]["job_id"] != job.id:
            told += await heard(chunks, until="queued")

        assert gap["reason"] == "slow"
        missed = watched.tail(str(gap["after"])).read(limit=1000)
        assert len([event for event in missed if event.name == "queued"]) == 81
        hub.leave(stream)

    asyncio.run(main())


def test_a_slow_reader_over_a_socket_is_told_of_the_gap(small_app) -> None:
    options = ApiOptions(host="127.0.0.1")
    api = create_api(small_app, options=options)
    hub = api.state.hub = hub_of(small_app, most_each=9, most_queued=20, poll_s=0.02)
    server = Server(api, options=options)
    server.start()
    # Otherwise the system would take megabytes on the way, which are tens of thousands of events.
    server._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.connect((server.host, server.port))
        slow.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert waited(lambda: hub.open_streams == 1)
        (stream,) = hub._streams
        job = small_app.submit("p", delay=60)

        def overflowed() -> bool:
            small_app.submit_many("p", [Submit(delay=60) for _ in range(500)])
            return stream._overflowed is not None

        assert waited(overflowed)
        assert stream.waiting <= 1000

        slow.settimeout(PATIENCE_S)
        text = b""
        while b"event: gap" not in text:
            text = text[-20:] + slow.recv(1 << 16)
    server.request_stop()
    assert server.wait(10)
    assert job.get().state == "queued"


def test_what_is_missed_while_a_client_catches_up_is_read_again(watched) -> None:
    async def main() -> None:
        hub = hub_of(watched, most_each=9, most_queued=5, poll_s=0.02)
        before = watched.tail().cursor
        first = [watched.submit("p", delay=60).id for _ in range(5)]
        stream = stream_of(hub, since=before)
        joined = await asyncio.to_thread(hub.join, stream)
        second = [watched.submit("p", delay=60).id for _ in range(30)]
        async with asyncio.timeout(PATIENCE_S):
            while stream._overflowed is None:
                second += [watched.submit("p", delay=60).id]
                await asyncio.sleep(0.02)
        third = [watched.submit("p", delay=60).id for _ in range(3)]
        await asyncio.to_thread(two_more_turns, hub)
        assert stream.waiting
        chunks = stream.chunks(joined)
        await anext(chunks)
        last = watched.submit("p", delay=60).id

        told: list[object] = []
        while last not in told:
            told += [event["job_id"] for event in await heard(chunks, until="queued")]
        hub.leave(stream)

        assert told == [*first, *second, *third, last]

    asyncio.run(main())


def test_a_stream_on_which_nothing_happens_gives_signs_of_life(watched) -> None:
    async def main() -> None:
        hub = hub_of(watched, most_each=9, poll_s=0.02, heartbeat_s=0.1)
        chunks = await opened(hub)

        async with asyncio.timeout(PATIENCE_S):
            beats = [await anext(chunks) for _ in range(2)]

        assert all(beat.startswith(b": ") and b"\nid: " in beat for beat in beats)

    asyncio.run(main())


def test_a_stream_ends_when_whoever_opened_it_is_not_welcome_any_more(small_app) -> None:
    async def main() -> None:
        answers = [True, False]

        async def asked() -> bool:
            return answers.pop(0)

        hub = hub_of(small_app, most_each=9, heartbeat_s=0.05)
        chunks = await opened(hub, welcome=asked)

        (bye,) = await heard(chunks, until="bye")

        assert bye["reason"] == "credentials"
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)

    asyncio.run(main())


def test_what_this_process_decides_is_told_at_once(watched) -> None:
    async def main() -> None:
        hub = hub_of(watched, most_each=9, poll_s=3600)
        chunks = await opened(hub)
        assert await asyncio.to_thread(waited, lambda: hub.turns == 1)

        watched.submit("p")
        await asyncio.to_thread(run_inline, watched)
        events = await heard(chunks, until="complete")

        assert [event["event"] for event in events] == ["queued", "processing", "complete"]

    asyncio.run(main())


def test_what_other_processes_do_is_told_soon(watched, database_url, pipeline) -> None:
    async def main() -> None:
        hub = hub_of(watched, most_each=9)
        chunks = await opened(hub)

        with Holdfast(database_url, pipelines=[pipeline]) as other:
            job = other.submit("p")
            events = await heard(chunks, until="queued")

        assert events[0]["job_id"] == job.id

    asyncio.run(main())


def test_a_closed_hub_lets_nobody_in(small_app) -> None:
    async def main() -> None:
        hub = hub_of(small_app, most_each=9)
        hub.close()

        with pytest.raises(Problem, match="about to end"):
            hub.admit("ada")
        chunks = await opened(hub)
        (bye,) = await heard(chunks, until="bye")
        assert bye["reason"] == "shutdown"

    asyncio.run(main())


def test_streams_outlive_an_outage_of_the_database(postgres_url, pipeline, caplog) -> None:
    async def main(proxy: PostgresProxy, app: Holdfast, direct: Holdfast) -> None:
        hub = hub_of(app, most_each=9, poll_s=0.02)
        chunks = await opened(hub)
        before = direct.submit("p", delay=60)
        assert (await heard(chunks, until="queued"))[0]["job_id"] == before.id

        proxy.refuse()
        proxy.cut()
        during = direct.submit("p", delay=60)
        assert await asyncio.to_thread(waited, lambda: "cannot be read now" in caplog.text)
        proxy.pass_through()

        assert (await heard(chunks, until="queued"))[0]["job_id"] == during.id

    with (
        PostgresProxy(postgres_url) as proxy,
        Holdfast(proxy.url, pipelines=[pipeline]) as app,
        Holdfast(postgres_url, pipelines=[pipeline]) as direct,
    ):
        asyncio.run(main(proxy, app, direct))


def test_streams_end_when_the_application_is_closed(tmp_path, pipeline) -> None:
    app = Holdfast(f"sqlite:///{tmp_path / 'holdfast.db'}", pipelines=[pipeline])

    async def main() -> None:
        chunks = await opened(hub_of(app, most_each=9, poll_s=0.02))
        app.close()

        (bye,) = await heard(chunks, until="bye")
        assert bye["reason"] == "error"

    asyncio.run(main())


def test_a_client_that_hangs_up_is_forgotten(small_app) -> None:
    options = ApiOptions(host="127.0.0.1")
    api = create_api(small_app, options=options)
    hub = api.state.hub = hub_of(small_app, most_each=9, poll_s=0.02)
    server = Server(api, options=options)
    server.start()
    with EventClient(server.address) as client:
        client.wait(lambda it: it.last_id != "")

    with suppress(OSError):
        client.close()
    assert waited(lambda: hub.open_streams == 0)
    server.request_stop()
    assert server.wait(10)


def test_a_stream_ends_soon_after_its_token_was_revoked(small_app) -> None:
    view, secret = small_app.tokens.create("ada", role=Role.READER, by="test")
    options = ApiOptions(host="127.0.0.1")
    api = create_api(small_app, options=options)
    api.state.hub = hub_of(small_app, most_each=9, heartbeat_s=0.2)
    server = Server(api, options=options)
    server.start()
    with EventClient(server.address, token=secret) as client:
        client.wait(lambda it: it.comments >= 2)
        small_app.tokens.revoke(view.id, by="test")
        client.wait(lambda it: it.ended)

    assert client.names == ["bye"]
    assert client.events[0].data == {"reason": "credentials"}
    server.request_stop()
    assert server.wait(10)
