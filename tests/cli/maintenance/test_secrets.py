"""What handlers let slip is in no row, no log line, no error log and nothing a command prints."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from tests.cli.leaky_app import GIVEN, leak
from tests.cli.terminal import ROOT, environment
from tests.warm.process import WarmProcess, run

PATIENCE_S = 40.0
VARIABLES = {
    "LEAKY_LOGIN": "ada/Vt3-of-a-variable-1Rn",
    "LEAKY_API_KEY": "Vt3-by-its-name-7Gd",
    "HOLDFAST_SECRET_VARIABLES": "LEAKY_LOGIN",
    "HOLDFAST_APP": "tests.cli.leaky_app:make",
    "HOLDFAST_POLL": "50ms",
    "HOLDFAST_LOG_LEVEL": "debug",
}
SLIPPED = (GIVEN, VARIABLES["LEAKY_LOGIN"], VARIABLES["LEAKY_API_KEY"], "hunter2-Xk")
WAYS = ("raise", "give up", "later", "return", "process")


def rows_of(app: Holdfast) -> str:
    """Return everything the database holds, as text."""
    sqlite = app.store.url.startswith("sqlite")
    tables = (
        "select name from sqlite_master where type = 'table'"
        if sqlite
        else "select 'holdfast.' || table_name from information_schema.tables "
        "where table_schema = 'holdfast'"
    )
    with app.store.transaction() as connection:
        names = [name for (name,) in connection.execute(tables).fetchall()]
        found = {name: connection.execute(f"select * from {name}").fetchall() for name in names}
    assert sum(map(len, found.values())) > 10
    return repr([[tuple(row) for row in rows] for rows in found.values()])


def path_to(folder: Path) -> str:
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def printed(database_url: str, *arguments: str) -> str:
    done = run(
        [sys.executable, "-m", "holdfast", *arguments],
        env=environment(database_url, **VARIABLES),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_nothing_that_slipped_is_kept_or_shown(database_url: str, tmp_path: Path, log_format: str):
    with Holdfast(database_url, pipelines=[leak]) as app:
        jobs = [app.submit(leak, {"how": way}) for way in WAYS]
        log = tmp_path / "stderr"
        with log.open("w") as stderr:
            worker = WarmProcess(
                [sys.executable, "-m", "holdfast", "worker", "--error-log", str(tmp_path / "data")],
                env=environment(database_url, **VARIABLES, HOLDFAST_LOG_FORMAT=log_format),
                stderr=stderr,
                cwd=ROOT,
            )
            until = time.monotonic() + PATIENCE_S
            try:
                while not all(
                    job.get().state is JobState.FAILED or job.get().job.snoozes for job in jobs
                ):
                    assert time.monotonic() < until, log.read_text()
                    time.sleep(0.05)
            finally:
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(PATIENCE_S) == 0, log.read_text()
        records = [path.read_text() for path in (tmp_path / "data").rglob("error_*.json")]
        shown = [printed(database_url, command, "show", jobs[0].id) for command in ("jobs", "dead")]

        everything = "\n".join([rows_of(app), log.read_text(), *records, *shown])
        assert [secret for secret in SLIPPED if secret in everything] == []
        for kept in (rows_of(app), log.read_text(), *records[:1], shown[0]):
            assert "[redacted:" in kept
        assert len(records) == 5, "two timeouts, a refusal, a result, a bug in a process"


def test_a_traceback_for_developers_holds_no_secrets(database_url: str, tmp_path: Path):
    (tmp_path / "broken_app.py").write_text(
        "import os\nraise ValueError('bad ' + os.environ['LEAKY_API_KEY'])\n"
    )

    done = run(
        [sys.executable, "-m", "holdfast", "-A", "broken_app", "jobs", "list"],
        env=environment(
            database_url, **VARIABLES, HOLDFAST_DEBUG="1", PYTHONPATH=path_to(tmp_path)
        ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ValueError: bad [redacted:" in done.stderr
    assert VARIABLES["LEAKY_API_KEY"] not in done.stderr


def test_a_complaint_holds_no_secrets(tmp_path: Path):
    (tmp_path / "broken_app.py").write_text(
        "import os\nraise ValueError('bad ' + os.environ['LEAKY_API_KEY'])\n"
    )

    for options in ((), ("--json",)):
        done = run(
            [sys.executable, "-m", "holdfast", "-A", "broken_app", "jobs", "list", *options],
            env={**os.environ, **VARIABLES, "PYTHONPATH": path_to(tmp_path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

        assert "ValueError: bad [redacted:" in done.stderr
        assert VARIABLES["LEAKY_API_KEY"] not in done.stderr
