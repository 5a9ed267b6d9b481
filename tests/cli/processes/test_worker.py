"""`holdfast worker` as a process, with its signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, JobState
from holdfast.runtime.kernel.process_tuning import TURN_S
from tests.cli.conftest import Command
from tests.cli.sample_app import URL_VARIABLE
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[3]
PATIENCE_S = 30.0

Start = Callable[..., subprocess.Popen[str]]


def eventually(look: Callable[[], Any], what: str) -> Any:
    until = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.02)
    return found


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts workers, and ends those that are left."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        with (tmp_path / "stderr").open("a") as errors:
            process = WarmProcess(
                [sys.executable, "-m", "holdfast", "worker", *arguments],
                env={
                    **os.environ,
                    URL_VARIABLE: database_url,
                    "HOLDFAST_APP": "tests.cli.sample_app:make",
                    "HOLDFAST_POLL": "50ms",
                    "PYTHONPATH": str(ROOT),
                    **variables,
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def logged(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "stderr").read_text().splitlines()]


def events(tmp_path: Path) -> list[str | None]:
    return [line.get("event") for line in logged(tmp_path)]


def test_a_workers_threads_hand_over_to_each_other_often(start: Start, app: Holdfast):
    start()

    done = app.submit("convert", {"pdf": "turns"}).wait(PATIENCE_S)

    assert done.result == str(TURN_S)


def test_a_worker_runs_jobs_and_ends_cleanly_on_sigterm(
    start: Start, app: Holdfast, tmp_path: Path
):
    worker = start("--log-level", "debug")

    done = app.submit("convert", {"pdf": "a"}).wait(PATIENCE_S)
    failed = app.submit("convert", {"pdf": "broken"}).wait(PATIENCE_S)
    worker.send_signal(signal.SIGTERM)
    output, _ = worker.communicate(timeout=PATIENCE_S)

    assert (worker.returncode, output) == (0, "")
    assert (done.state, failed.state) == (JobState.COMPLETE, JobState.FAILED)
    assert {"started", "completed", "failed", "draining", "stopped"} <= set(events(tmp_path))
    line = next(line for line in logged(tmp_path) if line.get("event") == "failed")
    assert line["job_id"] == failed.id
    assert (line["status"], line["attempt"], line["error_code"]) == ("failed", 1, "BUG")
    assert line["duration_ms"] >= 0


def test_a_running_attempt_is_finished_before_the_worker_ends(
    start: Start, app: Holdfast, tmp_path: Path
):
    sign = tmp_path / "running"
    worker = start("--grace", "20s")
    handle = app.submit("convert", {"pdf": f"slow:{sign}"})
    eventually(sign.exists, "the attempt runs")

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(PATIENCE_S) == 0
    assert handle.get().state is JobState.COMPLETE


def test_a_second_signal_hands_the_job_back_at_once(start: Start, app: Holdfast, tmp_path: Path):
    sign = tmp_path / "running"
    worker = start("--grace", "10m")
    handle = app.submit("convert", {"pdf": f"endless:{sign}"})
    eventually(sign.exists, "the attempt runs")

    worker.send_signal(signal.SIGTERM)
    eventually(lambda: "draining" in events(tmp_path), "the worker drains")
    worker.send_signal(signal.SIGTERM)

    assert worker.wait(PATIENCE_S) == 1
    view = handle.get()
    assert (view.state, view.job.attempt) == (JobState.QUEUED, 0)


def test_flags_win_over_variables_and_reach_the_worker(start: Start, app: Holdfast, tmp_path: Path):
    worker = start(
        *("--concurrency", "3", "--queues", "reviews,mail", "-q", "more", "--json"),
        HOLDFAST_CONCURRENCY="7",
    )
    (row,) = eventually(app.workers, "the worker is on record")
    worker.send_signal(signal.SIGINT)
    output, _ = worker.communicate(timeout=PATIENCE_S)

    assert (row.concurrency, json.loads(row.queues)) == (3, ["reviews", "mail", "more"])
    assert json.loads(output) == {"worker": row.id, "clean": True}
    assert worker.returncode == 0


def test_the_log_level_is_read_again_on_sighup(start: Start, app: Holdfast, tmp_path: Path):
    settings = tmp_path / "here" / "holdfast.toml"
    settings.write_text('log_level = "info"\n')
    worker = start()
    eventually(lambda: "started" in events(tmp_path), "the worker starts")

    settings.write_text('log_level = "debug"\n')
    worker.send_signal(signal.SIGHUP)
    eventually(lambda: "log_level" in events(tmp_path), "the level is read again")
    app.submit("convert", {"pdf": "a"}).wait(PATIENCE_S)
    eventually(lambda: "completed" in events(tmp_path), "a line of level debug")
    settings.write_text("log_level = 5\n")
    worker.send_signal(signal.SIGHUP)
    eventually(
        lambda: any("stays as it is" in line["message"] for line in logged(tmp_path)), "a warning"
    )

    assert worker.poll() is None


def test_a_worker_without_an_app_or_with_bad_options_does_not_start(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    bare = holdfast("worker")
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.sample_app:make")
    bad = holdfast("worker", "--lease", "0")
    odd = holdfast("worker", "--queues", "a b")

    assert [result.exit_code for result in (bare, bad, odd)] == [2, 2, 2]
    assert "this command needs your pipelines" in bare.stderr
    assert "command line: --lease is '0'; it must be " in bad.stderr
    assert "from 0.1 to 86400 seconds" in bad.stderr
    assert "command line: --queues is 'a b'; it must be queue names" in odd.stderr


def test_a_worker_whose_database_is_out_of_reach_exits_with_five(
    holdfast: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.sample_app:make")
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:secret@127.0.0.1:1/none")

    result = holdfast("worker")

    assert result.exit_code == 5
    assert "Connection refused" in result.stderr
    assert "secret" not in result.stderr
