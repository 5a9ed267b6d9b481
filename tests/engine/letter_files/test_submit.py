"""A dead letter from a file, submitted where it was imported."""

import threading
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.dead_letter.replay import Counts
from holdfast.engine.dead_letters.selection import FROM_A_FILE
from holdfast.errors import StepMissing
from holdfast.letter_files.entry import letter_id_of
from holdfast.letter_files.form import EntryStatus
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import drain
from tests.engine.letter_files.folders import (
    FOREIGN,
    Gateway,
    export,
    files_of,
    imported,
    put,
    remediated,
)


def test_a_letter_from_a_file_is_submitted_as_a_job_under_its_own_id(
    app: Holdfast, folder: Path, gateway: Gateway, tmp_path: Path
):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["entry_id"])
    gateway.down = False

    with pytest.raises(StepMissing):
        files_of(app).replay(letter_id, "mail", by="ada")
    remediated(app, letter_id)
    letter, job_id, created = files_of(app).replay(letter_id, "mail", by="ada", reason="mended")
    drain(app)

    view = app.job(job_id)
    assert created
    assert (view.state, view.result, view.job.key) == (
        JobState.COMPLETE,
        FOREIGN["original_payload"],
        FOREIGN["entry_id"],
    )
    assert (letter.state, letter.note) == (
        LetterState.RESOLVED,
        f"submitted to mail as job {job_id}",
    )
    seen = app.dead.show(letter_id)
    assert not seen.view.dismissed
    assert (seen.actions[0].action, seen.actions[0].reason) == ("replayed", "mended")
    assert app.verify() == []
    with pytest.raises(StepMissing):
        files_of(app).replay(letter_id, "mail", by="ada")
    (entry,) = export(app, tmp_path / "second")
    assert (entry.status, entry.processed) == (EntryStatus.COMPLETED, True)
    assert entry.replayed_at is not None


def test_submitted_twice_it_is_one_job(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["entry_id"])
    remediated(app, letter_id)
    # A crash after the job was made, and before the letter was written.
    first = app.submit("mail", FOREIGN["original_payload"], key=FOREIGN["entry_id"])

    _, job_id, created = files_of(app).replay(letter_id, "mail", by="ada")

    assert (job_id, created) == (first.id, False)
    assert len(app.jobs()) == 1


def test_submitted_by_two_at_once_it_is_one_job(app: Holdfast, folder: Path, open_app, pipeline):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["entry_id"])
    remediated(app, letter_id)
    barrier, ids, refused = threading.Barrier(2), [], []

    def replay(one: Holdfast) -> None:
        barrier.wait()
        try:
            ids.append(files_of(one).replay(letter_id, "mail", by="ada")[1])
        except StepMissing as error:
            refused.append(error)

    threads = [threading.Thread(target=replay, args=(open_app(pipeline),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(ids)) == 1
    assert len(ids) + len(refused) == 2
    assert len(app.jobs()) == 1


@pytest.mark.parametrize("payload", [[1, 2], "text", {}, {"holdfast_payload": [1]}])
def test_any_payload_is_submitted_as_it_was(
    other: Holdfast, app: Holdfast, folder: Path, gateway: Gateway, payload: object
):
    app.submit("mail", payload)
    drain(app)
    (entry,) = export(app, folder)
    imported(other, folder)
    letter_id = letter_id_of(entry.entry_id)
    remediated(other, letter_id)
    gateway.down = False

    _, job_id, _ = files_of(other).replay(letter_id, "mail", by="ada")
    drain(other)

    assert other.job(job_id).payload == payload


def test_letters_from_files_are_no_part_of_a_replay_of_many(app: Holdfast, die, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    die(key="k")

    view = app.replays.start(
        "outage", LetterFilter(), by="ada", cause="transient", evidence="it answers"
    )

    assert view.counts == Counts(pending=1, skipped=1)
    notes = {item.note for item in app.replays.items(view.id)}
    assert notes == {None, FROM_A_FILE}
