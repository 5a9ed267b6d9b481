import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from apps.grading.tests.recordings import LONG_SPEECH, RATE_HZ, SHORT_SPEECH, encode, tone
from grading.audio import DecodeLimits, decode
from grading.speech import (
    STT_RULES,
    RecogniserFailed,
    SttConfig,
    Transcript,
    open_transcriber,
    recogniser_child,
)
from grading.speech.recogniser import Recogniser
from holdfast.classify import classify


def transcribe(path: Path, *, recogniser: Recogniser | None = None, timeout_s: float = 55):
    found = recogniser or open_transcriber(SttConfig())
    return found.transcribe(path, token="t", timeout_s=timeout_s, headers={})


def child_that(tmp_path: Path, code: str) -> Recogniser:
    """A recogniser whose process does something else."""
    script = tmp_path / "child.py"
    script.write_text(code)
    return Recogniser(child=str(script))


def test_speech_becomes_words_with_times_and_costs_nothing(short_speech):
    raw = transcribe(short_speech.path)
    found = Transcript.from_raw(raw)

    assert raw.provider == "moonshine"
    assert raw.usage == {"inputTokens": 0, "outputTokens": 0, "usd": 0.0}
    assert "ever tried" in found.text.lower()
    assert "try again" in found.text.lower()
    assert len(found.segments) >= 4
    ends = [segment.end_s for segment in found.segments]
    assert ends == sorted(ends)
    assert ends[-1] <= short_speech.seconds + 0.5


@pytest.mark.slow
def test_silence_has_no_words(silent):
    found = Transcript.from_raw(transcribe(silent.path))

    assert (found.text, found.segments) == ("", [])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
        ("raise ValueError('my name is Anna')", "ValueError"),
        ("x = bytearray(8 << 30)", "MemoryError"),
        ("import sys; sys.exit(7)", "exit code 7"),
        ("pass", "no result"),
        ("import sys; open(sys.argv[2], 'w').write('{')", "no result"),
    ],
)
def test_a_recogniser_that_crashes_fails_the_attempt_alone(tmp_path, short_speech, code, words):
    with pytest.raises(RecogniserFailed, match=words) as caught:
        transcribe(short_speech.path, recogniser=child_that(tmp_path, code))

    assert "Anna" not in str(caught.value)
    failure = classify(caught.value, STT_RULES, now=0)
    assert (failure.error_class, failure.retryable) == ("RECOGNISER_FAILED", True)
    assert not failure.blames_upstream


def test_a_recogniser_that_takes_too_long_is_ended(tmp_path, short_speech):
    code = "import time; time.sleep(60)"
    begun_at = time.monotonic()
    with pytest.raises(RecogniserFailed, match="longer than 1 s"):
        transcribe(short_speech.path, recogniser=child_that(tmp_path, code), timeout_s=1)

    assert time.monotonic() - begun_at < 20


def test_a_recogniser_that_is_killed_from_outside_fails_the_attempt(tmp_path, short_speech):
    noted = tmp_path / "pid"
    code = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def kill():
        ends_at = time.monotonic() + 20
        while time.monotonic() < ends_at:
            if noted.exists() and noted.read_text():
                os.kill(int(noted.read_text()), signal.SIGKILL)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RecogniserFailed, match="SIGKILL"):
        transcribe(short_speech.path, recogniser=child_that(tmp_path, code), timeout_s=30)
    killer.join()


def test_nothing_of_a_long_recording_is_lost_between_its_parts():
    pcm = (tone(95) * 32767).astype(np.int16)
    parts = list(recogniser_child.windows(pcm))

    assert parts[0][0] == 0
    assert parts[-1][1] == len(pcm)
    assert all(one[1] == following[0] for one, following in pairwise(parts))
    assert all(0 < end - start <= 30 * RATE_HZ for start, end in parts)


def test_a_long_recording_is_cut_where_it_is_quiet():
    pcm = (tone(40) * 32767).astype(np.int16)
    pcm[24 * RATE_HZ : 25 * RATE_HZ] = 0
    (_, end), *_ = recogniser_child.windows(pcm)

    assert 24 <= end / RATE_HZ <= 25


@pytest.mark.slow
def test_a_minute_of_speech_takes_ten_seconds_of_one_core_at_most(tmp_path):
    """Decoded, transcribed, and measured by processor time: what others do here counts less."""
    minute = encode(LONG_SPEECH, tmp_path / "a.webm", "-af", "apad=whole_dur=60", "-t", "60")
    decoded = decode(minute, tmp_path / "decoded", limits=DecodeLimits())
    result = tmp_path / "result.json"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = recogniser_child.__file__
    subprocess.run(
        ["taskset", "-c", "0", sys.executable, "-I", script, str(decoded.path), str(result)],
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert "best of times" in json.loads(result.read_text())["text"]
    assert decoded.seconds == pytest.approx(60, abs=0.1)
    assert used_s <= 10


def test_the_packaged_recogniser_is_the_default():
    assert open_transcriber(SttConfig()).name == "moonshine"
    assert SHORT_SPEECH.is_file()
