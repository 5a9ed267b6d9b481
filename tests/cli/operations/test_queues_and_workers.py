import json

from holdfast import Holdfast
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import WorkerRow
from tests.cli.conftest import Command, lines
from tests.store.conftest import by_hand


def record(app: Holdfast, name: str, *, seen_s_ago: int, state: str = "running") -> None:
    seen_at = Instant(app.clock.now() - seen_s_ago * SECOND_US)
    app.store.record_worker(
        WorkerRow(
            id=WorkerId(name),
            host="h",
            pid=1,
            started_at=Instant(seen_at - 90 * SECOND_US),
            seen_at=seen_at,
            queues=json.dumps(["default", "reviews"]),
            concurrency=4,
            state=state,
        )
    )


def test_queues_are_listed_with_their_counts(on_app: Command, app: Holdfast):
    app.submit("convert", {"pdf": "a"})
    app.submit("convert", {"pdf": "a"}, delay=60)
    app.pause_queue("reviews", by="ada")

    result = on_app("queues", "list")
    as_json = lines(on_app("queues", "list", "--json").stdout)

    heading, default, reviews = result.stdout.splitlines()
    assert heading.split()[:6] == ["QUEUE", "STATE", "DUE", "SCHEDULED", "PROCESSING", "WAITING"]
    assert default.split()[:6] == ["default", "running", "1", "1", "0", "0"]
    assert reviews.split()[:2] == ["reviews", "paused"]
    assert "by ada" in reviews
    assert [(line["queue"], line["due"], line["paused_by"]) for line in as_json] == [
        ("default", 1, None),
        ("reviews", 0, "ada"),
    ]


def test_a_queue_is_paused_and_resumed_and_twice_is_no_error(on_app: Command, app: Holdfast):
    said = [
        on_app("queues", *arguments).stdout
        for arguments in (
            ["pause", "reviews", "--by", "ada"],
            ["pause", "reviews"],
            ["resume", "reviews"],
            ["resume", "reviews"],
        )
    ]

    assert said == [
        "Queue reviews is paused.\n",
        "Queue reviews is paused, as it was.\n",
        "Queue reviews is running.\n",
        "Queue reviews is running, as it was.\n",
    ]


def test_idle_queues_are_listed_and_a_pause_says_why(on_app: Command, app: Holdfast):
    record(app, "lively", seen_s_ago=5)
    on_app("queues", "pause", "reviews", "--by", "ada", "--reason", "the reviewer is away")

    result = on_app("queues", "list")
    _, reviews = lines(on_app("queues", "list", "--json").stdout)

    _, default, paused = result.stdout.splitlines()
    assert default.split()[:6] == ["default", "running", "0", "0", "0", "0"]
    assert "ago: the reviewer is away" in paused
    assert reviews["paused_reason"] == "the reviewer is away"


def test_pausing_a_queue_that_nobody_knows_warns(on_app: Command, app: Holdfast):
    known = on_app("queues", "pause", "reviews")
    mistyped = on_app("queues", "pause", "review")
    as_json = on_app("queues", "pause", "other", "--json")

    assert "Warning" not in known.stderr
    assert mistyped.stdout == "Queue review is paused.\n"
    assert "Warning: no queue review is known" in mistyped.stderr
    assert "Did you mean reviews?" in mistyped.stderr
    assert json.loads(as_json.stdout)["known"] is False


def test_a_job_whose_lease_has_ended_is_not_being_run(
    on_app: Command, app: Holdfast, database_url: str
):
    app.submit("convert", {"pdf": "a"})
    routes = [Route("default", "convert", "fetch")]
    long_ago = Instant(app.clock.now() - 60 * SECOND_US)
    by_hand(database_url, f"update {{job}} set run_at = {long_ago}")
    app.store.claim(routes, limit=1, holder=WorkerId("w"), lease_us=SECOND_US, now=long_ago)

    default = lines(on_app("queues", "list", "--json").stdout)[0]

    assert (default["processing"], default["expired"]) == (0, 1)
    assert "1 lease has ended; nobody runs it" in on_app("queues", "list").stdout


def test_a_queue_by_an_impossible_name_is_refused(on_app: Command, app: Holdfast):
    result = on_app("queues", "pause", "no queue")

    assert result.exit_code == 2
    assert "queue: name is 'no queue'; it must be a letter" in result.stderr


def test_workers_are_listed_and_the_silent_ones_stand_out(on_app: Command, app: Holdfast):
    record(app, "lively", seen_s_ago=5)
    record(app, "gone", seen_s_ago=600)
    record(app, "ended", seen_s_ago=600, state="stopped")

    result = on_app("workers", "list")
    as_json = lines(on_app("workers", "list", "--json").stdout)

    assert "default, reviews" in result.stdout
    assert {line["id"]: line["state"] for line in as_json} == {
        "lively": "running",
        "gone": "silent",
        "ended": "stopped",
    }


def test_without_workers_and_queues_the_data_is_empty(holdfast: Command, database_url: str):
    for noun in ("workers", "queues"):
        result = holdfast(noun, "list", "--database-url", database_url)

        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr != ""


def test_pausing_and_resuming_are_in_the_record_with_who_and_why(on_app: Command, app: Holdfast):
    on_app("queues", "pause", "reviews", "--by", "ada", "--reason", "too fast")
    on_app("queues", "resume", "reviews", "--by", "bob", "--reason", "all is well")

    said = [(entry.action, entry.done_by, entry.reason) for entry in app.audit(subject="reviews")]
    assert said == [("resumed", "bob", "all is well"), ("paused", "ada", "too fast")]


def test_a_worker_is_told_to_end(on_app: Command, app: Holdfast):
    record(app, "busy", seen_s_ago=1)
    record(app, "idle", seen_s_ago=1)

    said = on_app("workers", "drain", "busy", "--by", "ada", "--reason", "new machine")

    assert said.exit_code == 0
    assert "busy is told" in said.stdout
    states = {
        line["id"]: line["state"] for line in lines(on_app("workers", "list", "--json").stdout)
    }
    assert states == {"busy": "draining", "idle": "running"}
    assert app.store.drains.asked("busy")


def test_a_worker_that_is_gone_or_was_never_there_is_not_told(on_app: Command, app: Holdfast):
    record(app, "gone", seen_s_ago=1, state="stopped")

    assert on_app("workers", "drain", "gone").exit_code == 4
    missing = on_app("workers", "drain", "never")
    assert missing.exit_code == 3
    assert "holdfast workers list" in missing.stderr
