import asyncio
import hashlib
import os
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path

import pytest

from apps.grading.tests.recordings import (
    SHORT_SPEECH,
    cut,
    encode,
    picture_only,
    silence,
    tone,
    with_picture,
    write_wav,
)
from grading.audio import AudioStore, AudioTooLarge, NotAudio, StoredAudio


@pytest.fixture
def store(tmp_path) -> AudioStore:
    return AudioStore(tmp_path / "audio")


@pytest.fixture
def wav(tmp_path) -> bytes:
    return write_wav(tmp_path / "tone.wav", tone(2)).read_bytes()


def files_of(store: AudioStore) -> list[str]:
    return sorted(path.name for path in store._root.rglob("*") if path.is_file())


def pieces(content: bytes, size: int = 1000):
    return (content[start : start + size] for start in range(0, len(content), size))


def test_a_recording_is_kept_under_its_hash_with_what_its_content_says(store, tmp_path):
    content = encode(SHORT_SPEECH, tmp_path / "a.webm", "-c:a", "libopus").read_bytes()
    kept = store.keep(pieces(content))

    sha256 = hashlib.sha256(content).hexdigest()
    assert kept == StoredAudio(sha256, len(content), "audio/webm", kept.seconds)
    assert kept.seconds == pytest.approx(9.96, abs=0.05)
    assert store.path_of(sha256).read_bytes() == content
    assert store.media_type_of(sha256) == "audio/webm"


def test_a_recording_is_readable_by_its_owner_alone(store, wav):
    path = store.path_of(store.keep([wav]).sha256)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_same_recording_is_kept_once(store, wav):
    first, second = store.keep([wav]), store.keep(pieces(wav))

    assert first == second
    assert files_of(store) == [first.sha256]


def test_a_recording_has_its_name_only_after_all_of_it_is_on_disk(store, wav, monkeypatch):
    order = []
    sync, replace = os.fsync, os.replace
    kind_of = {True: "folder", False: "file"}

    def noted_sync(descriptor):
        order.append(kind_of[Path(f"/proc/self/fd/{descriptor}").is_dir()])
        sync(descriptor)

    def noted_replace(source, target, **options):
        order.append("name")
        replace(source, target, **options)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    store.keep([wav])

    assert order.index("file") < order.index("name") < len(order) - 1
    assert order[-1] == "folder"


def test_many_threads_keep_the_same_recording(store, wav):
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(store.keep, [[wav]] * 4))

    assert len(set(kept)) == 1
    assert files_of(store) == [kept[0].sha256]


def test_a_recording_arrives_on_an_event_loop(store, wav):
    async def arriving():
        for piece in pieces(wav):
            yield piece

    assert asyncio.run(store.keep_stream(arriving())) == store.keep([wav])


def test_a_recording_of_the_largest_size_is_kept_and_one_byte_more_refused(tmp_path, wav):
    fits = AudioStore(tmp_path / "fits", max_bytes=len(wav))
    too_small = AudioStore(tmp_path / "too-small", max_bytes=len(wav) - 1)

    assert fits.keep(pieces(wav)).bytes == len(wav)
    with pytest.raises(AudioTooLarge):
        too_small.keep(pieces(wav))
    assert files_of(too_small) == []


def test_an_upload_without_end_is_refused_as_soon_as_it_is_too_large(tmp_path):
    store = AudioStore(tmp_path / "audio", max_bytes=10_000)
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield bytes(1000)

    with pytest.raises(AudioTooLarge):
        store.keep(endless())
    assert len(taken) == 11


@pytest.mark.parametrize("content", [b"", b"Dear Sir or Madam,\n" * 100, b"\x1a\x45\xdf\xa3webm"])
def test_a_text_and_zero_bytes_are_no_recordings(store, content):
    with pytest.raises(NotAudio):
        store.keep([content])
    assert files_of(store) == []


def test_a_video_without_sound_is_no_recording(store, tmp_path):
    content = picture_only(tmp_path / "a.webm", "-c:v", "libvpx").read_bytes()

    with pytest.raises(NotAudio):
        store.keep([content])


def test_a_video_with_sound_is_kept_as_what_it_is(store, tmp_path):
    source = with_picture(SHORT_SPEECH, tmp_path / "v.webm", "-c:v", "libvpx")

    assert store.keep([source.read_bytes()]).media_type == "video/webm"


def test_an_mp3_with_a_cover_is_no_video(store, tmp_path):
    cover = picture_only(tmp_path / "cover.png", "-frames:v", "1")
    options = (
        "-i",
        str(cover),
        "-map",
        "0:a",
        "-map",
        "1:v",
        "-c:v",
        "copy",
        "-id3v2_version",
        "3",
    )
    source = encode(SHORT_SPEECH, tmp_path / "a.mp3", *options)

    assert store.keep([source.read_bytes()]).media_type == "audio/mpeg"


@pytest.mark.parametrize("seconds", [0.5, 3])
def test_truncated_silent_and_short_recordings_are_kept(store, tmp_path, seconds):
    content = write_wav(tmp_path / "a.wav", silence(seconds)).read_bytes()
    half = cut(encode(SHORT_SPEECH, tmp_path / "a.ogg"), tmp_path / "half.ogg", 0.5).read_bytes()

    assert store.keep([content]).seconds == seconds
    assert 3 < store.keep([half]).seconds < 7


def test_a_recording_that_is_too_long_is_measured_to_a_second_past_the_limit(tmp_path):
    store = AudioStore(tmp_path / "audio", max_seconds=2)
    content = write_wav(tmp_path / "a.wav", tone(9)).read_bytes()

    assert store.keep([content]).seconds == 3


def test_a_part_of_a_recording_is_read(store, wav):
    sha256 = store.keep([wav]).sha256

    assert b"".join(store.read(sha256)) == wav
    assert b"".join(store.read(sha256, start=10, end=20)) == wav[10:20]
    assert b"".join(store.read(sha256, start=len(wav) - 3)) == wav[-3:]
    assert b"".join(store.read(sha256, start=len(wav))) == b""


def test_a_removed_recording_is_gone(store, wav):
    sha256 = store.keep([wav]).sha256

    assert store.remove(sha256)
    assert not store.remove(sha256)
    assert store.path_of(sha256) is None
    with pytest.raises(FileNotFoundError):
        next(store.read(sha256))


def test_a_name_that_is_no_hash_leads_nowhere(store, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("not a recording")
    names = [str(secret), f"../{tmp_path.name}/secret", "", "A" * 64, "g" * 64, "incoming"]

    assert [store.path_of(name) for name in names] == [None] * len(names)
    assert not any(store.remove(name) for name in names)
    assert secret.exists()


def test_a_store_makes_its_folder_with_the_first_upload(tmp_path, wav):
    store = AudioStore(tmp_path / "later" / "audio")

    assert list(store.kept_before(0)) == []
    assert store.remove_abandoned(0) == 0
    assert not (tmp_path / "later").exists()
    assert store.path_of(store.keep([wav]).sha256) is not None


def test_old_recordings_and_abandoned_uploads_are_found(store, wav, tmp_path):
    old = store.keep([wav]).sha256
    new = store.keep([write_wav(tmp_path / "b.wav", tone(2, hz=300)).read_bytes()]).sha256
    os.utime(store.path_of(old), (1_000, 1_000))
    abandoned = store.receive()
    abandoned.write(b"x")
    os.utime(abandoned._path, (1_000, 1_000))

    assert list(store.kept_before(2_000)) == [old]
    assert store.remove_abandoned(2_000) == 1
    assert files_of(store) == sorted([old, new])
    abandoned.__exit__()


def test_a_recording_that_is_kept_again_counts_as_new(store, wav):
    sha256 = store.keep([wav]).sha256
    os.utime(store.path_of(sha256), (1_000, 1_000))
    store.keep([wav])

    assert list(store.kept_before(2_000)) == []


def test_a_large_recording_is_kept_without_being_in_memory(store):
    """A share of 8 MB is what an upload of 25 MB may take of the whole process."""
    size = 25_000_000
    form = struct.pack("<HHIIHH", 1, 2, 44_100, 176_400, 4, 16)
    head = b"RIFF" + struct.pack("<I", size + 36) + b"WAVEfmt " + struct.pack("<I", 16) + form
    chunk = bytes(100_000)
    tracemalloc.start()
    try:
        kept = store.keep(
            chain([head + b"data" + struct.pack("<I", size)], repeat(chunk, size // len(chunk)))
        )
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept.bytes == size + 44
    assert kept.seconds == pytest.approx(141.7, abs=0.1)
    assert peak_bytes < 4_000_000
