"""What main alone does: events, timeouts, uploads, and what follows an outage of the broker."""

import http.client
import itertools
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import psycopg

from bench.conversion.clients import BOUNDARY, Client
from bench.database import Database
from bench.figure import Delay, Growth, tail_of
from bench.grading.fleets import ESSAY, Ours
from bench.grading.streams import watching
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed
from bench.server import TOKEN, Server, up
from holdfast import Holdfast
from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.server import PrivateRabbitmq

STREAMS, QUICK_STREAMS = 200, 20
PENDING, QUICK_PENDING = 10_000, 500
POSTS_PER_S = 50.0
TIMEOUT_S = 20.0
AUDIO_BYTES = 25 * 1024 * 1024 - 4_096
LIMIT_S = 300.0
BODY = {"skill": "writing", "questionId": "w2-tourism", "answer": {"text": ESSAY}}
RESULT = {
    "overallScore": 6.5,
    "band": "B2",
    "criteriaScores": dict.fromkeys(
        ("taskFulfillment", "organization", "vocabulary", "grammar"), 6.5
    ),
    "confidenceScore": 92,
    "grader": "bench",
    "gradedAt": "2026-01-01T00:00:10Z",
    "wordCount": 262,
}


def main_alone(conditions: Conditions) -> Iterator[Measured]:
    place = conditions.places.get("postgresql")
    if place is None:
        return
    streams = QUICK_STREAMS if conditions.quick else STREAMS
    pending = QUICK_PENDING if conditions.quick else PENDING
    try:
        broker = PrivateRabbitmq()
    except UnavailableError as error:
        raise Failed(str(error)) from error
    with broker:
        with place.fresh() as database, _main(database, broker) as server:
            yield from _events(server, database, streams)
            yield from _upload(server)
        with (
            place.fresh() as database,
            _main(database, broker, SLA_WRITING_MS=str(round(TIMEOUT_S * 1000))) as server,
        ):
            yield from _timeouts(server, database, streams)
        with place.fresh() as database, _main(database, broker):
            yield from _outage(database, broker, pending)
        with place.fresh() as database, _main(database, broker) as server:
            yield from _posts(server, database, broker, pending // 5)


def _main(
    database: Database, broker: PrivateRabbitmq, **variables: str
) -> AbstractContextManager[Server]:
    own = {
        "AMQP_URL": broker.url,
        "GRADING_EXCHANGE": f"bench-{uuid.uuid4().hex[:8]}",
        "GRADING_QUEUE_PREFIX": f"bench{uuid.uuid4().hex[:8]}.",
        "SUBMISSIONS_PER_MINUTE": "0",
        "QUOTA_ACTIVE": "10000",
    }
    return up("grading", database.url, {**own, **variables})


def _handed_in(client: Client) -> dict:
    status, made = client.ask("POST", "/api/submissions", BODY)
    if status != http.client.CREATED:
        raise Failed(f"a submission was answered {status}: {made}")
    return made


def _requests(database: Database, count: int) -> list[dict]:
    """Return what was published for graders, once all of it is."""
    published = "select count(*) from holdfast.outbox where message_type = 'grading.request'"
    _wait(database, published, count)
    with psycopg.connect(database.url) as connection:
        rows = connection.execute(
            "select payload from holdfast.outbox where message_type = 'grading.request'"
        ).fetchall()
    return [json.loads(payload) for (payload,) in rows]


def _wait(database: Database, statement: str, count: int) -> None:
    until_s = time.monotonic() + LIMIT_S
    while (found := database.count(statement)) < count:
        if time.monotonic() > until_s:
            raise Failed(f"{found} of {count} after {LIMIT_S:g} s: {statement}")
        time.sleep(0.02)


def _events(server: Server, database: Database, streams: int) -> Iterator[Measured]:
    """From a callback that is sent to the event at the client, with all streams open."""
    client = Client(server.address)
    ids = [_handed_in(client)["submissionId"] for _ in range(streams)]
    requests = _requests(database, streams)
    sent_ns: dict[str, int] = {}
    with watching(server.address, database.url, ids) as seen:
        for request in requests:
            names = ("requestId", "submissionId", "callbackToken")
            callback = {
                "schemaVersion": 1,
                "eventId": str(uuid.uuid4()),
                **{name: request[name] for name in names},
                "status": "completed",
                "result": RESULT,
            }
            sent_ns[request["submissionId"]] = time.time_ns()
            status, said = client.ask("POST", "/api/grading/callback", callback)
            if status != http.client.ACCEPTED:
                raise Failed(f"a callback was answered {status}: {said}")
            time.sleep(1 / POSTS_PER_S)
        if not seen.wait(streams):
            raise Failed(f"{len(seen.ended_ns)} of {streams} events came")
        waits_ns = [seen.ended_ns[each] - sent_ns[each] for each in ids]
    client.close()
    yield Measured("grading-events", tail_of(waits_ns), jobs=streams)


def _timeouts(server: Server, database: Database, streams: int) -> Iterator[Measured]:
    """From `deadlineAt` to the event that says so."""
    client = Client(server.address)
    made = [_handed_in(client) for _ in range(streams)]
    client.close()
    ends_ns = {
        each["submissionId"]: round(datetime.fromisoformat(each["deadlineAt"]).timestamp() * 1e9)
        for each in made
    }
    with watching(server.address, database.url, list(ends_ns)) as seen:
        if not seen.wait(streams):
            raise Failed(f"{len(seen.ended_ns)} of {streams} events came")
        waits_ns = [seen.ended_ns[each] - at_ns for each, at_ns in ends_ns.items()]
    yield Measured("grading-timeouts", tail_of(waits_ns), jobs=streams)


def _upload(server: Server) -> Iterator[Measured]:
    """By how much main grows at most while it takes a recording of 25 MB."""
    _send(server, _wav(64 * 1024))
    before = server.peak_bytes()
    _send(server, _wav(AUDIO_BYTES))
    grown = server.peak_bytes() - before
    yield Measured("grading-upload-memory", Growth(grown / 1e6), jobs=1)


def _send(server: Server, audio: Sequence[bytes]) -> None:
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    ).encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    size = len(head) + sum(map(len, audio)) + len(tail)
    connection = http.client.HTTPConnection(server.address.partition("//")[2], timeout=LIMIT_S)
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Length": str(size),
    }
    connection.request("POST", "/api/audio", itertools.chain([head], audio, [tail]), headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    if answer.status != http.client.CREATED:
        raise Failed(f"a recording was answered {answer.status}: {said[:200]!r}")


def _wav(size: int) -> list[bytes]:
    """Return a recording of that size in pieces: a minute's tone, as often as it fits."""
    rate, bits = 48_000, 16
    data = size - 44
    head = b"RIFF" + (data + 36).to_bytes(4, "little") + b"WAVEfmt "
    head += (16).to_bytes(4, "little") + (1).to_bytes(2, "little") + (1).to_bytes(2, "little")
    head += rate.to_bytes(4, "little") + (rate * bits // 8).to_bytes(4, "little")
    head += (bits // 8).to_bytes(2, "little") + bits.to_bytes(2, "little")
    head += b"data" + data.to_bytes(4, "little")
    tone = bytes(byte for n in range(32_768) for byte in ((n * 97) % 8_192).to_bytes(2, "little"))
    pieces = [tone[: min(len(tone), data - at)] for at in range(0, data, len(tone))]
    return [head, *pieces]


def _outage(database: Database, broker: PrivateRabbitmq, pending: int) -> Iterator[Measured]:
    """Until the first and the last of what was handed in meanwhile is published."""
    published = _pile_up(database, broker, pending)
    broker.start()
    began_s = time.monotonic()
    _wait(database, published, 1)
    first_s = time.monotonic() - began_s
    _wait(database, published, pending)
    all_s = time.monotonic() - began_s
    yield Measured("grading-outage-first", Delay(first_s * 1e3, first_s * 1e3), jobs=1)
    yield Measured("grading-outage-all", Delay(all_s * 1e3, all_s * 1e3), jobs=pending)


def _posts(
    server: Server, database: Database, broker: PrivateRabbitmq, pending: int
) -> Iterator[Measured]:
    """How long handing in takes while the outbox is emptied."""
    published = _pile_up(database, broker, pending)
    posts = _Posts(server, database)
    broker.start()
    posts.start()
    _wait(database, published, pending)
    posts.end()
    yield Measured("grading-posts", tail_of(posts.waits_ns), jobs=len(posts.waits_ns))


def _pile_up(database: Database, broker: PrivateRabbitmq, count: int) -> str:
    """Have so many requests wait for a broker that is away; return what counts those published."""
    broker.stop()
    with tempfile.TemporaryDirectory() as folder:
        learners = Ours(database.url, broker.url, "", Path(folder))
        for _ in range(count):
            learners.submit()
        learners.close()
    of_requests = "select count(*) from holdfast.outbox where message_type = 'grading.request'"
    _wait(database, of_requests, count)
    return f"{of_requests} and status = 'published'"


class _Posts(threading.Thread):
    """Hands in so many submissions a second, each on time, and notes how long each took."""

    CLIENTS = 8
    LEAST = 100

    def __init__(self, server: Server, database: Database) -> None:
        super().__init__()
        self.waits_ns: list[int] = []
        self._server = server
        with Holdfast(database.url) as app:
            self._tokens = [
                app.tokens.create(name, role="submitter", owner=name, by="bench")[1]
                for name in (f"learner {number}" for number in range(self.CLIENTS))
            ]
        self._over = threading.Event()
        self._numbers = itertools.count()

    def run(self) -> None:
        began_s = time.monotonic()
        threads = [
            threading.Thread(target=self._post, args=(token, began_s)) for token in self._tokens
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _post(self, token: str, began_s: float) -> None:
        client = Client(self._server.address, token=token)
        while not self._over.is_set() or len(self.waits_ns) < self.LEAST:
            due_s = began_s + next(self._numbers) / POSTS_PER_S
            time.sleep(max(due_s - time.monotonic(), 0.0))
            _handed_in(client)
            # From when it was due: one that is sent late because others are slow counts as slow.
            self.waits_ns.append(round((time.monotonic() - due_s) * 1e9))
        client.close()

    def end(self) -> None:
        self._over.set()
        self.join()


MEASURE = Measure("grading-main", main_alone)
