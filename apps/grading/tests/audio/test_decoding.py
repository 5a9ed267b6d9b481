import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from apps.grading.tests.recordings import (
    SHORT_SPEECH,
    cut,
    encode,
    encode_to_pipe,
    picture_only,
    silence,
    tone,
    with_picture,
    write_wav,
)
from grading.audio import AudioDecodeError, Decoded, DecodeLimits, DecodeProblem, decode
from grading.states import FailureReason

LIMITS = DecodeLimits()


@pytest.fixture
def decoded(tmp_path):
    def run(source, *, limits=LIMITS):
        return decode(source, tmp_path / "decoded", limits=limits)

    return run


@pytest.fixture
def problem(decoded):
    def of(source, *, limits=LIMITS):
        with pytest.raises(AudioDecodeError) as caught:
            decoded(source, limits=limits)
        assert caught.value.reason is FailureReason.AUDIO_DECODE_ERROR
        return caught.value.problem

    return of


def seldom(name, *options):
    """Return a kind of file that is decoded in the slow run alone."""
    return pytest.param(name, options, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.webm", ("-c:a", "libopus")),
        ("a.mp3", ("-c:a", "libmp3lame")),
        ("a.mp4", ("-c:a", "aac")),
        seldom("a.m4a", "-c:a", "aac", "-movflags", "+faststart"),
        ("a.ogg", ("-c:a", "libopus")),
        seldom("a.flac"),
        seldom("a.aac", "-c:a", "aac"),
        seldom("a.mkv", "-c:a", "libvorbis"),
        seldom("a.3gp", "-c:a", "aac"),
        seldom("a.mov", "-c:a", "pcm_s16be"),
        seldom("a.aiff"),
        seldom("a.caf", "-c:a", "alac"),
        seldom("a.au"),
        seldom("a.wma", "-c:a", "wmav2"),
        ("u8.wav", ("-c:a", "pcm_u8")),
        seldom("8khz.wav", "-ar", "8000"),
        seldom("float.wav", "-c:a", "pcm_f32le"),
        seldom("s24.wav", "-c:a", "pcm_s24le"),
        seldom("mulaw.wav", "-c:a", "pcm_mulaw", "-ar", "8000"),
        ("surround.wav", ("-ac", "6")),
        seldom("44100.wav", "-ar", "44100", "-ac", "2"),
    ],
)
def test_every_usual_recording_becomes_mono_at_16_khz(tmp_path, decoded, name, options):
    source = encode(write_wav(tmp_path / "t.wav", tone(2), silence(1)), tmp_path / name, *options)
    found = decoded(source)

    with wave.open(str(found.path)) as file:
        assert file.getparams()[:3] == (1, 2, 16_000)
        assert file.getnframes() / 16_000 == pytest.approx(found.seconds, abs=0.001)
    assert found.seconds == pytest.approx(3, abs=0.15)
    assert found.flags == []


def test_a_name_that_does_not_fit_the_content_changes_nothing(tmp_path, decoded):
    source = encode(SHORT_SPEECH, tmp_path / "a.mp3")

    assert decoded(source.rename(tmp_path / "a.webm")).seconds == pytest.approx(10, abs=0.2)


def test_a_stream_without_a_duration_has_the_length_that_decoding_finds(tmp_path, decoded):
    options = ("-f", "webm", "-live", "1", "-c:a", "libopus")
    source = encode_to_pipe(SHORT_SPEECH, tmp_path / "live.webm", *options)
    found = decoded(source)

    assert found.seconds == pytest.approx(9.96, abs=0.05)
    assert found.flags == []


@pytest.mark.parametrize(
    ("name", "options"),
    [("v.mp4", ("-c:v", "libx264")), seldom("v.webm", "-c:v", "libvpx")],
)
def test_of_a_video_the_sound_is_decoded(tmp_path, decoded, name, options):
    source = with_picture(SHORT_SPEECH, tmp_path / name, *options)

    assert decoded(source).seconds == pytest.approx(9.96, abs=0.1)


def test_a_recording_that_breaks_off_is_decoded_as_far_as_it_goes(tmp_path, decoded):
    whole = encode(SHORT_SPEECH, tmp_path / "a.webm", "-c:a", "libopus")
    found = decoded(cut(whole, tmp_path / "half.webm", 0.5))

    assert found.flags == ["truncated"]
    assert 4 < found.seconds < 6


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.wav", ()),
        seldom("a.ogg", "-c:a", "libopus"),
        seldom("a.m4a", "-c:a", "aac", "-movflags", "+faststart"),
    ],
)
def test_other_kinds_of_files_are_flagged_when_they_break_off(tmp_path, decoded, name, options):
    whole = encode(SHORT_SPEECH, tmp_path / name, *options)

    assert decoded(whole).flags == []
    assert decoded(cut(whole, tmp_path / f"half-{name}", 0.6)).flags == ["truncated"]


def test_a_wav_written_into_a_pipe_does_not_break_off(tmp_path, decoded):
    source = encode_to_pipe(SHORT_SPEECH, tmp_path / "a.wav", "-f", "wav")

    assert decoded(source).flags == []


def test_an_mp4_whose_index_is_lost_cannot_be_read(tmp_path, problem):
    whole = encode(SHORT_SPEECH, tmp_path / "a.mp4", "-c:a", "aac")

    assert problem(cut(whole, tmp_path / "half.mp4", 0.5)) is DecodeProblem.UNREADABLE


def test_a_recording_with_a_damaged_middle_is_decoded_and_flagged(tmp_path, decoded):
    content = bytearray(encode(SHORT_SPEECH, tmp_path / "a.flac").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4_000] = bytes(4_000)
    (tmp_path / "b.flac").write_bytes(content)

    assert decoded(tmp_path / "b.flac").flags == ["damaged"]


def test_a_silent_recording_is_flagged(tmp_path, decoded):
    found = decoded(write_wav(tmp_path / "a.wav", silence(5)))

    assert found.flags == ["silent"]
    assert found.is_silent


def test_recordings_that_are_too_quiet_and_too_loud_are_flagged(tmp_path, decoded):
    quiet = decoded(write_wav(tmp_path / "quiet.wav", tone(2, level=0.003)))
    loud = decoded(write_wav(tmp_path / "loud.wav", np.clip(tone(2, level=3.0), -1, 1)))

    assert (quiet.flags, loud.flags) == (["quiet"], ["clipped"])
    assert not quiet.is_silent


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"Dear Sir or Madam,\n" * 100,
        bytes(4096),
        b"#EXTM3U\n/etc/passwd\n",
        b"\xff\xff\xff\xff",
    ],
)
def test_content_that_is_no_recording_is_refused_whatever_its_name(tmp_path, problem, content):
    (tmp_path / "a.webm").write_bytes(content)

    assert problem(tmp_path / "a.webm") is DecodeProblem.NOT_AUDIO


def test_a_video_without_sound_has_no_audio_stream(tmp_path, problem):
    source = picture_only(tmp_path / "a.webm", "-c:v", "libvpx")

    assert problem(source) is DecodeProblem.NO_AUDIO_STREAM


def test_a_recording_without_samples_is_refused(tmp_path, problem):
    source = write_wav(tmp_path / "a.wav", silence(0))

    assert problem(source) is DecodeProblem.NO_SAMPLES


def test_only_the_header_of_a_recording_is_refused(tmp_path, problem):
    whole = encode(SHORT_SPEECH, tmp_path / "a.webm", "-c:a", "libopus")
    (tmp_path / "head.webm").write_bytes(whole.read_bytes()[:200])

    assert problem(tmp_path / "head.webm") in {
        DecodeProblem.NO_SAMPLES,
        DecodeProblem.UNREADABLE,
        DecodeProblem.NO_AUDIO_STREAM,
    }


def test_a_recording_shorter_than_a_second_is_refused(tmp_path, problem):
    assert problem(write_wav(tmp_path / "a.wav", tone(0.9))) is DecodeProblem.TOO_SHORT


def test_a_recording_may_be_as_long_as_the_limit_and_no_longer(tmp_path, decoded, problem):
    limits = DecodeLimits(max_seconds=3)
    fits = write_wav(tmp_path / "fits.wav", tone(3))
    too_long = write_wav(tmp_path / "long.wav", tone(3.01))

    assert decoded(fits, limits=limits).seconds == 3
    assert problem(too_long, limits=limits) is DecodeProblem.TOO_LONG


@pytest.mark.slow
def test_two_hours_of_mp3_are_refused_after_ten_minutes_of_them(tmp_path, problem):
    minute = write_wav(tmp_path / "minute.wav", tone(60))
    two_hours = ("-c:a", "libmp3lame", "-b:a", "24k", "-ar", "16000")
    one = encode(
        minute, tmp_path / "one.mp3", *two_hours, "-write_xing", "0", "-id3v2_version", "0"
    )
    (tmp_path / "long.mp3").write_bytes(one.read_bytes() * 120)

    assert (tmp_path / "long.mp3").stat().st_size > 20_000_000
    assert problem(tmp_path / "long.mp3") is DecodeProblem.TOO_LONG


def test_a_wav_of_25_megabytes_is_decoded(tmp_path, decoded):
    seconds = 25 * 1024 * 1024 / (44_100 * 2 * 2) - 0.1
    options = ("-ar", "44100", "-ac", "2", "-t", f"{seconds:.3f}")
    source = encode(
        write_wav(tmp_path / "t.wav", tone(150, hz=300)), tmp_path / "large.wav", *options
    )
    found = decoded(source)

    assert 24_000_000 < source.stat().st_size <= 25 * 1024 * 1024
    assert found.seconds == pytest.approx(seconds, abs=0.1)
    assert found.path.stat().st_size < 5_000_000


@pytest.mark.slow
def test_a_small_file_that_unfolds_into_hours_stops_at_the_limit(tmp_path, problem):
    hours = ("-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:d=7200")
    source = tmp_path / "bomb.flac"
    encode(write_wav(tmp_path / "t.wav", silence(1)), source, *hours, "-map", "1:a", "-ar", "8000")

    assert source.stat().st_size < 2_000_000
    assert problem(source) is DecodeProblem.TOO_LONG


def test_a_header_that_claims_absurd_figures_is_refused_within_the_limits(tmp_path, decoded):
    form = struct.pack("<HHIIHH", 1, 65_535, 0xFFFF_FFFF, 0xFFFF_FFFF, 65_535, 16)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", 9_000_000)
    source = tmp_path / "absurd.wav"
    source.write_bytes(b"RIFF" + struct.pack("<I", 9_000_036) + body + bytes(9_000_000))

    with pytest.raises(AudioDecodeError):
        decoded(source, limits=DecodeLimits(cpu_s=5, wall_s=30))


def test_a_folder_may_be_given_relative_to_the_working_folder(tmp_path, monkeypatch):
    write_wav(tmp_path / "a.wav", tone(2))
    monkeypatch.chdir(tmp_path)

    assert decode(Path("a.wav"), Path("out"), limits=LIMITS).path.is_file()


def test_nothing_is_left_in_the_folder_but_the_result(tmp_path, decoded, problem):
    found = decoded(write_wav(tmp_path / "a.wav", tone(2)))
    problem(write_wav(tmp_path / "b.wav", tone(0.5)))

    assert list(found.path.parent.iterdir()) == [found.path]
    assert found.path.stat().st_mode & 0o777 == 0o600


def test_a_decoded_recording_survives_a_checkpoint(tmp_path, decoded):
    found = decoded(write_wav(tmp_path / "a.wav", silence(2)))

    assert Decoded.from_document(found.to_document()) == found
