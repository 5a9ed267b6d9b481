import json
from collections.abc import Callable

from holdfast import Holdfast, Pipeline
from holdfast.classify import Rule, Verdict
from holdfast.testing import Script, run_inline
from tests.cli.conftest import Command, error_of, lines


def test_jobs_are_listed_newest_first_with_what_matters(on_app: Command, job: Callable[[str], str]):
    ids = [job("a"), job("broken"), job("unreachable")]

    result = on_app("jobs", "list")

    assert (result.exit_code, result.stderr) == (0, "")
    heading, *rows = result.stdout.splitlines()
    assert heading.split() == ["ID", "PIPELINE", "STAGE", "STATE", "ATTEMPT", "AGE"]
    assert [row.split()[0] for row in rows] == ids[::-1]
    assert rows[0].split()[3:5] == ["retrying", "1"]
    assert "attempt 2 in " in rows[0]
    assert rows[1].endswith("BUG: 'pages'")
    assert "complete" in rows[2]
    assert all(row == row.rstrip() for row in rows)


def test_a_list_is_one_json_object_a_line(on_app: Command, job: Callable[[str], str]):
    ids = [job("a"), job("b")]

    result = on_app("jobs", "list", "--json")

    assert [line["id"] for line in lines(result.stdout)] == ids[::-1]
    assert lines(result.stdout)[0]["result"] == "<b pages=3/>"


def test_filters_choose_jobs(on_app: Command, app: Holdfast, job: Callable[..., str]):
    complete, failed = job("a", key="k", owner="ada"), job("broken")
    waiting = app.submit("review").id
    run_inline(app)

    def chosen(*arguments: object) -> list[str]:
        result = on_app("jobs", "list", "--json", *arguments)
        assert result.exit_code == 0, result.stderr
        return [line["id"] for line in lines(result.stdout)]

    assert chosen("--state", "complete") == [complete]
    assert chosen("-s", "failed,waiting") == [waiting, failed]
    assert chosen("-s", "failed", "-s", "waiting") == [waiting, failed]
    assert chosen("-p", "review") == [waiting]
    assert chosen("--stage", "to_xml") == [failed, complete]
    assert chosen("--queue", "reviews") == [waiting]
    assert chosen("--owner", "ada") == [complete]
    assert chosen("--key", "k") == [complete]
    assert chosen("--error-class", "BUG") == [failed]
    assert chosen("--since", "1h", "-n", 1) == [waiting]
    assert chosen("--until", "1h") == []
    assert chosen("--since", "2001-01-01", "--until", "2002-01-01T00:00:00+02:00") == []


def test_a_full_page_says_how_to_get_the_next(on_app: Command, job: Callable[[str], str]):
    older, newer = job("a"), job("b")

    first = on_app("jobs", "list", "--limit", 1)
    second = on_app("jobs", "list", "--limit", 1, "--before", newer, "--json")

    assert f"--before {newer}" in first.stderr
    assert [line["id"] for line in lines(second.stdout)] == [older]


def test_an_empty_list_says_so_beside_the_data(on_app: Command, app: Holdfast):
    result = on_app("jobs", "list", "--state", "failed")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No jobs match.\n"


def test_an_unknown_state_is_refused_and_the_states_are_named(on_app: Command):
    result = on_app("jobs", "list", "--state", "retrying")

    assert result.exit_code == 2
    assert "must be one of queued, processing, waiting, complete, failed, cancelled" in (
        result.stderr
    )


def test_a_failed_job_is_shown_with_why_and_what_to_do(on_app: Command, job: Callable[[str], str]):
    job_id = job("broken")

    result = on_app("jobs", "show", job_id)

    assert result.exit_code == 0
    shown = result.stdout
    assert "Failed for good in stage to_xml after 1 attempt." in shown
    assert f"To send it back: holdfast jobs retry {job_id}" in shown
    assert f"holdfast dead show {job_id}" in shown
    assert '{"pdf": "broken"}' in shown
    assert 'fetch  {"pages": 3}' in shown
    assert "exception type  KeyError" in shown
    events = [line.split()[1] for line in shown.partition("History")[2].splitlines()[2:]]
    assert "processing" in shown
    assert len(events) == 5


def test_a_job_is_shown_whole_as_one_json_object(on_app: Command, job: Callable[[str], str]):
    result = on_app("jobs", "show", job("a"), "--json")

    document = json.loads(result.stdout)
    assert document["results"] == {"fetch": {"pages": 3}, "to_xml": "<a pages=3/>"}
    assert [line["event"] for line in document["history"]] == [
        "queued",
        "processing",
        "advanced",
        "processing",
        "completed",
    ]
    assert document["situation"][0].startswith("Complete; it took ")


def test_a_retrying_job_says_what_failed_and_when_it_goes_on(
    on_app: Command, job: Callable[[str], str]
):
    result = on_app("jobs", "show", job("unreachable"))

    assert "Attempt 1 of stage fetch failed with NETWORK_TIMEOUT; attempt 2 is due in " in (
        result.stdout
    )
    assert "stage     fetch, attempt 1 of 3" in result.stdout


def test_a_due_job_says_that_no_worker_serves_its_queue(on_app: Command, app: Holdfast):
    job_id = app.submit("review").id

    result = on_app("jobs", "show", job_id)

    assert "No live worker serves queue reviews." in result.stdout


def test_a_due_job_says_that_its_queue_is_paused_and_by_whom(on_app: Command, app: Holdfast):
    job_id = app.submit("review").id
    app.pause_queue("reviews", by="ada")

    result = on_app("jobs", "show", job_id)

    assert "Queue reviews was paused by ada" in result.stdout
    assert "holdfast queues resume reviews" in result.stdout


def test_a_waiting_job_says_for_what_it_waits(on_app: Command, app: Holdfast):
    job_id = app.submit("review").id
    run_inline(app)

    result = on_app("jobs", "show", job_id)

    assert "Stage ask waits for an answer from outside, for as long as it takes." in result.stdout


def test_an_unknown_id_is_not_found(on_app: Command, app: Holdfast):
    missing = "01900000-0000-7000-8000-000000000000"

    for job_id in (missing, "nonsense"):
        result = on_app("jobs", "show", job_id)

        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr == (
            f"Error: no job has the id '{job_id}'; check the id and the database URL\n"
        )
    assert error_of(on_app("jobs", "show", missing, "--json")) == {
        "code": "unknown_job",
        "message": f"no job has the id '{missing}'; check the id and the database URL",
        "exit_code": 3,
        "job_id": missing,
    }


def test_what_a_terminal_would_obey_is_shown_as_an_escape(on_app: Command, app: Holdfast):
    job_id = app.submit("convert", {"pdf": "\x1b[31mred\x9b2J\u202e"}).id

    plain = on_app("jobs", "show", job_id)
    as_json = on_app("jobs", "show", job_id, "--json")

    for shown in (plain.stdout, as_json.stdout):
        assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
    assert json.loads(as_json.stdout)["payload"] == {"pdf": "\x1b[31mred\x9b2J\u202e"}


def test_a_long_payload_is_cut_for_the_eye_and_whole_in_json(on_app: Command, app: Holdfast):
    job_id = app.submit("convert", {"pdf": "x" * 10_000}).id

    plain = on_app("jobs", "show", job_id)
    as_json = on_app("jobs", "show", job_id, "--json")

    assert "[cut, 10011 characters; --json shows all]" in plain.stdout
    assert len(plain.stdout) < 6_000
    assert json.loads(as_json.stdout)["payload"] == {"pdf": "x" * 10_000}


def test_the_history_tells_how_long_the_upstream_asked_to_wait(
    holdfast: Command, database_url: str
):
    limited = Rule(TimeoutError, Verdict("LIMITED", retryable=True, retry_after_us=40_000_000))
    pipeline = Pipeline("calls")
    pipeline.stage(name="call", rules=[limited])(Script(then=TimeoutError("slow")).handler)
    with Holdfast(database_url, pipelines=[pipeline]) as app:
        job = app.submit(pipeline)
        run_inline(app)

    shown = holdfast("--database-url", database_url, "jobs", "show", job.id).stdout

    assert "again in 40 s · was asked to wait 40 s · LIMITED" in shown


def test_a_job_is_shown_without_the_secrets_of_its_documents(on_app: Command, app: Holdfast):
    job_id = app.submit("convert", {"pdf": "a", "password": "hunter2secret"}).id

    shown = on_app("jobs", "show", job_id).stdout
    whole = on_app("jobs", "show", job_id, "--json").stdout

    assert "hunter2secret" not in shown + whole
    assert "redacted" in shown
    assert "redacted" in whole


def test_addresses_in_a_payload_are_hidden_and_marked(on_app: Command, job: Callable[[str], str]):
    shown = on_app("jobs", "show", job("jane@example.com")).stdout

    assert "jane@example.com" not in shown
    assert "[email:" in shown
