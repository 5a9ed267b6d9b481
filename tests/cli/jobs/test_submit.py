import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from holdfast.cli.jobs.submit_file import CHUNK
from holdfast.testing.inline import run_inline
from holdfast.testing.postgres.server import PrivatePostgres
from tests.cli.conftest import Command, error_of, lines
from tests.cli.sample_app import URL_VARIABLE
from tests.cli.terminal import environment, on_terminal
from tests.warm.process import WarmProcess, run


@pytest.fixture
def on_sqlite(holdfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on the sample application, for tests in which the store does not matter."""
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path / 'one.db'}")
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.sample_app:make")
    return holdfast


def stored(command: Command) -> list[dict]:
    return lines(command("jobs", "list", "--json").stdout)


def test_submitting_prints_the_id_and_nothing_else(on_app: Command, app: Holdfast):
    result = on_app("submit", "convert", '{"pdf": "a"}')

    assert (result.exit_code, result.stderr) == (0, "")
    view = app.job(result.stdout.strip())
    assert (view.payload, view.state) == ({"pdf": "a"}, JobState.QUEUED)


def test_every_option_reaches_the_job(on_app: Command, app: Holdfast):
    result = on_app(
        *("submit", "convert", '{"pdf": "a"}', "--key", "k", "--owner", "ada", "--version", 7),
        *("--queue", "other", "--priority", 3, "--delay", "1h", "--deadline", "2h", "--json"),
    )

    document = json.loads(result.stdout)
    job = app.job(document["id"]).job
    assert document["created"] is True
    assert (job.key, job.owner, job.version, job.queue, job.priority) == ("k", "ada", 7, "other", 3)
    assert timedelta(microseconds=job.run_at - job.created_at) == timedelta(hours=1)
    assert job.deadline_at is not None
    assert timedelta(microseconds=job.deadline_at - job.created_at) == timedelta(hours=2)


def test_a_time_without_an_offset_is_in_utc(on_sqlite: Command):
    result = on_sqlite("submit", "review", "--run-at", "2031-05-06T07:08:09")

    assert result.exit_code == 0
    assert stored(on_sqlite)[0]["run_at"] == "2031-05-06T07:08:09.000000Z"


def test_a_payload_may_come_from_stdin_or_from_a_file(on_sqlite: Command):
    Path("payload.json").write_text('{"pdf": "from a file"}')

    piped = on_sqlite("submit", "convert", "-", input='{"pdf": "from stdin"}')
    read = on_sqlite("submit", "convert", "@payload.json")

    assert (piped.exit_code, read.exit_code) == (0, 0)
    pdfs = {job["payload"]["pdf"] for job in stored(on_sqlite)}
    assert pdfs == {"from a file", "from stdin"}


def test_the_same_key_and_body_name_the_same_job(on_app: Command):
    first = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k")
    second = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k")

    assert second.stdout == first.stdout
    assert "That key names this job already" in second.stderr


def test_the_key_of_a_removed_job_names_it_still(
    on_app: Command, app: Holdfast, monkeypatch: pytest.MonkeyPatch
):
    first = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k").stdout.strip()
    app.cancel(first, by="ada")
    monkeypatch.setenv("HOLDFAST_KEEP_CANCELLED", "0")
    assert on_app("purge").exit_code == 0

    again = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k")
    as_json = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k", "--json")

    assert (again.stdout.strip(), app.jobs()) == (first, [])
    assert "it is cancelled and was removed" in again.stderr
    assert json.loads(as_json.stdout) == {"id": first, "created": False, "state": "cancelled"}


def test_a_key_with_another_body_is_refused_and_names_the_job(on_app: Command):
    first = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k")
    second = on_app("submit", "convert", '{"pdf": "b"}', "--key", "k")
    alone = on_app("submit", "convert", '{"pdf": "b"}', "--key", "k", "--key-alone")

    assert second.exit_code == 4
    assert first.stdout.strip() in second.stderr
    assert "another body" in second.stderr
    assert alone.stdout == first.stdout


def test_a_rerun_needs_a_higher_version(on_app: Command):
    on_app("submit", "convert", '{"pdf": "a"}', "--key", "k")
    refused = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k", "--rerun", "--json")
    made = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k", "--rerun", "--version", 2)

    assert refused.exit_code == 4
    assert error_of(refused)["code"] == "version_conflict"
    assert made.exit_code == 0


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("{", "payload (line 1 column 2): found a syntax error"),
        ('{"pdf": 1, "pdf": 2}', 'payload at /pdf (line 1 column 12): found the key "pdf" twice'),
        ('{"pdf": NaN}', "payload"),
        ('{"pdf": "a\\u0000b"}', "payload at /pdf"),
        ('{"pdf": "\\ud800"}', "payload at /pdf"),
        ('{"pdf": "a", "deep": ' + "[" * 200 + "]" * 200 + "}", "deep"),
        ('{"pdf": 5}', "payload at /pdf: found string_type"),
        ("{}", "payload at /pdf: found nothing; it must be given: a stage needs it"),
        ("@missing.json", "cannot read the payload from 'missing.json': No such file"),
    ],
)
def test_a_bad_payload_is_refused_with_its_place_and_nothing_is_stored(
    on_sqlite: Command, payload: str, message: str
):
    result = on_sqlite("submit", "convert", payload)

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert stored(on_sqlite) == []


def test_a_payload_that_is_too_large_is_refused(on_sqlite: Command):
    result = on_sqlite("submit", "convert", "-", input=json.dumps({"pdf": "x" * 2_000_000}))

    assert result.exit_code == 2
    assert "bytes" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--priority", "9"], "priority is 9; it must be 0 (first) to 3 (last)"),
        (["--version", "0"], "version is 0; it must be from 1 to"),
        (["--delay", "soon"], "'soon' must be a duration such as 500ms, 30s or 5m"),
        (["--run-at", "tomorrow"], "'tomorrow' must be a time such as"),
        (["--deadline", "x"], "'x' must be a duration such as 500ms, 30s or 5m, or a time such as"),
        (["--queue", "no queue"], "it must be a letter, then letters, digits"),
        (["--key", "a\x1bb"], "it must be 1 to 255 printable characters"),
        (["--key", ""], "it must be 1 to 255 printable characters"),
        (["--key", "k" * 256], "it must be 1 to 255 printable characters"),
        (["--rerun"], "used with the key of an earlier job"),
        (["--delay", "1s", "--run-at", "2031-01-01"], "left out: delay is given"),
        (["--timeout", "1s"], "--timeout goes with --wait"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_an_option_outside_its_limits_is_refused(
    on_sqlite: Command, arguments: list[str], message: str
):
    result = on_sqlite("submit", "convert", '{"pdf": "a"}', *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert stored(on_sqlite) == []


def test_an_unknown_pipeline_is_refused_and_the_known_ones_are_named(on_sqlite: Command):
    result = on_sqlite("submit", "print", "{}")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: no pipeline is called 'print'; known: convert, review")


def test_submitting_needs_the_pipelines(holdfast: Command):
    bare = holdfast("submit", "convert", "{}")
    by_url = holdfast("submit", "convert", "{}", "--database-url", "sqlite:///some.db")

    assert (bare.exit_code, by_url.exit_code) == (2, 2)
    assert "-A module:app, or set HOLDFAST_APP" in bare.stderr
    assert "leave --database-url out" in by_url.stderr
    assert not Path("some.db").exists()


def test_waiting_prints_the_result_of_a_complete_job(on_app: Command, app: Holdfast):
    handle = app.submit("convert", {"pdf": "a"}, key="k")
    run_inline(app, until=handle)

    result = on_app("submit", "convert", '{"pdf": "a"}', "--key", "k", "--wait")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [handle.id, '"<a pages=3/>"']


def test_waiting_for_a_job_that_failed_exits_with_one(on_app: Command, app: Holdfast):
    handle = app.submit("convert", {"pdf": "broken"}, key="k")
    run_inline(app, until=handle)

    result = on_app("submit", "convert", '{"pdf": "broken"}', "--key", "k", "--wait", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["error_class"] == "BUG"


def test_waiting_ends_at_its_timeout_and_the_job_goes_on(on_app: Command, app: Holdfast):
    result = on_app("submit", "convert", '{"pdf": "a"}', "--wait", "--timeout", "100ms")

    assert result.exit_code == 1
    assert "It is still due; it goes on without this command." in result.stderr
    assert app.job(result.stdout.strip()).state is JobState.QUEUED


def test_a_file_is_submitted_line_by_line_with_a_result_for_each(on_app: Command, app: Holdfast):
    moment = datetime(2031, 1, 1, tzinfo=UTC)
    Path("jobs.jsonl").write_text(
        '{"payload": {"pdf": "a"}, "key": "k", "priority": 0}\n'
        "\n"
        '{"payload": {"pdf": "a"}, "key": "k"}\n'
        '{"payload": {"pdf": "b"}, "key": "k"}\n'
        '{"payload": {"pdf": "c"}, "run_at": "2031-01-01T00:00:00Z", "owner": null}\n'
        "not JSON\n"
        '{"pdf": "d"}\n'
        '{"payload": {"pdf": "e"}, "priority": true}\n'
        '{"payload": {"pdf": "f"}, "delay": "soon"}\n'
    )

    result = on_app("submit", "convert", "--from-file", "jobs.jsonl", "--owner", "ada", "--json")

    assert result.exit_code == 1
    found = {line["line"]: line for line in lines(result.stdout)}
    assert [number for number, line in found.items() if line["created"]] == [1, 5]
    assert found[3]["id"] == found[1]["id"]
    assert {number: line["error"]["code"] for number, line in found.items() if line["error"]} == {
        4: "key_conflict",
        6: "invalid_document",
        7: "invalid_document",
        8: "invalid_value",
        9: "invalid_value",
    }
    assert "/pdf" in found[7]["error"]["message"]
    assert app.job(found[1]["id"]).job.owner == "ada"
    assert app.job(found[5]["id"]).run_at == moment


def test_a_file_with_no_flaw_exits_with_zero_and_prints_plain_lines(on_sqlite: Command):
    text = "".join(json.dumps({"payload": {"pdf": str(n)}}) + "\n" for n in range(2_500))

    result = on_sqlite("submit", "convert", "--from-file", "-", input=text)

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2_500
    assert result.stdout.splitlines()[-1].startswith("line 2500  created  ")
    assert result.stderr.splitlines()[-1] == "2500 created, 0 known already, 0 refused."


def test_results_go_to_stdout_also_while_a_bar_is_drawn_on_the_terminal(tmp_path: Path):
    Path("jobs.jsonl").write_text('{"payload": {"pdf": "a"}}\n' * 1_500)
    ours, theirs = pty.openpty()

    result = run(
        [sys.executable, "-m", "holdfast", "submit", "convert", "--from-file", "jobs.jsonl"],
        env=environment(f"sqlite:///{tmp_path / 'one.db'}", TERM="xterm", COLUMNS="100"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    drawn = os.read(ours, 65_536)
    os.close(ours)

    assert len(result.stdout.splitlines()) == 1_500
    assert b"Submitting" in drawn


def test_on_a_terminal_only_what_is_refused_is_told(tmp_path: Path):
    Path("jobs.jsonl").write_text('{"payload": {"pdf": "a"}}\nnot JSON\n')

    session = on_terminal(
        ["submit", "convert", "--from-file", "jobs.jsonl"],
        environment(f"sqlite:///{tmp_path / 'one.db'}"),
    )

    assert session.exit_code == 1
    assert "\nline 2  refused  line 2 (line 1 column 1): found a syntax error" in session.plain
    assert "line 1  created" not in session.plain
    assert session.plain.rstrip().endswith("1 created, 0 known already, 1 refused.")


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(on_sqlite: Command):
    long = json.dumps({"payload": {"pdf": "x" * 3_000_000}})
    text = f'{long}\n{{"payload": {{"pdf": "next"}}}}'

    result = on_sqlite("submit", "convert", "--from-file", "-", "--json", input=text)

    assert result.exit_code == 1
    first, second = lines(result.stdout)
    assert "bytes" in first["error"]["message"]
    assert (second["line"], second["created"]) == (2, True)


def test_an_outage_ends_the_submitting_of_a_file_and_says_how_far_it_came(
    postgres_server: PrivatePostgres,
):
    url = postgres_server.create_database("bulk")
    line = json.dumps({"payload": {"pdf": "a"}}) + "\n"
    submitting = WarmProcess(
        [sys.executable, "-m", "holdfast", "submit", "convert", "--from-file", "-"],
        env=environment(url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert submitting.stdin is not None
        assert submitting.stdout is not None
        submitting.stdin.write(line * CHUNK)
        submitting.stdin.flush()
        for _ in range(CHUNK):
            submitting.stdout.readline()
        postgres_server.stop("immediate")
        _, errors = submitting.communicate(line * 3, timeout=30)
    finally:
        submitting.kill()
        submitting.communicate()

    assert submitting.returncode == 5, errors
    first, second = errors.splitlines()
    assert first.startswith(f"Stopped at line {CHUNK + 1} ({CHUNK} created, 0 known already,")
    assert second.startswith("Error: cannot reach postgresql://")


def test_a_database_that_cannot_be_used_is_said_once_and_not_once_a_line(
    on_sqlite: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me@127.0.0.1:1/none")
    text = '{"payload": {"pdf": "a"}}\n' * 3

    result = on_sqlite("submit", "convert", "--from-file", "-", input=text)

    assert (result.exit_code, result.stdout) == (5, "")
    assert len(result.stderr.splitlines()) == 1
    assert "Connection refused" in result.stderr


def test_a_file_that_is_not_there_is_named(on_sqlite: Command):
    result = on_sqlite("submit", "convert", "--from-file", "gone.jsonl")

    assert result.exit_code == 2
    assert "cannot read 'gone.jsonl': No such file or directory" in result.stderr


def test_payload_and_file_together_are_refused(on_sqlite: Command):
    result = on_sqlite("submit", "convert", "{}", "--from-file", "x.jsonl")

    assert result.exit_code == 2
    assert "leave PAYLOAD and --wait out" in result.stderr
