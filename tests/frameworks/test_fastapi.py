"""The example on FastAPI, in this process and under a uvicorn that is told to end."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient

from holdfast import Holdfast, JobState
from tests.docs.running import without_settings
from tests.frameworks.examples import EXAMPLES, imported
from tests.warm.process import WarmProcess

PATIENCE_S = 30.0
SERVED = [
    ("postgres", ["-m", "uvicorn", "letters:web", "--port", "0"], -signal.SIGTERM),
    ("sqlite", ["letters.py"], 0),
]
"""How the example is served, and how the process ends: uvicorn ends by the signal it got."""


def test_routes_make_jobs_once_wait_for_them_and_stream_them(
    monkeypatch: pytest.MonkeyPatch, sqlite_url: str
):
    letters = imported("fastapi/letters.py", monkeypatch, DATABASE_URL=sqlite_url)

    with TestClient(letters.web) as client:
        headers = {"Idempotency-Key": "17"}
        first = client.post("/letters", params={"to": "Ada", "wait_s": 30}, headers=headers)
        again = client.post("/letters", params={"to": "Ada"}, headers=headers)
        events = client.get(f"/letters/{first.json()['id']}/events").text
        unknown = client.get("/letters/no-such-job").status_code

    assert (first.status_code, first.json()["text"]) == (200, "Dear Ada")
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert events == 'data: {"state": "complete", "text": "Dear Ada"}\n\n'
    assert unknown == 404


def test_the_worker_ends_before_the_connections_that_store_what_it_did(sqlite_url: str):
    app = Holdfast(sqlite_url)
    began = threading.Event()

    @app.job
    async def nap() -> str:
        began.set()
        await asyncio.sleep(0.05)
        return "rested"

    async def live() -> None:
        async with app.lifespan(worker=True)(None):
            await nap.asubmit()
            assert await asyncio.to_thread(began.wait, PATIENCE_S)

    asyncio.run(live())

    with Holdfast(sqlite_url) as later:
        (view,) = later.jobs()
        assert (view.state, view.result, view.job.interruptions) == (JobState.COMPLETE, "rested", 0)


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Iterator[Callable[..., tuple[WarmProcess, str]]]:
    """Starts the example, and returns its process and its address; ends what is left."""
    started: list[WarmProcess] = []

    def begin(arguments: list[str], **variables: str) -> tuple[WarmProcess, str]:
        with (tmp_path / "stderr").open("w") as errors:
            process = WarmProcess(
                [sys.executable, *arguments],
                cwd=EXAMPLES / "fastapi",
                env={**without_settings(), "DATABASE_URL": database_url, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        started.append(process)
        until_s = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"running on (http://\S+)", logged(tmp_path))):
            assert time.monotonic() < until_s, logged(tmp_path)
            time.sleep(0.02)
        return process, found[1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def logged(folder: Path) -> str:
    return (folder / "stderr").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database_url", "arguments", "status"),
    SERVED,
    ids=["uvicorn", "itself"],
    indirect=["database_url"],
)
def test_sigterm_answers_requests_then_ends_the_worker_and_hands_back_what_takes_too_long(
    serve, arguments: list[str], status: int, database_url: str, tmp_path: Path
):
    process, address = serve(arguments, PORT="0", GRACE_S="1")
    with Holdfast(database_url) as app, ThreadPoolExecutor(1) as pool:

        def post(**parameters: object) -> httpx2.Response:
            return httpx2.post(f"{address}/letters", params=parameters, timeout=PATIENCE_S)

        ends = post(to="Ada", takes_s=3).json()["id"]
        waits = pool.submit(post, to="Grace", takes_s=2.5, wait_s=PATIENCE_S)
        outlives = post(to="Linus", takes_s=60).json()["id"]
        until_s = time.monotonic() + PATIENCE_S
        while [view.state for view in app.jobs()].count(JobState.PROCESSING) < 3:
            assert time.monotonic() < until_s, app.jobs()
            time.sleep(0.02)

        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE_S) == status, logged(tmp_path)
        assert (waits.result().status_code, waits.result().json()["text"]) == (200, "Dear Grace")
        finished, handed_back = app.job(ends), app.job(outlives)
        assert (finished.state, finished.result) == (JobState.COMPLETE, "Dear Ada")
        assert handed_back.state is JobState.QUEUED
        assert (handed_back.job.attempt, handed_back.job.interruptions) == (0, 1)
        steps = ["Shutting down", "Waiting for application shutdown", "shutdown complete"]
        assert re.findall("|".join(steps), logged(tmp_path)) == steps
        assert "Traceback" not in logged(tmp_path)
