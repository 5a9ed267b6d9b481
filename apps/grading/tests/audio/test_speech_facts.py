import numpy as np
import pytest

from apps.grading.tests.recordings import RATE_HZ, SHORT_SPEECH, silence, tone, write_wav
from grading.audio import DecodeLimits, decode, speech_facts
from grading.audio.vad import pauses_between, read_samples, speech_spans
from grading.speech import Transcript


@pytest.fixture
def facts(tmp_path):
    def of(*parts, words: int = 0, source=None):
        path = source or write_wav(tmp_path / "a.wav", *parts)
        decoded = decode(path, tmp_path / "decoded", limits=DecodeLimits())
        return speech_facts(decoded, Transcript("word " * words, [], "test"))

    return of


def noise(seconds: float, level: float) -> np.ndarray:
    rolls = np.random.default_rng(7)
    return (level * rolls.standard_normal(int(seconds * RATE_HZ))).astype(np.float32)


def test_pauses_are_counted_between_words_and_not_around_them(facts):
    found = facts(silence(2), tone(1), silence(0.8), tone(1), silence(1.5), tone(1), silence(3))

    assert found.pauses == 2
    assert found.longest_pause_s == pytest.approx(1.5, abs=0.05)
    assert found.speech_seconds == pytest.approx(3, abs=0.1)
    assert found.seconds == pytest.approx(10.3, abs=0.01)


def test_a_short_gap_is_no_pause(facts):
    found = facts(tone(1), silence(0.4), tone(1))

    assert (found.pauses, found.longest_pause_s) == (0, 0.0)


def test_silence_around_the_speech_does_not_change_the_rate(facts):
    spoken = (tone(3), silence(1), tone(2))

    assert facts(*spoken, words=12).words_per_minute == pytest.approx(120, rel=0.02)
    assert facts(silence(4), *spoken, silence(5), words=12).words_per_minute == pytest.approx(
        120, rel=0.02
    )


def test_pauses_are_found_above_the_noise_of_a_room(facts):
    spoken = np.concatenate([tone(2), silence(1), tone(2)])
    found = facts(spoken + noise(5, 0.01))

    assert found.pauses == 1
    assert found.longest_pause_s == pytest.approx(1, abs=0.1)


def test_a_quiet_speaker_is_measured_as_a_loud_one(facts):
    quiet = facts(tone(1, level=0.01), silence(1), tone(1, level=0.01))

    assert quiet.pauses == 1


def test_in_silence_nobody_speaks(facts):
    found = facts(silence(5))

    assert found == (5.0, 0.0, 0, 0.0, 0.0)


def test_speech_has_pauses_where_people_hear_them(facts):
    found = facts(source=SHORT_SPEECH, words=12)

    assert found.seconds == pytest.approx(9.96, abs=0.01)
    assert 6 < found.speech_seconds < 9.5
    assert 60 < found.words_per_minute < 110


def test_a_click_is_no_speech(tmp_path):
    click = np.concatenate([silence(1), tone(0.03), silence(1)])
    samples = read_samples(write_wav(tmp_path / "a.wav", click))

    assert speech_spans(samples) == []
    assert pauses_between([]) == []


def test_less_than_a_frame_is_no_speech():
    assert speech_spans(np.zeros(100, np.int16)) == []
