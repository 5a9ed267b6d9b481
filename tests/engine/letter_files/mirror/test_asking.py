"""What people do with files of dead letters, and by their ids."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, JobState
from holdfast.errors import (
    ConflictError,
    InvalidDocument,
    StepMissing,
    UnknownLetter,
    UsageError,
)
from holdfast.letter_files.files import PROCESSED
from holdfast.letter_files.mirror import LetterMirror
from holdfast.testing import drain
from tests.engine.letter_files.folders import Gateway
from tests.engine.letter_files.mirror.files import (
    document,
    edit,
    entry_id,
    standing,
    until,
)


def test_a_payload_that_a_person_changed_is_what_a_replay_sends(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    job = die()
    mirror.flush()
    edit(folder, original_payload={"title": "Corrected"})
    gateway.down = False

    mirror.replay(entry_id(folder), by="ada")
    drain(app)
    mirror.flush()

    assert gateway.sent == ["Meeting", "Corrected"]
    assert app.job(job.id).state is JobState.COMPLETE
    assert document(folder)["original_payload"] == {"title": "Corrected"}
    actions = [entry.action for entry in app.dead.show(job.id).actions]
    assert "corrected" in actions


def test_a_change_outlives_what_happens_to_the_letter(
    app: Holdfast, mirror: LetterMirror, die, folder: Path
):
    job = die()
    mirror.flush()
    edit(folder, original_payload={"title": "Corrected"})

    app.dead.triage(job.id, cause="data", by="bob")
    mirror.sync(by="ada")

    assert document(folder)["original_payload"] == {"title": "Corrected"}
    assert app.job(job.id).payload == {"title": "Corrected"}


@pytest.mark.parametrize(
    "broken",
    [
        ({"original_payload": {}}, "/original_payload"),
        ({"original_payload": {"title": 7}}, "/title"),
        ({"original_payload": {"name": "no title"}}, "/title"),
        ({"status": "whatever"}, "/status"),
        ({"entry_id": "letter_20260101_000000_other"}, "the file's name promises"),
        ({"subject": "another", "original_payload": {"title": "x"}}, "/subject"),
    ],
)
def test_a_file_that_breaks_a_rule_is_not_replayed(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, broken: tuple[dict[str, Any], str]
):
    changes, why = broken
    job = die()
    mirror.flush()
    known = entry_id(folder)
    edit(folder, **changes)

    with pytest.raises(UsageError) as refused:
        mirror.replay(known, by="ada")

    assert why in str(refused.value)
    assert app.job(job.id).state is JobState.FAILED
    assert app.job(job.id).payload == {"title": "Meeting"}


def test_a_file_that_cannot_be_used_needs_a_person_until_a_sync_restores_it(
    app: Holdfast, mirror: LetterMirror, die, folder: Path
):
    job = die()
    mirror.flush()
    edit(folder, status="whatever")
    looking = LetterMirror(app, folder, look_every_s=0.05).start()
    try:
        until(lambda: any("cannot be used" in need.sentence for need in looking.needs()))
        assert document(folder)["status"] == "whatever"
        assert [entry.subject for entry in app.attention() if "cannot be used" in entry.sentence]
    finally:
        looking.close()

    synced = mirror.sync(by="ada")

    assert (synced.written, synced.restored, synced.refused) == (1, 1, ())
    assert standing(folder) == ("pending", False)
    assert app.job(job.id).state is JobState.FAILED


def test_an_entry_is_replayed_once(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    die()
    mirror.flush()
    gateway.down = False
    mirror.replay(entry_id(folder), by="ada")

    with pytest.raises(StepMissing):
        mirror.replay(entry_id(folder), by="bob")
    drain(app)
    with pytest.raises(StepMissing):
        mirror.replay(entry_id(folder), by="bob")
    with pytest.raises(UsageError, match="cannot be changed"):
        mirror.replace(entry_id(folder), {"title": "late"}, by="bob")


def test_of_many_that_replay_at_once_one_does(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    die()
    mirror.flush()
    gateway.down = False
    known, results = entry_id(folder), []
    barrier = threading.Barrier(4)

    def replay(number: int) -> None:
        barrier.wait()
        try:
            mirror.replay(known, by=f"p{number}")
            results.append("sent")
        except (ConflictError, UsageError) as error:
            results.append(type(error).__name__)

    threads = [threading.Thread(target=replay, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drain(app)

    assert results.count("sent") == 1
    assert gateway.sent == ["Meeting", "Meeting"]


def test_a_payload_can_be_replaced_without_its_file(
    app: Holdfast, mirror: LetterMirror, die, folder: Path
):
    job = die()
    mirror.flush()

    kept = mirror.replace(entry_id(folder), {"title": "Better"}, by="ada")
    with pytest.raises(InvalidDocument):
        mirror.replace(entry_id(folder), {"title": 7}, by="ada")

    assert kept.entry.original_payload == document(folder)["original_payload"]
    assert app.job(job.id).payload == {"title": "Better"}
    with pytest.raises(UnknownLetter):
        mirror.replace("letter_20260101_000000_nobody", {"title": "x"}, by="ada")


def test_closed_by_hand_it_is_done_with(mirror: LetterMirror, die, folder: Path):
    die()
    mirror.flush()

    mirror.complete(entry_id(folder), by="ada", reason="typed in by hand")

    assert standing(folder) == ("completed", True)
    assert document(folder)["error_details"]["holdfast"]["note"] == "typed in by hand"
    assert json.loads((folder / PROCESSED).read_text()) == [entry_id(folder)]
