"""How many files one worker converts, how long uploads take, and what a large one costs."""

import http.client
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.conversion.capacity import capacity_of
from bench.conversion.clients import Client, send_all
from bench.environments import Command
from bench.figure import Count, Growth, Rate, tail_of
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed, Process
from bench.server import Server, up

FILES = 1_000
QUICK_FILES = 100
ROUNDS = 3
"""A thousand files take less than a second, of which a hiccup of the machine is a good part."""
CLIENTS = 20
CONCURRENCY = 32
WAIT_S = 0.02
LARGE_BYTES = 48_000_000
LIMIT_S = 180.0
POLL_S = 0.02
GATEWAY = Command((sys.executable, "-m", "bench.conversion.gateway"), {})
PDF = b"%%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%08d\n%%%%EOF\n"


@dataclass(frozen=True, slots=True)
class Conversions:
    """What was seen of a converter that was sent so many files."""

    upload_waits_ns: list[int]
    refused: int
    per_second: float
    capacity: float
    """How many calls a second the gateway answers to as many callers."""
    calls: int
    """How many calls the converter made."""
    grown_bytes: int
    """By how much the process grew at most while it took a large file."""

    @property
    def share(self) -> float:
        """How much of what the gateway answers the converter had of it."""
        return self.per_second / self.capacity


def conversions(conditions: Conditions) -> Iterator[Measured]:
    files, rounds = (QUICK_FILES, 1) if conditions.quick else (FILES, ROUNDS)
    for name, place in conditions.places.items():
        seen = []
        for _ in range(rounds):
            with place.fresh() as database:
                seen.append(converted(database.url, files=files, within=conditions.files))
        jobs = files * rounds
        waits_ns = [wait_ns for each in seen for wait_ns in each.upload_waits_ns]
        twice = sum(each.calls for each in seen) - jobs
        yield Measured(f"uploading-{name}", tail_of(waits_ns), jobs=jobs)
        yield Measured(
            f"uploads-refused-{name}", Count(sum(each.refused for each in seen)), jobs=jobs
        )
        yield Measured(
            f"converting-{name}", Rate(median(each.per_second for each in seen)), jobs=jobs
        )
        yield Measured(
            f"conversion-share-{name}", Count(median(each.share for each in seen)), jobs=jobs
        )
        yield Measured(f"converted-twice-{name}", Count(twice), jobs=jobs)
        yield Measured(
            f"upload-memory-{name}",
            Growth(max(each.grown_bytes for each in seen) / 1e6),
            jobs=rounds,
        )


def converted(
    url: str, *, files: int, large_bytes: int = LARGE_BYTES, within: Path | None = None
) -> Conversions:
    """Have files converted by a converter on a database, and one large file taken.

    They are kept in a folder of their own `within` another.
    """
    with Process(GATEWAY, "serve", {"wait_s": WAIT_S}) as gateway:
        address = gateway.expect("serving", within_s=LIMIT_S)["address"]
        capacity = capacity_of(address, callers=CONCURRENCY, bodies=_pdfs(files))
        variables = {
            "GATEWAY_URL": address,
            "WORKER_CONCURRENCY": str(CONCURRENCY),
            "QUOTA_ACTIVE_JOBS": str(2 * files),
        }
        with up("converter", url, variables, within=within) as server:
            _warm_up(server, files)
            counted = _calls(gateway)
            # While the queue is paused, so that what follows is converting alone.
            _ask(server, "POST", "/api/queues/default/pause", {"reason": "uploads first"})
            waits_ns, refused = send_all(server.address, _pdfs(files), clients=CLIENTS)
            per_second = _pace(server, gateway, until=counted + files, files=files)
            return Conversions(
                upload_waits_ns=waits_ns,
                refused=len(refused),
                per_second=per_second,
                capacity=capacity,
                calls=_calls(gateway) - counted,
                grown_bytes=_grown_bytes(server, large_bytes),
            )


def _pdfs(files: int, *, first: int = 0) -> Iterator[bytes]:
    return (PDF % number for number in range(first, first + files))


def _warm_up(server: Server, files: int) -> None:
    """Have some other files converted, because starting is never on the clock."""
    _, refused = send_all(server.address, _pdfs(CONCURRENCY, first=files), clients=CLIENTS)
    if refused:
        raise Failed(f"files were refused: {refused[0]}")
    began_s = time.perf_counter()
    while _under_way(server):
        if time.perf_counter() - began_s > LIMIT_S:
            raise Failed(f"{CONCURRENCY} files were not converted within {LIMIT_S:g} s")
        time.sleep(POLL_S)


def _pace(server: Server, gateway: Process, *, until: int, files: int) -> float:
    """Let the worker go, and return how many files it converted a second.

    The gateway is asked how far it is, because it is not what is measured; the server only whether
    all of them have ended.
    """
    _ask(server, "POST", "/api/queues/default/resume", {"reason": "now"})
    began_s = time.perf_counter()
    while _calls(gateway) < until or _under_way(server):
        if time.perf_counter() - began_s > LIMIT_S:
            raise Failed(f"{files} files were not converted within {LIMIT_S:g} s")
        time.sleep(POLL_S)
    return files / (time.perf_counter() - began_s)


def _under_way(server: Server) -> bool:
    status, page = _ask(server, "GET", "/api/jobs?state=queued&state=processing&limit=1")
    if status != http.client.OK:
        raise Failed(f"the list of jobs answered {status}")
    return bool(page["items"])


def _grown_bytes(server: Server, size: int) -> int:
    before = server.peak_bytes()
    client = Client(server.address)
    status, said = client.send_large(size)
    client.close()
    if status != http.client.CREATED:
        raise Failed(f"a large file was refused: {said}")
    return server.peak_bytes() - before


def _ask(server: Server, method: str, path: str, body: object = None) -> tuple[int, dict]:
    client = Client(server.address)
    answered = client.ask(method, path, body)
    client.close()
    return answered


def _calls(gateway: Process) -> int:
    gateway.ask()
    return gateway.expect("calls", within_s=LIMIT_S)["calls"]


MEASURE = Measure("converting", conversions)
