"""Files of dead letters follow what happens."""

import json
import stat
import threading
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState, Pipeline
from holdfast.errors import (
    InvalidDocument,
    UsageError,
    WrongState,
)
from holdfast.letter_files.files import PROCESSED
from holdfast.letter_files.mirror import LetterMirror
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.testing import drain
from tests.engine.letter_files.folders import FOREIGN, Gateway, put
from tests.engine.letter_files.mirror.files import (
    document,
    entry_id,
    only_file,
    standing,
    until,
)


def test_a_file_follows_its_letter_from_pending_to_completed(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    die()
    mirror.flush()
    assert standing(folder) == ("pending", False)

    gateway.down = False
    mirror.replay(entry_id(folder), by="ada", reason="it answers")
    assert standing(folder) == ("replaying", False)

    drain(app)
    mirror.flush()
    assert standing(folder) == ("completed", True)
    assert document(folder)["replayed_at"] is not None
    assert json.loads((folder / PROCESSED).read_text()) == [entry_id(folder)]


def test_a_replay_that_fails_again_is_the_same_file(
    app: Holdfast, mirror: LetterMirror, die, folder: Path
):
    die()
    mirror.flush()
    first = entry_id(folder)
    created_at = document(folder)["created_at"]

    mirror.replay(first, by="ada")
    drain(app)
    mirror.flush()

    assert standing(folder) == ("failed", False)
    assert (entry_id(folder), document(folder)["created_at"]) == (first, created_at)
    mirror.replay(first, by="ada")
    assert standing(folder) == ("replaying", False)


def test_a_replay_that_gets_further_and_fails_there_is_another_file(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    die()
    mirror.flush()
    first = only_file(folder)
    gateway.down, gateway.deaf = False, True

    mirror.replay(first.stem, by="ada")
    drain(app)
    mirror.flush()

    before = json.loads(first.read_text())
    (path,) = (folder / "tell").iterdir()
    assert (before["status"], before["processed"]) == ("completed", True)
    assert json.loads(path.read_text())["status"] == "pending"
    assert path.stem != first.stem
    assert json.loads((folder / PROCESSED).read_text()) == [first.stem]


def test_only_their_owner_may_read_the_files(mirror: LetterMirror, die, folder: Path):
    die()
    mirror.flush()

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(only_file(folder)) == 0o600
    assert mode(only_file(folder).parent) == mode(folder) == 0o700
    assert not list(folder.glob("**/*.tmp"))


def test_a_failure_is_in_its_file_within_two_seconds(app: Holdfast, folder: Path, gateway: Gateway):
    mirror = LetterMirror(app, folder, look_every_s=3600).start()
    try:
        app.submit("mail", {"title": "a"}, key="k")
        drain(app)
        began_s = monotonic_s()
        appeared = threading.Event()
        while not list(folder.glob("*/*.json")) and monotonic_s() - began_s < 5:
            appeared.wait(0.01)
        took_s = monotonic_s() - began_s
    finally:
        mirror.close()

    assert standing(folder)[0] == "pending"
    assert took_s < 2


def test_what_another_process_does_is_found_by_a_look(
    app: Holdfast, open_app, pipeline: Pipeline, die, folder: Path
):
    elsewhere = open_app(pipeline)
    mirror = LetterMirror(elsewhere, folder, look_every_s=0.05)
    job = die()
    mirror.start()
    try:
        until(lambda: list(folder.glob("*/*.json")))
        app.dead.resolve(job.id, note="done by hand", by="ada", unreplayed=True)
        until(lambda: standing(folder) == ("completed", True))
    finally:
        mirror.close()

    assert document(folder)["error_details"]["holdfast"]["note"] == "done by hand"


def test_files_are_rebuilt_by_a_sync(app: Holdfast, mirror: LetterMirror, die, folder: Path):
    for number in range(3):
        die(f"k-{number}")
    mirror.flush()
    for path in folder.glob("*/*.json"):
        path.unlink()

    synced = mirror.sync(by="ada")

    assert (synced.written, synced.restored) == (3, 0)
    assert mirror.sync(by="ada").written == 0
    assert len(list(folder.glob("*/*.json"))) == 3


def test_a_folder_that_cannot_be_written_stops_no_job_and_files_come_later(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, gateway: Gateway
):
    folder.write_text("in the way")
    die("k-1")
    mirror.flush()
    gateway.down = False
    fine = app.submit("mail", {"title": "b"}, key="k-2")
    drain(app)

    assert app.job(fine.id).state is JobState.COMPLETE
    (need,) = mirror.needs()
    assert "1 dead letters cannot be written" in need.sentence
    assert [
        entry.urgency for entry in app.attention() if "cannot be written" in entry.sentence
    ] == ["critical"]
    folder.unlink()
    mirror.flush()
    assert standing(folder) == ("pending", False)
    assert mirror.needs() == []


def test_a_planted_file_is_checked_as_an_import_is(
    app: Holdfast, mirror: LetterMirror, folder: Path
):
    put(folder, FOREIGN)
    bad = put(folder, {**FOREIGN, "entry_id": "letter_20251106_101522_bad", "processed": 7})

    synced = mirror.sync(by="ada")

    assert synced.imported == 1
    assert [refusal.path for refusal in synced.refused] == [bad]
    with pytest.raises(UsageError, match="came from elsewhere"):
        mirror.replay(FOREIGN["entry_id"], by="ada")
    assert mirror.sync(by="ada").imported == 0


def test_links_are_not_followed(app: Holdfast, mirror: LetterMirror, die, folder: Path, tmp_path):
    die()
    mirror.flush()
    path, outside = only_file(folder), tmp_path / "outside.json"
    outside.write_text(path.read_text())
    path.unlink()
    path.symlink_to(outside)
    before = outside.read_bytes()

    with pytest.raises(InvalidDocument, match="a link"):
        mirror.replay(path.stem, by="ada")
    mirror.sync(by="ada")

    assert not path.is_symlink()
    assert outside.read_bytes() == before


def test_a_folder_of_an_operation_that_is_a_link_is_not_written_through(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    folder.mkdir()
    (folder / "row_write").symlink_to(outside)
    die()

    mirror.flush()

    assert list(outside.iterdir()) == []
    assert mirror.needs()


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "..", "x" * 200, "é ü"])
def test_no_key_leads_out_of_the_folder(
    app: Holdfast, mirror: LetterMirror, die, folder: Path, key: str
):
    die(key)
    mirror.flush()

    assert only_file(folder).parent == folder / "row_write"
    assert document(folder)["subject"] == key


def test_only_a_failed_job_gets_another_payload(app: Holdfast, gateway: Gateway):
    gateway.down = False
    job = app.submit("mail", {"title": "a"})
    drain(app)

    with pytest.raises(WrongState):
        app.correct_payload(job.id, {"title": "b"}, by="ada")
