import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.testing.inline import run_inline
from holdfast.testing.postgres.server import PrivatePostgres
from tests.cli.conftest import Command, lines
from tests.cli.sample_app import convert
from tests.cli.terminal import environment, on_terminal
from tests.warm.process import WarmProcess


def test_watching_ended_jobs_tells_each_once_and_ends(on_app: Command, job: Callable[[str], str]):
    first, second = job("a"), job("b")

    result = on_app("jobs", "watch", first, second)

    assert result.exit_code == 0
    told = [line.split()[1:4] for line in result.stdout.splitlines()]
    assert told == [[second, "complete", "to_xml"], [first, "complete", "to_xml"]]


def test_watching_a_job_that_failed_exits_with_one(on_app: Command, job: Callable[[str], str]):
    result = on_app("jobs", "watch", job("broken"), "--json")

    assert result.exit_code == 1
    assert [line["state"] for line in lines(result.stdout)] == ["failed"]


def test_watching_an_unknown_job_ends_at_once(on_app: Command, app: Holdfast):
    assert on_app("jobs", "watch", "01900000-0000-7000-8000-000000000000").exit_code == 3


def test_ids_and_a_filter_together_are_refused(on_app: Command, app: Holdfast):
    assert on_app("jobs", "watch", "some-id", "--state", "failed").exit_code == 2


def test_every_change_is_a_line_until_the_job_has_ended(app: Holdfast, database_url: str):
    handle = app.submit("convert", {"pdf": "a"})
    watching = WarmProcess(
        [sys.executable, "-m", "holdfast", "jobs", "watch", handle.id, "--every", "50ms"],
        env=environment(database_url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        run_inline(app, until=handle)
        rest, errors = watching.communicate(timeout=20)
    finally:
        watching.kill()

    assert first.split()[1:3] == [handle.id, "due"]
    assert rest.splitlines()[-1].split()[1:3] == [handle.id, "complete"]
    assert (watching.returncode, errors) == (0, "")


def test_an_interrupt_ends_the_watching_without_a_traceback(app: Holdfast, database_url: str):
    app.submit("review")
    watching = WarmProcess(
        [sys.executable, "-m", "holdfast", "jobs", "watch", "--pipeline", "review"],
        env=environment(database_url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        watching.stdout.readline()
        watching.send_signal(2)
        _, errors = watching.communicate(timeout=20)
    finally:
        watching.kill()

    assert (watching.returncode, errors.strip()) == (130, "")


def test_watching_goes_on_after_an_outage(postgres_server: PrivatePostgres, tmp_path: Path):
    url = postgres_server.create_database("watched")
    with Holdfast(url, pipelines=[convert]) as app:
        handle = app.submit("convert", {"pdf": "a"})
    errors = tmp_path / "stderr"
    with errors.open("wb") as stderr:
        watching = WarmProcess(
            [sys.executable, "-m", "holdfast", "jobs", "watch", handle.id, "--every", "100ms"],
            env=environment(url),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    try:
        assert watching.stdout is not None
        watching.stdout.readline()
        postgres_server.stop("immediate")
        until = time.monotonic() + 30
        while b"watching goes on" not in errors.read_bytes():
            assert time.monotonic() < until, errors.read_text()
            time.sleep(0.05)
        postgres_server.start()
        with Holdfast(url, pipelines=[convert]) as app:
            run_inline(app, until=handle.id)
        rest, _ = watching.communicate(timeout=30)
    finally:
        watching.kill()
        watching.communicate()

    assert watching.returncode == 0
    assert "complete" in rest.splitlines()[-1]
    assert errors.read_text().count("watching goes on") == 1


def test_on_a_terminal_a_live_table_is_drawn_in_place(app: Holdfast, database_url: str):
    handle = app.submit("convert", {"pdf": "a"})

    session = on_terminal(
        ["jobs", "watch", handle.id, "--every", "50ms"],
        environment(database_url, COLUMNS="120"),
        act=lambda: run_inline(app, until=handle),
        seen="due",
    )

    assert session.exit_code == 0
    assert session.plain.count("PIPELINE") > 1
    assert "due" in session.plain
    assert "\x1b[32mcomplete" in session.drawn
    last = session.plain.strip().splitlines()[-1]
    assert last.split()[:4] == [handle.id, "convert", "to_xml", "complete"]


@pytest.mark.parametrize("width", ["60", "80", "140"])
def test_on_a_terminal_ids_are_never_cut(
    app: Holdfast, database_url: str, job: Callable[[str], str], width: str
):
    job_id = job("broken")

    session = on_terminal(["jobs", "list"], environment(database_url, COLUMNS=width))

    assert job_id in session.plain
    assert "BUG: 'pages'" in session.plain
    assert "\x1b[31mfailed" in session.drawn


def test_colours_can_be_turned_off(database_url: str, job: Callable[[str], str]):
    job("broken")

    session = on_terminal(["jobs", "list"], environment(database_url, NO_COLOR="1"))

    assert "failed" in session.plain
    assert "\x1b[31m" not in session.drawn
