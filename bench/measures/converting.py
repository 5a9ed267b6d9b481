"""How many files one worker converts, how long uploads take, and what a large one costs."""

import http.client
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from bench.conversion.clients import Client, send_all, side_by_side
from bench.conversion.server import Server, converter
from bench.environments import Command
from bench.figure import Count, Growth, Rate, tail_of
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed, Process

FILES = 1_000
QUICK_FILES = 100
CLIENTS = 20
CONCURRENCY = 32
WAIT_S = 0.02
LARGE_BYTES = 48_000_000
LIMIT_S = 180.0
GATEWAY = Command((sys.executable, "-m", "bench.conversion.gateway"), {})
PDF = b"%%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%08d\n%%%%EOF\n"


def conversions(conditions: Conditions) -> Iterator[Measured]:
    files = QUICK_FILES if conditions.quick else FILES
    for name, place in conditions.places.items():
        with (
            Process(GATEWAY, "serve", {"wait_s": WAIT_S}) as gateway,
            place.fresh() as database,
        ):
            address = gateway.expect("serving", within_s=LIMIT_S)["address"]
            most = _capacity(address, files)
            counted = _calls(gateway)
            variables = {
                "GATEWAY_URL": address,
                "WORKER_CONCURRENCY": str(CONCURRENCY),
                "QUOTA_ACTIVE_JOBS": str(2 * files),
            }
            with converter(database.url, variables) as server:
                yield from _uploaded(server, files, name)
                pace = _converted(server, files)
                calls = _calls(gateway) - counted
                yield Measured(f"converting-{name}", Rate(pace), jobs=files)
                yield Measured(f"conversion-share-{name}", Count(pace / most), jobs=files)
                yield Measured(f"converted-twice-{name}", Count(calls - files), jobs=files)
                yield _grown(server, name)


def _uploaded(server: Server, files: int, name: str) -> Iterator[Measured]:
    """Send all files while the queue is paused, so that what follows is converting alone."""
    client = Client(server.address)
    client.ask("POST", "/api/queues/default/pause", {"reason": "uploads first"})
    client.close()
    pdfs = (PDF % number for number in range(files))
    waits_ns, refused = send_all(server.address, pdfs, clients=CLIENTS)
    yield Measured(f"uploading-{name}", tail_of(waits_ns), jobs=files)
    yield Measured(f"uploads-refused-{name}", Count(len(refused)), jobs=files)


def _converted(server: Server, files: int) -> float:
    """Let the worker go, and return how many files it converted a second."""
    client = Client(server.address)
    client.ask("POST", "/api/queues/default/resume", {"reason": "now"})
    began_s = time.perf_counter()
    while _under_way(client):
        if time.perf_counter() - began_s > LIMIT_S:
            raise Failed(f"{files} files were not converted within {LIMIT_S:g} s")
        time.sleep(0.02)
    took_s = time.perf_counter() - began_s
    client.close()
    return files / took_s


def _under_way(client: Client) -> bool:
    status, page = client.ask("GET", "/api/jobs?state=queued&state=processing&limit=1")
    if status != http.client.OK:
        raise Failed(f"the list of jobs answered {status}")
    return bool(page["items"])


def _grown(server: Server, name: str) -> Measured:
    """By how much the process grew at most while it took a large file."""
    before = server.peak_bytes()
    client = Client(server.address)
    status, said = client.send_large(LARGE_BYTES)
    client.close()
    if status != http.client.CREATED:
        raise Failed(f"a large file was refused: {said}")
    grown = server.peak_bytes() - before
    return Measured(f"upload-memory-{name}", Growth(grown / 1e6), jobs=1)


def _capacity(address: str, calls: int) -> float:
    """How many calls the gateway answers a second when as many are made at a time."""
    left = iter(range(calls))
    netloc = urlsplit(address).netloc

    def work() -> None:
        for number in left:
            connection = http.client.HTTPConnection(netloc, timeout=LIMIT_S)
            connection.request("POST", "/convert?mapping=text", PDF % number)
            connection.getresponse().read()
            connection.close()

    began_s = time.perf_counter()
    side_by_side(work, CONCURRENCY)
    return calls / (time.perf_counter() - began_s)


def _calls(gateway: Process) -> int:
    gateway.ask()
    return gateway.expect("calls", within_s=LIMIT_S)["calls"]


MEASURE = Measure("converting", conversions)
