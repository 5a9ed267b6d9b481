import os
from dataclasses import replace
from pathlib import Path

import pytest

from apps.grading.tests.recordings import SHORT_SPEECH, silence, tone, write_wav
from apps.grading.tests.running import Embedded, embedded
from grading.grader.opening import open_audio
from grading.main.submissions import Wanted

pytestmark = pytest.mark.timeout(120)


def spoken(
    grading: Embedded, recording: Path, *, owner: str = "lan", max_seconds: float | None = None
) -> str:
    """Send a recording and hand it in."""
    main = grading.sides.main
    limits = main.config if max_seconds is None else replace(main.config, audio_max_s=max_seconds)
    stored = open_audio(limits).keep([recording.read_bytes()])
    audio_id, _ = main.recordings.add(stored, owner=owner)
    wanted = Wanted(
        skill="speaking",
        question_id="s1-travel",
        audio_url=main.recordings.url_of(audio_id),
        duration_s=min(stored.seconds, main.config.audio_max_s),
    )
    return grading.submissions.submit(wanted, owner=owner, key=None).view.submission_id


def test_a_recording_is_transcribed_and_graded_offline_and_leaves_nothing_behind(
    sqlite_url: str, tmp_path: Path
):
    work = tmp_path / "audio" / "work"
    abandoned, under_way = work / "abandoned", work / "under-way"
    for folder in (abandoned, under_way):
        folder.mkdir(parents=True)
    long_ago_s = 1_000_000_000
    os.utime(abandoned, (long_ago_s, long_ago_s))
    with embedded(sqlite_url, tmp_path, options={"lease": 30.0}) as grading:
        submission_id = spoken(grading, SHORT_SPEECH)
        view = grading.ended(submission_id)
        history = [each.event for each in grading.submissions.history(submission_id, owner="lan")]

    assert (view.status, view.failure_reason) == ("COMPLETED", None)
    assert len(view.result["transcript"].split()) > 10
    assert view.result["speech"]["seconds"] == pytest.approx(10, abs=1)
    assert set(view.result["criteriaScores"]) == {
        "grammar",
        "vocabulary",
        "pronunciation",
        "fluency",
        "discourse",
    }
    assert view.result["basis"]["pronunciation"] == "estimate"
    assert [step for step in history if step in ("transcribing", "analyzing")] == [
        "transcribing",
        "analyzing",
    ]
    assert list(work.iterdir()) == [under_way]


def test_silence_gets_nothing_and_says_why(sqlite_url: str, tmp_path: Path):
    recording = write_wav(tmp_path / "silent.wav", silence(4))
    with embedded(sqlite_url, tmp_path, options={"lease": 30.0}) as grading:
        view = grading.ended(spoken(grading, recording))

    assert view.status == "COMPLETED"
    assert view.result["overallScore"] == 0
    assert "no_speech" in view.result["caps"]


def test_a_recording_that_is_too_long_to_be_graded_fails_for_good(sqlite_url: str, tmp_path: Path):
    recording = write_wav(tmp_path / "long.wav", tone(8))
    with embedded(sqlite_url, tmp_path, options={"lease": 30.0}, audio_max_s=3.0) as grading:
        view = grading.ended(spoken(grading, recording, max_seconds=600.0))
        letters = grading.submissions.operations().dlq_open

    assert (view.status, view.failure_reason) == ("FAILED", "AUDIO_DECODE_ERROR")
    assert view.attempts_made == 1
    assert letters == 1


def test_a_recording_that_has_changed_on_disk_is_not_graded(sqlite_url: str, tmp_path: Path):
    recording = write_wav(tmp_path / "a.wav", tone(2))
    with embedded(sqlite_url, tmp_path, options={"lease": 30.0}) as grading:
        grading.faults.mode = "down"
        submission_id = spoken(grading, recording)
        [kept] = (tmp_path / "audio").glob("??/*")
        write_wav(kept, tone(3))
        grading.faults.mode = "healthy"
        view = grading.ended(submission_id)

    assert (view.failure_reason, view.attempts_made) == ("AUDIO_UNAVAILABLE", 1)
