import getpass
import json
from collections.abc import Callable

import pytest

from holdfast import Holdfast, JobFilter, JobState, Submit
from holdfast.cli.jobs.bulk import CHUNK, MANY, Verb
from holdfast.cli.shell.options import Filter
from holdfast.cli.shell.output import Output
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.engine.jobs.changes import Chunk
from holdfast.runtime.kernel.clock import Chance
from tests.cli.conftest import Command, error_of, lines
from tests.cli.terminal import environment, on_terminal


def states(app: Holdfast) -> dict[str, JobState]:
    return {view.id: view.state for view in app.jobs()}


def test_a_failed_job_is_sent_back_in_the_name_of_the_os_user(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    job_id = job("broken")

    result = on_app("jobs", "retry", job_id, "--reason", "mended")

    assert result.exit_code == 0
    assert result.stdout == f"{job_id}  sent back, now due\n"
    last = app.history(job_id)[-1]
    assert (last.event, last.meta["by"], last.meta["reason"]) == (
        "revived",
        getpass.getuser(),
        "mended",
    )
    assert app.job(job_id).job.stage == "to_xml"


def test_a_job_sent_back_from_the_start_begins_at_the_first_stage(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    job_id = job("broken")

    result = on_app("jobs", "retry", job_id, "--from-start", "--by", "ada", "--json")

    assert json.loads(result.stdout) == {
        "id": job_id,
        "state": "queued",
        "stage": "fetch",
        "changed": True,
    }


def test_a_job_in_another_state_is_refused(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    job_id = job("a")

    retried = on_app("jobs", "retry", job_id)
    cancelled = on_app("jobs", "cancel", job_id, "--json")

    assert (retried.exit_code, cancelled.exit_code) == (4, 4)
    assert f"cannot retry job {job_id}: it is complete" in retried.stderr
    assert error_of(cancelled)["state"] == "complete"
    assert states(app) == {job_id: JobState.COMPLETE}


def test_cancelling_ends_a_job_and_keeps_the_reason(on_app: Command, app: Holdfast):
    job_id = app.submit("review").id

    result = on_app("jobs", "cancel", job_id, "--by", "ada", "--reason", "not needed")
    shown = on_app("jobs", "show", job_id)

    assert result.stdout == f"{job_id}  cancelled\n"
    assert "Cancelled by ada: not needed" in shown.stdout


def test_each_of_several_jobs_has_a_result_of_its_own(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    failed, complete, missing = job("broken"), job("a"), "01900000-0000-7000-8000-000000000000"

    result = on_app("jobs", "retry", failed, complete, missing, "--json")

    assert result.exit_code == 1
    found = {line["id"]: line for line in lines(result.stdout)}
    assert found[failed]["changed"] is True
    assert found[complete]["error"]["code"] == "wrong_state"
    assert found[missing]["error"]["code"] == "unknown_job"


def test_several_jobs_refused_for_one_reason_exit_with_its_code(
    on_app: Command, job: Callable[[str], str]
):
    assert on_app("jobs", "retry", job("a"), job("b")).exit_code == 4


def test_all_that_match_are_sent_back_and_no_others(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    failed = {job("broken") for _ in range(5)}
    others = {job("a"), job("unreachable")}

    result = on_app("jobs", "retry", "--error-class", "BUG", "--yes")

    assert result.exit_code == 0
    assert result.stderr == "5 jobs will be sent back.\n"
    assert result.stdout == "5 jobs sent back.\n"
    found = states(app)
    assert {found[job_id] for job_id in failed} == {JobState.QUEUED}
    assert {found[job_id] for job_id in others} == {JobState.COMPLETE, JobState.QUEUED}


def test_more_jobs_than_fit_in_a_chunk_are_all_changed(on_app: Command, app: Holdfast):
    count = 2 * CHUNK + 1
    app.submit_many("review", [Submit() for _ in range(count)])

    result = on_app("jobs", "cancel", "-q", "reviews", "--confirm-count", count, "--yes", "--json")

    assert lines(result.stdout) == [
        {"matched": count, "changed": count, "refused": {}, "dry_run": False}
    ]
    assert {view.state for view in app.jobs(limit=count)} == {JobState.CANCELLED}


def test_cancelling_by_filter_takes_active_jobs_only(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    ended, active = job("a"), [app.submit("review").id, app.submit("review", delay=60).id]

    result = on_app("jobs", "cancel", "--since", "1h", "--yes", "--json")

    assert lines(result.stdout) == [{"matched": 2, "changed": 2, "refused": {}, "dry_run": False}]
    assert states(app) == {ended: JobState.COMPLETE} | dict.fromkeys(active, JobState.CANCELLED)


def test_a_dry_run_counts_and_changes_nothing(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    failed, complete = job("broken"), job("a")

    by_filter = on_app("jobs", "retry", "--pipeline", "convert", "--dry-run")
    by_id = on_app("jobs", "retry", failed, "--dry-run")
    refused = on_app("jobs", "retry", complete, "--dry-run")

    assert by_filter.stdout == "1 job would be sent back.\n"
    assert by_id.stdout == f"{failed}  would be sent back\n"
    assert (refused.exit_code, refused.stdout) == (
        4,
        f"{complete}  is complete and would not be sent back\n",
    )
    assert states(app)[failed] is JobState.FAILED


def test_without_yes_nothing_is_changed_where_nobody_can_answer(
    on_app: Command, app: Holdfast, job: Callable[[str], str]
):
    job_id = job("broken")

    result = on_app("jobs", "retry", "--all", input="y\n")

    assert result.exit_code == 2
    assert "1 job will be sent back. Say --yes to do it" in result.stderr
    assert states(app) == {job_id: JobState.FAILED}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("y\r", (0, JobState.QUEUED, "1 job sent back.")),
        ("n\r", (1, JobState.FAILED, "Nothing was changed.")),
        ("\r", (1, JobState.FAILED, "Nothing was changed.")),
        ("\x04", (130, JobState.FAILED, "")),
    ],
    ids=["yes", "no", "just return", "end of input"],
)
def test_on_a_terminal_a_person_is_asked(
    app: Holdfast,
    database_url: str,
    job: Callable[[str], str],
    keys: str,
    expected: tuple[int, JobState, str],
):
    job_id = job("broken")

    session = on_terminal(["jobs", "retry", "--all"], environment(database_url), keys=keys)

    exit_code, state, said = expected
    assert "1 job will be sent back. Go on? [y/N]:" in session.plain
    assert session.exit_code == exit_code
    assert said in session.plain
    assert states(app) == {job_id: state}


def test_jobs_that_are_made_after_the_count_are_left_alone(app: Holdfast):
    counted = app.submit("review").id
    later: list[str] = []

    def many(matching: JobFilter, before: str | None) -> Chunk:
        later.append(app.submit("review").id)
        return app.cancel_many(matching, by="ada", before=before)

    verb = Verb(
        Output(as_json=True),
        app,
        name="cancel",
        done="cancelled",
        states=(JobState.QUEUED,),
        one=lambda job_id: app.cancel(job_id, by="ada"),
        many=many,
    )
    everything = Filter(state=(), since=None, until=None)
    verb.run([], everything, everything=True, yes=True, dry_run=False)

    assert states(app) == {counted: JobState.CANCELLED, later[0]: JobState.QUEUED}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which jobs to retry: ids, or a filter such as --pipeline, or --all"),
        (["some-id", "--pipeline", "p"], "name jobs by id, or give a filter, not both"),
        (["--state", "complete", "--yes"], "only failed jobs allow retry"),
        (["--all", "--by", "a\nb"], "it must be 1 to 255 printable characters"),
    ],
)
def test_a_verb_that_is_not_clear_is_refused(
    on_app: Command, app: Holdfast, arguments: list[str], message: str
):
    result = on_app("jobs", "retry", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


def test_cancelling_many_needs_a_filter(on_app: Command, app: Holdfast):
    job_id = app.submit("review").id

    bare, everything = on_app("jobs", "cancel", "--yes"), on_app("jobs", "cancel", "--all", "--yes")

    assert (bare.exit_code, everything.exit_code) == (2, 2)
    assert "say which jobs to cancel: ids, or a filter such as --pipeline" in bare.stderr
    assert states(app) == {job_id: JobState.QUEUED}


def test_above_a_hundred_jobs_their_number_has_to_be_said(on_app: Command, app: Holdfast):
    app.submit_many("review", [Submit() for _ in range(MANY + 1)])
    cancel = ("jobs", "cancel", "--queue", "reviews")

    agreed = on_app(*cancel, "--yes")
    wrong = on_app(*cancel, "--confirm-count", MANY, "--yes")
    untouched = {view.state for view in app.jobs(limit=MANY + 1)}
    right = on_app(*cancel, "--confirm-count", MANY + 1, "--yes")

    assert (agreed.exit_code, wrong.exit_code, right.exit_code) == (2, 4, 0)
    assert "Say --confirm-count 101 to do it" in agreed.stderr
    assert "not the number that was confirmed, 100" in wrong.stderr
    assert untouched == {JobState.QUEUED}
    assert right.stdout == "101 jobs cancelled.\n"


def test_a_hundred_jobs_take_no_number(on_app: Command, app: Holdfast):
    app.submit_many("review", [Submit() for _ in range(MANY)])

    assert on_app("jobs", "cancel", "-q", "reviews", "--yes").stdout == "100 jobs cancelled.\n"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [("101\r", (0, JobState.CANCELLED)), ("y\r", (1, JobState.QUEUED))],
    ids=["the number", "yes"],
)
def test_on_a_terminal_the_number_of_jobs_is_typed(
    app: Holdfast, database_url: str, keys: str, expected: tuple[int, JobState]
):
    app.submit_many("review", [Submit() for _ in range(MANY + 1)])

    command = ["jobs", "cancel", "-q", "reviews"]
    session = on_terminal(command, environment(database_url), keys=keys)

    assert "101 jobs will be cancelled. Type the number to go on" in session.plain
    assert (session.exit_code, app.jobs()[0].state) == expected


def test_when_nothing_matches_nothing_is_asked(on_app: Command, app: Holdfast):
    result = on_app("jobs", "cancel", "--queue", "reviews")

    assert (result.exit_code, result.stdout) == (0, "No jobs match.\n")


def test_the_engine_goes_on_behind_the_last_job_of_a_chunk(
    app: Holdfast, job: Callable[[str], str]
):
    ids = [job("broken") for _ in range(3)]

    first = app.retry_many(JobFilter(), by="ada", limit=2)
    second = app.retry_many(JobFilter(), by="ada", limit=2, before=first.before)

    assert (first.matched, first.changed, first.before) == (2, 2, ids[1])
    assert (second.matched, second.changed, second.before) == (1, 1, None)


def test_a_filter_without_a_state_the_action_can_change_matches_nothing(
    app: Holdfast, job: Callable[[str], str]
):
    job("a")

    chunk = app.cancel_many(JobFilter(states=(JobState.COMPLETE,)), by="ada")

    assert chunk == (0, 0, None, {})


class Meddling(Chance):
    """Chance that lets something else happen first, once, while a decision is made."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self._meddle: Callable[[], object] | None = meddle

    def roll(self) -> float:
        meddle, self._meddle = self._meddle, None
        if meddle is not None:
            meddle()
        return super().roll()


def test_a_job_that_moves_on_meanwhile_is_cancelled_all_the_same(app: Holdfast, database_url: str):
    for _ in range(3):
        app.submit("review")
    route = Route("reviews", "review", "ask")

    def claim() -> None:
        claimed = app.store.claim(
            [route], limit=1, holder=WorkerId("w"), lease_us=60_000_000, now=app.clock.now()
        )
        assert len(claimed) == 1

    with Holdfast(database_url, chance=Meddling(claim)) as operator:
        chunk = operator.cancel_many(JobFilter(), by="ada")

    assert (chunk.matched, chunk.changed) == (3, 3)
    assert set(states(app).values()) == {JobState.CANCELLED}
