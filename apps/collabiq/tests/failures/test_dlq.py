"""The dead letter queue: files that follow, and what people do about entries."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collabiq import DLQEntry
from collabiq.failures.dlq import DeadLetterQueue
from collabiq.refusals import AlreadyProcessed, DeadLetterNotFound, Invalid, Refused, WrongState
from holdfast import GiveUp, JobState, Pipeline
from holdfast.testing import drain

EMAIL = "19a3f3f856f0b4d4"
BAD_SELECT = GiveUp("INVALID", "협업강도: no such option")


def folder_of(world) -> Path:
    return world.config.data_dir / "dlq"


def files_of(world) -> list[Path]:
    return sorted(folder_of(world).glob("*/*.json"), key=lambda path: path.name)


def document_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def dead(world, queue: DeadLetterQueue, stage: str = "notion_write", email_id: str = EMAIL) -> str:
    """A mail that failed for good at a stage; returns the id of its entry."""
    world.failing[stage] = BAD_SELECT
    world.mail(email_id)
    queue.mirror.flush()
    return files_of(world)[-1].stem


def test_a_mail_that_fails_has_its_file_in_the_form_of_the_records(world, queue):
    dlq_id = dead(world, queue)

    path = folder_of(world) / "notion_write" / f"{dlq_id}.json"
    entry = DLQEntry.from_json(document_of(path))
    assert dlq_id == f"dlq_20260101_000000_000000_{EMAIL}"
    assert (entry.email_id, entry.status.value, entry.processed) == (EMAIL, "pending", False)
    assert entry.original_payload == {
        "email_id": EMAIL,
        "database_id": "rows-1",
        "properties": {"Title": "Breeze-Shinsegae"},
    }
    assert entry.error_details["error_message"] == "협업강도: no such option"
    assert queue.show(dlq_id) == entry.to_json()


@pytest.mark.parametrize(
    ("stage", "operation", "payload"),
    [
        ("gmail_fetch", "gmail_fetch", {"email_id": EMAIL}),
        (
            "gemini_extract",
            "gemini_extract",
            {"text": "We met.", "subject": "Breeze × Shinsegae", "sender": "Kim"},
        ),
        ("match", "notion_write", {"extraction": {"startup_name": "Breeze"}}),
    ],
)
def test_each_stage_is_an_operation_with_what_a_replay_needs(
    world, queue, stage: str, operation: str, payload: dict[str, Any]
):
    dlq_id = dead(world, queue, stage)

    entry = queue.show(dlq_id)

    assert entry["operation_type"] == operation
    assert entry["original_payload"].items() >= payload.items()


def test_entries_are_listed_oldest_first_and_by_operation_and_status(world, queue):
    first = dead(world, queue, "gmail_fetch", "aaa")
    world.failing.clear()
    second = dead(world, queue, "gemini_extract", "bbb")
    queue.complete(first, by="ada", reason="read by hand")

    def ids(**wanted: str) -> list[str]:
        return [entry["dlq_id"] for entry in queue.list(**wanted)["entries"]]

    assert ids() == [first, second]
    assert ids(operation_type="gemini_extract") == [second]
    assert ids(status="completed") == [first]
    assert ids(operation_type="gmail_fetch", status="pending") == []
    with pytest.raises(Invalid):
        queue.list(operation_type="fax_send")
    with pytest.raises(Invalid):
        queue.list(status="lost")


def test_a_corrected_file_is_what_a_replay_sends_and_then_it_is_refused(world, queue):
    dlq_id = dead(world, queue)
    (path,) = files_of(world)
    payload = {"database_id": "rows-1", "properties": {"Title": "Corrected"}}
    path.write_text(json.dumps({**document_of(path), "original_payload": payload}))
    world.failing.clear()

    replaying = queue.replay(dlq_id, by="ada")
    with pytest.raises(WrongState):
        queue.replay(dlq_id, by="ada")
    drain(world.engine)
    queue.mirror.flush()

    assert replaying["status"] == "replaying"
    assert world.rows == [{"Title": "Corrected"}]
    assert (document_of(path)["status"], document_of(path)["processed"]) == ("completed", True)
    assert json.loads((folder_of(world) / ".processed_ids.json").read_text()) == [dlq_id]
    with pytest.raises(AlreadyProcessed):
        queue.replay(dlq_id, by="ada")
    with pytest.raises(AlreadyProcessed):
        queue.replace(dlq_id, payload, by="ada")


def test_a_payload_is_replaced_after_checks(world, queue):
    dlq_id = dead(world, queue)

    for payload in (
        {"database_id": "somebody-elses", "properties": {"Title": "x"}},
        {"database_id": "rows-1"},
        {},
        ["properties"],
    ):
        with pytest.raises(Invalid) as refused:
            queue.replace(dlq_id, payload, by="ada")
        assert refused.value.pointers
    given = {"database_id": "rows-1", "properties": {"Title": "Better"}}
    entry = queue.replace(dlq_id, given, by="ada")

    assert entry["original_payload"] == given
    assert document_of(files_of(world)[0])["original_payload"] == given


PLANTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another database": lambda entry: {
        **entry,
        "original_payload": {"database_id": "theirs", "properties": {"a": 1}},
    },
    "another mail": lambda entry: {
        **entry,
        "email_id": "other",
        "original_payload": {"database_id": "rows-1", "properties": {"a": 1}},
    },
    "a nonsense status": lambda entry: {**entry, "status": "whatever"},
    "an unknown operation": lambda entry: {**entry, "operation_type": "fax_send"},
    "another id": lambda entry: {**entry, "dlq_id": "dlq_20260101_000000_other"},
}


@pytest.mark.parametrize("change", PLANTED.values(), ids=PLANTED)
def test_a_planted_file_is_refused_and_nothing_is_sent(world, queue, change):
    dlq_id = dead(world, queue)
    (path,) = files_of(world)
    path.write_text(json.dumps(change(document_of(path))))
    world.failing.clear()

    with pytest.raises(Invalid):
        queue.replay(dlq_id, by="ada")
    drain(world.engine)

    assert world.rows == []
    assert queue.show(dlq_id)["status"] == "pending"


def test_a_file_of_somebody_else_is_taken_only_if_its_database_is_ours(world, queue):
    entry = {
        "dlq_id": "dlq_20251106_101522_abc123",
        "email_id": "19a3",
        "operation_type": "notion_write",
        "status": "pending",
        "original_payload": {"database_id": "rows-1", "properties": {"Title": "Acme"}},
        "error_details": {"error_type": "E", "error_message": "m", "retry_count": 3},
        "created_at": "2025-11-06T10:15:22.123Z",
        "last_attempt": "2025-11-06T10:15:45.789Z",
    }
    folder = folder_of(world) / "notion_write"
    folder.mkdir(parents=True)
    (folder / f"{entry['dlq_id']}.json").write_text(json.dumps(entry))
    theirs = {**entry, "dlq_id": "dlq_20251106_101522_def"}
    theirs["original_payload"] = {"database_id": "theirs", "properties": {"Title": "Evil"}}
    (folder / f"{theirs['dlq_id']}.json").write_text(json.dumps(theirs))

    synced = queue.sync(by="ada")

    assert (synced["imported"], len(synced["refused"])) == (1, 1)
    assert "database" in synced["refused"][0]["why"]
    assert [one["dlq_id"] for one in queue.list()["entries"]] == [entry["dlq_id"]]


def test_files_are_rebuilt_and_restored_by_a_sync(world, queue):
    first = dead(world, queue, email_id="aaa")
    dead(world, queue, email_id="bbb")
    one, other = files_of(world)
    one.unlink()
    other.write_text(json.dumps({**document_of(other), "status": "nonsense"}))

    synced = queue.sync()

    assert (synced["written"], synced["restored"], synced["refused"]) == (2, 1, [])
    assert [document_of(path)["status"] for path in files_of(world)] == ["pending", "pending"]
    assert queue.show(first)["status"] == "pending"


def test_many_are_replayed_oldest_first_and_counted(world, queue):
    ids = [dead(world, queue, email_id=f"m{number}") for number in range(4)]
    broken = folder_of(world) / "notion_write" / f"{ids[1]}.json"
    broken.write_text("{")
    world.failing.clear()
    worker = world.engine.worker()
    worker.start()
    try:
        counts = queue.replay_many("notion_write", 3, by="ada", wait_s=20)
    finally:
        worker.drain()

    assert (counts["success"], counts["failed"], counts["skipped"]) == (2, 1, 0)
    assert [refused["path"] for refused in counts["refused"]] == [str(broken)]
    statuses = [entry["status"] for entry in queue.list()["entries"]]
    assert statuses == ["completed", "pending", "completed", "pending"]
    for wrong in (0, 1_001, True):
        with pytest.raises(Invalid):
            queue.replay_many("notion_write", wrong, by="ada")


def test_an_entry_is_closed_by_hand_with_a_reason(world, queue):
    dlq_id = dead(world, queue)

    with pytest.raises(Invalid):
        queue.complete(dlq_id, by="ada", reason=" ")
    entry = queue.complete(dlq_id, by="ada", reason="typed in by hand")

    assert (entry["status"], entry["processed"]) == ("completed", True)
    with pytest.raises(AlreadyProcessed):
        queue.complete(dlq_id, by="ada", reason="again")
    with pytest.raises(AlreadyProcessed):
        queue.replay(dlq_id, by="ada")


@pytest.mark.parametrize(
    "dlq_id", ["dlq_20260101_000000_nobody", "../../etc/passwd", "", "a\x00b", "x" * 1000]
)
def test_an_id_that_names_nothing_is_not_found(world, queue, dlq_id: str):
    dead(world, queue)

    for ask in (
        lambda: queue.show(dlq_id),
        lambda: queue.replay(dlq_id, by="ada"),
        lambda: queue.complete(dlq_id, by="ada", reason="r"),
        lambda: queue.replace(dlq_id, {"a": 1}, by="ada"),
    ):
        with pytest.raises(DeadLetterNotFound):
            ask()


@pytest.mark.parametrize("email_id", ["../../etc/passwd", "a/b", "..", "<x@y>", "z" * 200])
def test_no_email_id_leads_out_of_the_data_folder(world, queue, email_id: str, tmp_path: Path):
    dead(world, queue, "gmail_fetch", email_id)

    outside = [
        path
        for path in tmp_path.rglob("*.json")
        if not path.resolve().is_relative_to(folder_of(world).resolve())
    ]
    assert outside == []
    assert [document_of(path)["email_id"] for path in files_of(world)] == ["inbox"]


def test_a_folder_that_cannot_be_written_stops_no_mail_and_files_come_later(world, queue):
    folder_of(world).parent.mkdir()
    folder_of(world).write_text("in the way")
    world.failing["notion_write"] = BAD_SELECT
    job_id = world.mail("aaa")
    queue.mirror.flush()
    world.failing.clear()
    fine = world.mail("bbb")

    assert world.engine.job(job_id).state is JobState.FAILED
    assert world.engine.job(fine).state is JobState.COMPLETE
    assert [entry["email_id"] for entry in queue.list()["entries"]] == ["aaa"]
    assert [need.urgency for need in queue.mirror.needs()] == ["critical"]
    with pytest.raises(Refused) as refused:
        queue.sync()
    assert refused.value.status == 503
    folder_of(world).unlink()
    queue.mirror.flush()
    assert len(files_of(world)) == 1


def test_what_failed_outside_of_jobs_is_kept_too(world, queue):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    entry = DLQEntry(
        "dlq_20260101_000000_startup",
        "startup",
        "infisical_fetch",
        "pending",
        {"names": ["GEMINI_API_KEY"]},
        {"error_type": "InfisicalFailure", "error_message": "no answer", "retry_count": 1},
        at,
        at,
    )

    kept = queue.keep(entry)

    assert kept["status"] == "pending"
    assert files_of(world)[0].parent.name == "infisical_fetch"
    assert queue.list(operation_type="infisical_fetch")["entries"] == [kept]
    with pytest.raises(WrongState, match="by hand"):
        queue.replay(entry.dlq_id, by="ada")
    assert queue.complete(entry.dlq_id, by="ada", reason="set by hand")["processed"]


def test_letters_of_other_systems_have_no_file(world, queue):
    other = Pipeline("converter")

    @other.stage
    def convert(job) -> None:
        raise GiveUp("NO", "no")

    world.engine.add(other)
    world.engine.submit(other)
    drain(world.engine)
    queue.mirror.flush()

    assert queue.list() == {"entries": []}
    assert files_of(world) == []
