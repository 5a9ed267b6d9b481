"""The example on Django: its project with its commands, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast
from tests.docs.running import run, without_settings
from tests.frameworks.examples import EXAMPLES
from tests.warm.process import WarmProcess

ROOT = Path(__file__).parents[2]
PROJECT = EXAMPLES / "django"
MANAGE = PROJECT / "manage.py"
PATIENCE_S = 30.0
RECEIPTS = "django.shop.tasks.send_receipt"
EXPECTED: dict[str, Any] = {
    "answers": [202, 409, {"error": "sold out"}],
    "signals": [True, 2],
    "jobs": [[RECEIPTS, "default", 0, {"args": [1], "kwargs": {}}]],
    "before": {"status": "READY", "text": None},
    "after": {"status": "SUCCESSFUL", "text": "receipt for 2 rope"},
    "orders": [["rope", "receipt for 2 rope"]],
    "result": ["receipt for 2 rope", 1, ["inline"], [1]],
    "in order": True,
    "count": {"rope": 1, "attempt": 1},
    "queue of the count": "reports",
    "unseen before the commit": 0,
    "kept": [1, "READY"],
    "failed": ["FAILED", ["shop.models.Order.DoesNotExist"]],
    "says why": True,
    "cancelled": ["FAILED", "JobCancelled"],
    "unknown": 2,
    "later": ["READY", True, "scheduled", 3],
}
"""What tests/frameworks/django_orders.py finds."""


def manage(*arguments: str, url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run(MANAGE, *arguments, folder=folder, DATABASE_URL=url)


def test_tasks_are_jobs_of_the_transaction_and_their_results_are_djangos(
    database_url: str, tmp_path: Path
):
    program = ROOT / "tests" / "frameworks" / "django_orders.py"

    done = run(program, folder=tmp_path, DATABASE_URL=database_url, PYTHONPATH=str(PROJECT))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name: found[name] for name in found if found[name] != EXPECTED.get(name)} == {}
    assert set(found) == set(EXPECTED)


def test_manage_py_says_which_setting_is_missing(tmp_path: Path):
    done = manage("holdfast", "jobs", "list", "--json", url="sqlite:///:memory:", folder=tmp_path)

    assert done.returncode == 2
    message = json.loads(done.stderr)["error"]["message"]
    assert "is in memory, where workers cannot see it" in message


@pytest.mark.slow
def test_manage_py_makes_the_tables_and_runs_a_worker_for_all_queues_of_the_backend(
    empty_database_url: str, tmp_path: Path
):
    for arguments in (["migrate", "--verbosity", "0"], ["holdfast", "migrate"]):
        done = manage(*arguments, url=empty_database_url, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    enqueue = "from shop.tasks import count_orders; print(count_orders.enqueue('rope').id)"
    done = manage("shell", "--no-imports", "-c", enqueue, url=empty_database_url, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    job_id = done.stdout.strip()
    worker = WarmProcess(
        [sys.executable, str(MANAGE), "holdfast", "worker"],
        cwd=tmp_path,
        env={**without_settings(), "DATABASE_URL": empty_database_url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with Holdfast(empty_database_url) as app:
            until_s = time.monotonic() + PATIENCE_S
            while app.job(job_id).finished_at is None:
                assert time.monotonic() < until_s, app.job(job_id)
                time.sleep(0.05)
            assert app.job(job_id).result == {"rope": 0, "attempt": 1}
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_S) == os.EX_OK, worker.communicate()[1]
    finally:
        worker.kill()
        worker.communicate()
    listed = manage("holdfast", "jobs", "list", "--json", url=empty_database_url, folder=tmp_path)
    assert json.loads(listed.stdout)["pipeline"] == "django.shop.tasks.count_orders"
