import os
from pathlib import Path

from apps.grading.tests.recordings import tone, write_wav
from apps.grading.tests.sides import TABLES, made_pair, scripted_tools
from grading.config import GradingConfig
from grading.grader.opening import open_audio
from grading.grader.side import GraderSide
from grading.main.operating.upkeep import ABANDONED, AUDIO_RETENTION, Upkeep
from grading.main.side import MainSide
from grading.system import Sides, parts_of
from holdfast import Holdfast, JobFilter
from holdfast.bridges.loopback import LoopbackFaults
from holdfast.testing import ManualClock

LATER_S = AUDIO_RETENTION.total_seconds() + 1


def test_an_owner_is_erased_from_every_table_and_folder(
    database_url: str, clock: ManualClock, tmp_path: Path
):
    config = GradingConfig(audio_dir=tmp_path / "audio")
    with made_pair(database_url, scripted_tools(), clock=clock, audio_dir=config.audio_dir) as pair:
        files = open_audio(config)
        recording = write_wav(tmp_path / "a.wav", tone(2))
        stored = files.keep([recording.read_bytes()])
        pair.main.side.recordings.add(stored, owner="lan")
        for owner in ("lan", "minh"):
            pair.main.submit(owner=owner)
        pair.run()
    main, grader = MainSide(config), GraderSide(config, scripted_tools())
    parts = parts_of(Sides(main, grader, LoopbackFaults()))
    options = {"pipelines": parts.pipelines, "tables": TABLES, "erasers": [parts.erase]}
    with Holdfast(database_url, clock=clock, **options) as app:
        parts.bind(app)
        app.erase("lan", by="operator", cancel=True)
        left = {job.job.owner for job in app.jobs(JobFilter())}
        with app.transaction() as tx:
            counts = {
                table: tx.row(f"select count(*) as n from grading.{table}")["n"]
                for table in ("progress", "score", "request", "answer", "audio")
            }

    assert left == {"minh", "grading:minh"}
    assert counts == {"progress": 1, "score": 1, "request": 1, "answer": 1, "audio": 0}
    assert files.path_of(stored.sha256) is None


def test_recordings_go_after_ninety_days_and_a_shared_file_with_its_last_owner(
    database_url: str, clock: ManualClock, tmp_path: Path
):
    config = GradingConfig(audio_dir=tmp_path / "audio")
    with made_pair(database_url, scripted_tools(), clock=clock, audio_dir=config.audio_dir) as pair:
        files = open_audio(config)
        stored = files.keep([write_wav(tmp_path / "a.wav", tone(2)).read_bytes()])
        upkeep = Upkeep(pair.app, files)
        pair.main.side.recordings.add(stored, owner="lan")
        clock.advance(LATER_S / 2)
        pair.main.side.recordings.add(stored, owner="minh")
        clock.advance(LATER_S / 2)
        removed = upkeep.remove_recordings()
        shared = files.path_of(stored.sha256)
        clock.advance(LATER_S / 2)
        upkeep.remove_recordings()

    assert removed == 1
    assert shared is not None
    assert files.path_of(stored.sha256) is None


def test_what_broken_uploads_left_is_removed_after_a_day(
    database_url: str, clock: ManualClock, tmp_path: Path
):
    config = GradingConfig(audio_dir=tmp_path / "audio")
    with made_pair(database_url, scripted_tools(), clock=clock, audio_dir=config.audio_dir) as pair:
        files = open_audio(config)
        with files.receive():
            [left] = (config.audio_dir / "incoming").iterdir()
            now_s = clock.now() / 1_000_000
            os.utime(left, (now_s, now_s))
            upkeep = Upkeep(pair.app, files)
            upkeep.remove_recordings()
            kept = left.exists()
            clock.advance(ABANDONED.total_seconds() + 1)
            upkeep.remove_recordings()

            assert kept
            assert not left.exists()
