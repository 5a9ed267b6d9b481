"""Dead letters as files: written whole, and alike after a journey."""

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.errors import UsageError
from holdfast.letter_files.entry import digest_of, entry_of, letter_id_of
from holdfast.letter_files.files import PROCESSED, write_whole
from holdfast.letter_files.form import EntryStatus
from holdfast.testing import drain
from holdfast.testing.conformance.dead_letters.message_letters import letter
from tests.engine.letter_files.folders import (
    Gateway,
    contents,
    export,
    files_of,
    imported,
    remediated,
)


def test_a_letter_is_written_in_the_form_of_an_entry(app: Holdfast, die, folder: Path):
    job_id = die({"n": 7}, key="k-7", owner="bob")

    (entry,) = export(app, folder)

    letter = app.dead.get(job_id).letter
    assert entry.subject == "k-7"
    assert entry.entry_id == "letter_20260101_000000_000000_k-7"
    assert (entry.operation_type, entry.status) == ("row_write", EntryStatus.PENDING)
    assert entry.original_payload == {"n": 7}
    assert entry.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (entry.replayed_at, entry.processed) == (None, False)
    details = dict(entry.error_details)
    assert details.pop("holdfast") == {
        "job_id": job_id,
        "pipeline": "mail",
        "queue": "default",
        "owner": "bob",
        "key": "k-7",
        "error_class": "GATEWAY_DOWN",
        "category": letter.category,
        "severity": letter.severity,
        "retryable": False,
        "outcome_known": letter.outcome_known,
        "http_status": None,
        "deaths": 1,
        "payload_sha256": digest_of({"n": 7}),
    }
    assert details == {
        "error_type": letter.exception_type or "GATEWAY_DOWN",
        "error_message": "no answer",
        "stack_trace": letter.stack or None,
        "retry_count": 0,
    }
    assert sorted(contents(folder)) == [PROCESSED, f"row_write/{entry.entry_id}.json"]


def test_only_the_owner_of_a_file_may_read_it(app: Holdfast, die, folder: Path):
    die()
    export(app, folder)

    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("subject", ["../../../etc/passwd", "a/b\\c", "..", "é@ü.example", "-rf"])
def test_no_key_leads_out_of_the_folder(app: Holdfast, die, folder: Path, subject: str):
    die(key=subject)

    (entry,) = export(app, folder)

    assert entry.subject == subject
    written = [path for path in folder.parent.rglob("*.json") if path.name != PROCESSED]
    assert [path.parent for path in written] == [folder / "row_write"]


def test_letters_of_one_moment_and_one_name_have_files_of_their_own(
    app: Holdfast, folder: Path, other: Holdfast
):
    for n in range(3):
        app.submit("mail", {"subject": "same", "n": n})
    drain(app)

    entries = export(app, folder)

    assert len({entry.entry_id for entry in entries}) == 3
    assert sorted(entry.original_payload["n"] for entry in entries) == [0, 1, 2]
    assert imported(other, folder) == [("imported", None)] * 3


@pytest.mark.parametrize("direction", ["there", "from there"])
def test_what_was_exported_and_imported_is_exported_alike(
    app: Holdfast, other: Holdfast, tmp_path: Path, gateway: Gateway, direction: str
):
    folder = tmp_path / "first"
    source, target = (app, other) if direction == "there" else (other, app)
    payloads = [
        {"subject": "1", "text": "ünï ☃", "deep": {"a": [1, 2.5, None, True]}},
        [1, 2],
        {},
        "text",
        {"holdfast_payload": 1},
    ]
    jobs = [source.submit("mail", one, key=f"k-{n}").id for n, one in enumerate(payloads)]
    drain(source)
    again, done, dismissed, under_way = (
        source.submit("mail", {"n": n}, key=f"s-{n}").id for n in range(4)
    )
    drain(source)
    for job_id in (again, done, under_way):
        remediated(source, job_id)
    source.dead.replay(again, by="ada")
    drain(source)
    gateway.down = False
    source.dead.replay(done, by="ada")
    drain(source)
    source.dead.resolve(dismissed, note="not needed", by="ada", unreplayed=True)
    source.dead.replay(under_way, by="ada")

    first = export(source, folder)
    target.clock.advance(3600)
    results = imported(target, folder)
    second = export(target, tmp_path / "second")

    assert results == [("imported", None)] * len(first)
    assert contents(tmp_path / "second") == contents(folder)
    assert len(second) == len(jobs) + 4
    statuses = {
        entry.error_details["holdfast"]["job_id"]: (entry.status.value, entry.processed)
        for entry in first
    }
    assert [statuses[job_id] for job_id in (again, done, dismissed, under_way)] == [
        ("failed", False),
        ("completed", True),
        ("completed", True),
        ("replaying", False),
    ]
    assert len(json.loads((folder / PROCESSED).read_text())) == 2
    assert target.verify() == []


def test_processed_ids_of_before_are_kept(app: Holdfast, die, folder: Path):
    folder.mkdir()
    (folder / PROCESSED).write_text('["letter_of_before"]')
    die()

    export(app, folder)

    assert json.loads((folder / PROCESSED).read_text()) == ["letter_of_before"]


def test_a_redacted_file_has_no_secrets_and_cannot_be_replayed(
    app: Holdfast, other: Holdfast, die, folder: Path
):
    die({"title": "hello", "password": "hunter2-and-more"})

    (entry,) = export(app, folder, redact=True)
    imported(other, folder)

    assert "hunter2" not in str(contents(folder))
    assert entry.original_payload["title"] == "hello"
    letter_id = letter_id_of(entry.entry_id)
    remediated(other, letter_id)
    with pytest.raises(UsageError, match="export it again as it is"):
        files_of(other).replay(letter_id, "mail", by="ada")
    assert other.jobs() == []


def test_a_letter_whose_job_is_gone_cannot_be_written(app: Holdfast, die):
    letter = app.dead.get(die()).letter

    with pytest.raises(UsageError, match="its job is no longer there"):
        entry_of(letter, None)


def test_the_letter_of_a_message_cannot_be_written():
    with pytest.raises(UsageError, match="is of a message, which has no form as a file"):
        entry_of(letter(), None)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "a" / "file"
    write_whole(path, b"old")
    write_whole(path, b"new")
    blocked = tmp_path / "a" / "folder"
    (blocked / "inside").mkdir(parents=True)

    with pytest.raises(OSError, match="directory"):
        write_whole(blocked, b"never")

    assert path.read_bytes() == b"new"
    assert sorted(item.name for item in (tmp_path / "a").iterdir()) == ["file", "folder"]
