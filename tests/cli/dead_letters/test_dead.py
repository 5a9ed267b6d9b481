import getpass
import json
from collections.abc import Callable

import pytest

from holdfast import GiveUp, Holdfast, JobState, Pipeline
from holdfast.core.job.decision import Decision
from holdfast.core.job.event import Done
from holdfast.core.job.job import WorkerId
from holdfast.core.job.lifecycle import decide
from holdfast.core.job.plan import Route
from holdfast.testing.inline import run_inline
from tests.cli.conftest import Command, error_of, lines
from tests.cli.terminal import environment, on_terminal

NOBODY = "01900000-0000-7000-8000-000000000000"

Jobs = Callable[..., str]


@pytest.fixture
def broken(job: Jobs) -> str:
    return job("broken", key="order-17", trace="trace-1")


def worked_through(app: Holdfast, letter_id: str) -> None:
    app.dead.triage(letter_id, cause="code_defect", by="ada", note="pages may be absent")
    app.dead.remediate(letter_id, evidence="INC-7, release 41", by="ada")


def completed(app: Holdfast, job_id: str) -> None:
    """Send the job back, and let its stage end well."""
    worked_through(app, job_id)
    app.dead.replay(job_id, by="ada")
    succeed(app)


def succeed(app: Holdfast) -> None:
    """Do the work of the one job that is due, as a worker with the mended code would."""
    route, now = Route("default", "convert", "to_xml"), app.clock.now()
    (job,) = app.store.claim([route], limit=1, holder=WorkerId("w"), lease_us=10**9, now=now)
    plan = app.store.load_plan(job.pipeline, job.plan)
    assert plan is not None
    decision = decide(job, Done('"<xml/>"'), plan, now, 0.5)
    assert isinstance(decision, Decision)
    app.store.apply([decision])


def test_the_list_names_the_failure_and_how_the_letter_stands(on_app: Command, broken: str):
    result = on_app("dead", "list")

    assert result.exit_code == 0
    heading, line = result.stdout.splitlines()
    assert heading.split()[:3] == ["ID", "STANDING", "ERROR"]
    assert line.split()[:6] == [broken, "open", "BUG", "convert", "to_xml", "1"]
    assert line.endswith("'pages'")


def test_the_list_as_json_is_one_document_a_line(on_app: Command, broken: str, job: Jobs):
    other = job("broken")

    documents = lines(on_app("dead", "list", "--json").stdout)

    assert [document["id"] for document in documents] == [other, broken]
    assert documents[0]["standing"] == "open"
    assert documents[0]["sanitized_context"]["payload"]["bytes"] == len('{"pdf":"broken"}')
    assert "broken" not in json.dumps(documents[0]["sanitized_context"])


def test_the_list_is_filtered(on_app: Command, app: Holdfast, broken: str, job: Jobs):
    job("broken", owner="bob")
    app.dead.triage(broken, cause="data", by="ada")

    def found(*options: str) -> list[str]:
        return [one["id"] for one in lines(on_app("dead", "list", "--json", *options).stdout)]

    assert found("--state", "triaged") == [broken]
    assert found("--owner", "bob", "--state", "open,triaged") != [broken]
    assert found("--pipeline", "review") == []
    assert found("--stage", "to_xml", "--queue", "default", "--error-class", "BUG") == found()
    assert found("--escalated") == []
    assert found("--since", "1h") == found()
    assert found("--until", "1h") == []
    assert found("--group", app.dead.get(broken).letter.fingerprint) == found()


def test_resolved_letters_are_listed_only_when_asked_for(
    on_app: Command, app: Holdfast, broken: str
):
    app.dead.resolve(broken, note="not needed", by="ada", unreplayed=True)

    usual = on_app("dead", "list")
    resolved = on_app("dead", "list", "--state", "resolved")

    assert (usual.stdout, usual.stderr) == ("", "No dead letters wait for anybody.\n")
    assert broken in resolved.stdout


def test_a_page_names_the_next(on_app: Command, job: Jobs):
    first, second = job("broken"), job("broken")

    page = on_app("dead", "list", "--limit", "1")
    following = on_app("dead", "list", "--limit", "1", "--before", second)

    assert second in page.stdout
    assert f"--before {second}" in page.stderr
    assert first in following.stdout


def test_an_unknown_state_names_the_known_ones(on_app: Command, broken: str):
    result = on_app("dead", "list", "--state", "buried")

    assert result.exit_code == 2
    assert "open, triaged, remediated, replayed, resolved" in result.stderr


def test_on_a_narrow_terminal_the_message_stands_below_its_letter(database_url: str, broken: str):
    shown = on_terminal(["dead", "list"], environment(database_url, COLUMNS="80")).plain

    heading, line, message = shown.splitlines()
    assert heading.split() == ["ID", "STANDING", "PIPELINE", "STAGE", "AGE"]
    assert line.split()[:4] == [broken, "open", "convert", "to_xml"]
    assert message == "  BUG: 'pages'"


def test_letters_of_one_cause_are_one_line(on_app: Command, app: Holdfast, job: Jobs, broken: str):
    job("broken")

    result = on_app("dead", "groups")
    (document,) = lines(on_app("dead", "groups", "--json").stdout)

    fingerprint = app.dead.get(broken).letter.fingerprint
    line = result.stdout.splitlines()[1]
    assert line.split()[:6] == [fingerprint, "2", "BUG", "convert", "to_xml", "developer"]
    assert line.endswith(
        "'pages'. Find the place in the stack, deploy a fix, then replay the group."
    )
    assert f"--group {fingerprint}" in result.stderr
    assert (document["fingerprint"], document["letters"]) == (fingerprint, 2)
    assert document["pipelines"] == ["convert"]
    assert document["first_failure_at"].endswith("Z")


def test_on_a_narrow_terminal_the_message_stands_below_its_group(database_url: str, broken: str):
    shown = on_terminal(["dead", "groups"], environment(database_url, COLUMNS="80")).plain

    heading, line, message, _ = shown.splitlines()
    assert heading.split() == [
        *("FINGERPRINT", "LETTERS", "ERROR", "CLASS", "PIPELINES", "STAGE", "WHOSE", "MOVE", "LAST")
    ]
    assert line.split()[1:5] == ["1", "BUG", "convert", "to_xml"]
    assert message.startswith("  'pages'. Find the place in the stack, deploy a fix")


def test_escalations_have_a_column_where_there_are_any(on_app: Command, app: Holdfast, broken: str):
    before = on_app("dead", "groups").stdout
    worked_through(app, broken)
    app.dead.replay(broken, by="ada")
    run_inline(app)
    after = on_app("dead", "groups").stdout

    assert "ESCALATED" not in before
    heading, line = after.splitlines()
    assert heading.split()[:3] == ["FINGERPRINT", "LETTERS", "ESCALATED"]
    assert line.split()[1:3] == ["1", "1"]


def test_of_many_pipelines_with_one_cause_the_line_names_a_few(
    holdfast: Command, database_url: str
):
    def refuse(job):
        raise GiveUp("GATEWAY_DOWN", "no answer")

    pipelines = [Pipeline(name) for name in ("orders", "invoices", "returns", "offers")]
    for pipeline in pipelines:
        pipeline.stage(name="call")(refuse)
    with Holdfast(database_url, pipelines=pipelines) as app:
        for pipeline in pipelines:
            app.submit(pipeline)
        run_inline(app)

    result = holdfast("--database-url", database_url, "dead", "groups")

    assert " GATEWAY_DOWN  invoices, offers and 2 more  call " in result.stdout


def test_without_letters_there_are_no_groups(on_app: Command, app: Holdfast):
    assert on_app("dead", "groups").stderr == "No dead letters wait for anybody.\n"


def test_a_letter_is_shown_with_all_that_is_known(on_app: Command, broken: str):
    shown = on_app("dead", "show", broken).stdout

    assert shown.startswith(f"Dead letter {broken}\nFailed in stage to_xml after 1 attempt: BUG.\n")
    assert f"holdfast dead triage {broken} --cause code_defect" in shown
    for fact in ("order-17", "trace-1", "16 bytes, sha256 ", "attempt 1 of 3", "KeyError"):
        assert fact in shown
    assert "sample_app.py" in shown
    assert "completed" not in shown
    assert "failed" in shown.rpartition("History")[2]
    assert "What was done" not in shown


def test_a_letter_as_json_has_the_fields_of_a_dead_message_too(on_app: Command, broken: str):
    document = json.loads(on_app("dead", "show", broken, "--json").stdout)

    assert document["error_class"] == "BUG"
    assert "sample_app.py" in document["last_stack"]
    assert document["record"] == {
        "requestId": broken,
        "submissionId": "order-17",
        "failureReason": "BUG",
        "attemptsMade": 1,
        "lastError": "'pages'",
        "timestamp": document["last_failure_at"],
    }
    assert [line["event"] for line in document["history"]][-1] == "failed"
    assert document["situation"]


def test_the_steps_lead_from_one_to_the_next(on_app: Command, app: Holdfast, broken: str):
    triaged = on_app(
        "dead", "triage", broken, "--cause", "code_defect", "--note", "absent", "--by", "ada"
    )
    remediated = on_app("dead", "remediate", broken, "--evidence", "release 41")
    app.dead.replay(broken, by="ada")
    succeed(app)
    resolved = on_app("dead", "resolve", broken, "--note", "delivered")
    shown = on_app("dead", "show", broken).stdout

    assert triaged.stdout == f"{broken}  triaged\n"
    assert f"holdfast dead remediate {broken}" in triaged.stderr
    assert remediated.stdout == f"{broken}  remediated\n"
    assert f"holdfast dead replay {broken}" in remediated.stderr
    assert resolved.stdout == f"{broken}  resolved\n"
    assert resolved.stderr == "Resolved, just now: delivered\n"
    assert app.job(broken).state is JobState.COMPLETE
    done = shown.partition("What was done")[2].partition("History")[0]
    for line in ("triaged", "code_defect · absent", "remediated", "release 41", "replayed"):
        assert line in done
    assert getpass.getuser() in done
    assert done.index("triaged") < done.index("resolved")


def test_a_step_that_is_missing_is_named(on_app: Command, broken: str):
    result = on_app("dead", "remediate", broken, "--evidence", "x", "--json")

    assert result.exit_code == 4
    error = error_of(result)
    assert (error["code"], error["missing"], error["state"]) == ("step_missing", "triage", "open")
    assert f"holdfast dead triage {broken}" in error["message"]


def test_a_letter_is_not_resolved_before_its_job_is_complete(
    on_app: Command, app: Holdfast, broken: str
):
    worked_through(app, broken)
    app.dead.replay(broken, by="ada")

    result = on_app("dead", "resolve", broken, "--note", "surely fine")

    assert result.exit_code == 4
    assert "not complete" in result.stderr
    assert app.dead.get(broken).standing == "replaying"


def test_a_letter_can_be_dismissed_when_that_is_said(on_app: Command, app: Holdfast, broken: str):
    refused = on_app("dead", "resolve", broken, "--note", "obsolete")
    dismissed = on_app("dead", "resolve", broken, "--note", "obsolete", "--unreplayed", "--json")
    shown = on_app("dead", "show", broken).stdout

    assert refused.exit_code == 4
    assert json.loads(dismissed.stdout)["dismissed"] is True
    assert "Dismissed, its job never completed" in shown
    assert "dismissed" in shown.partition("What was done")[2]


def test_verified_and_cancelled_letters_say_how_to_close_them(
    on_app: Command, app: Holdfast, broken: str, job: Jobs
):
    other = job("broken", key="order-18")
    completed(app, broken)
    worked_through(app, other)
    app.dead.replay(other, by="ada")
    replaying = on_app("dead", "show", other).stdout
    app.cancel(other, by="ada")

    verified, cancelled = (on_app("dead", "show", one).stdout for one in (broken, other))

    assert f"to watch: holdfast jobs show {other}" in replaying
    assert f"holdfast dead resolve {broken} --note …" in verified
    assert f"holdfast dead resolve {other} --unreplayed --note …" in cancelled


def test_a_letter_that_fails_again_is_shown_as_escalated(
    on_app: Command, app: Holdfast, broken: str
):
    worked_through(app, broken)
    app.dead.replay(broken, by="ada")
    run_inline(app)

    shown = on_app("dead", "show", broken).stdout

    assert "failed for good 2 times" in shown
    assert "those who wrote the code" in shown
    assert "escalated" in on_app("dead", "list", "--escalated").stdout


@pytest.mark.parametrize("letter_id", [NOBODY, "no-id"])
@pytest.mark.parametrize(
    "command",
    [
        ("show",),
        ("triage", "--cause", "data"),
        ("remediate", "--evidence", "x"),
        ("resolve", "--note", "x"),
    ],
    ids=lambda command: command[0],
)
def test_an_unknown_letter_is_not_found(
    on_app: Command, app: Holdfast, command: tuple[str, ...], letter_id: str
):
    result = on_app("dead", command[0], letter_id, *command[1:], "--json")

    assert result.exit_code == 3
    assert error_of(result)["code"] == "unknown_letter"


def test_secrets_in_notes_are_not_kept(on_app: Command, broken: str):
    on_app("dead", "triage", broken, "--cause", "auth_config", "--note", "password=hunter2secret")

    shown = on_app("dead", "show", broken).stdout

    assert "hunter2secret" not in shown
    assert "redacted" in shown


def test_show_says_whose_move_it_is_and_where_to_read_on(on_app: Command, broken: str):
    shown = " ".join(on_app("dead", "show", broken).stdout.split())
    (document,) = lines(on_app("dead", "show", broken, "--json").stdout)
    (group,) = lines(on_app("dead", "groups", "--json").stdout)

    assert "whose move the developers of this application" in shown
    assert "likely cause code_defect" in shown
    assert "runbook docs/runbook.md#a-failure-is-critical" in shown
    assert f"then triage it: holdfast dead triage {broken} --cause code_defect" in shown
    assert document["advice"]["whose_move"] == "developer"
    assert group["advice"] == document["advice"]
