"""Recordings over HTTP: sent as they come, read in parts, by those who may."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta

import pytest
from anyio import run, to_thread

from apps.grading.tests.http.conftest import MAX_BYTES, ORIGIN
from apps.grading.tests.recordings import silence, tone, write_wav
from apps.grading.tests.sides import RESULT, completed
from grading.audio import AudioStore, DecoderFailed
from grading.http.upload import FileForm
from grading.tables.times import from_us
from holdfast.testing import run_inline

BOUNDARY = "a-boundary"
HEAD = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
).encode()
TAIL = f"\r\n--{BOUNDARY}--\r\n".encode()
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


SPOKEN = RESULT | {"transcript": "I go by bus."}


@pytest.fixture(scope="module")
def wav(tmp_path_factory):
    """Two seconds of a tone."""
    return write_wav(tmp_path_factory.mktemp("wav") / "a.wav", tone(2)).read_bytes()


def send(client, content, name="talk.webm"):
    return client.post("/api/audio", files={"file": (name, content, "text/html")})


def refusal(answer):
    return answer.status_code, answer.json()["code"]


class Undecided(AudioStore):
    """A store on a machine whose decoder cannot be started."""

    def keep(self, chunks):
        for _ in chunks:
            pass
        raise DecoderFailed("ffmpeg is not installed")


class TestWithoutDecoder:
    @pytest.fixture
    def files(self, tmp_path):
        return Undecided(tmp_path / "audio", max_bytes=MAX_BYTES)

    def test_a_recording_that_cannot_be_checked_may_be_sent_again_later(self, visit, wav):
        answer = send(visit(), wav)

        assert refusal(answer) == (503, "AUDIO_UNCHECKED")
        assert answer.headers["Retry-After"] == "60"
        assert "ffmpeg" not in answer.text


def test_a_recording_is_kept_read_in_parts_and_handed_in(visit, main, wav):
    ada = visit()
    sent, again = send(ada, wav), send(ada, wav, "other.wav")
    kept = sent.json()
    assert (sent.status_code, again.status_code) == (201, 200)
    assert again.json() == kept
    assert kept["audioUrl"].startswith(f"{ORIGIN}/api/audio/")
    assert (kept["bytes"], kept["mediaType"]) == (len(wav), "audio/wav")
    assert kept["durationSeconds"] == pytest.approx(2, abs=0.1)

    whole = ada.get(kept["audioUrl"])
    part = ada.get(kept["audioUrl"], headers={"Range": "bytes=4-11"})
    beyond = ada.get(kept["audioUrl"], headers={"Range": f"bytes={len(wav)}-"})
    body = {
        "skill": "speaking",
        "questionId": "s1-travel",
        "answer": {"audioUrl": kept["audioUrl"], "durationSeconds": 2},
    }
    made = ada.post("/api/submissions", json=body)
    foreign = visit().post("/api/submissions", json=body)

    assert (whole.status_code, whole.content) == (200, wav)
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.headers["content-type"] == "audio/wav"
    assert whole.headers["content-disposition"] == 'attachment; filename="recording.wav"'
    assert whole.headers["cache-control"] == "private, no-store"
    assert (part.status_code, part.content) == (206, wav[4:12])
    assert part.headers["content-range"] == f"bytes 4-11/{len(wav)}"
    assert beyond.status_code == 416
    assert made.status_code == 201
    assert refusal(foreign) == (400, "AUDIO_REFUSED")


@pytest.mark.parametrize("settings", [{"uploads_per_minute": 2}])
def test_too_many_uploads_in_a_minute_are_refused(visit, clock, wav):
    ada = visit()
    codes = [send(ada, wav).status_code for _ in range(2)]
    refused = send(ada, wav)
    other = send(visit(), wav)
    clock.advance(61)

    assert codes == [201, 200]
    assert refusal(refused) == (429, "RATE_LIMITED")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["connection"] == "close"
    assert other.status_code == 201
    assert send(ada, wav).status_code == 200


@pytest.mark.parametrize("settings", [{"audio_quota_bytes": 100_000}])
def test_recordings_of_an_owner_have_a_limit_together(visit, tmp_path, wav):
    ada = visit()
    second = write_wav(tmp_path / "b.wav", tone(2, hz=500)).read_bytes()
    sent = [send(ada, each) for each in (wav, second, wav)]

    assert [answer.status_code for answer in sent] == [201, 201, 429]
    assert refusal(sent[2]) == (429, "QUOTA_REACHED")
    assert send(visit(), wav).status_code == 201


def test_a_grader_reads_by_the_link_of_its_request_until_it_ends(visit, main, wav, clock):
    ada, grader = visit(), visit()
    url = send(ada, wav).json()["audioUrl"]
    answer = {"audioUrl": url, "durationSeconds": 2}
    body = {"skill": "speaking", "questionId": "s1-travel", "answer": answer}
    submission = ada.post("/api/submissions", json=body).json()["submissionId"]
    run_inline(main.app)
    link = main.request_of(submission)["payload"]["audioUrl"]

    good = grader.get(link)
    forged = grader.get(f"{link[:-1]}{'0' if link[-1] != '0' else '1'}")
    without = grader.get(url)
    clock.advance(timedelta(hours=2).total_seconds())
    late = grader.get(link)

    assert (good.status_code, good.content) == (200, wav)
    for refused in (forged, without, late):
        assert refusal(refused) == (403, "FORBIDDEN")


@pytest.mark.parametrize("walk_ins", [False])
def test_without_walk_ins_a_link_is_enough_and_nothing_less(visit, main, wav):
    ann, stranger = visit("submitter", "ann"), visit()
    url = send(ann, wav).json()["audioUrl"]
    audio_id = url.rpartition("/")[2]
    until = from_us(main.app.clock.now()) + timedelta(minutes=1)
    link = main.side.recordings.signed(audio_id, expires_at=until)

    assert stranger.get(link).status_code == 200
    assert refusal(stranger.get(url)) == (401, "credentials_missing")
    assert refusal(stranger.post("/api/audio", content=b"x")) == (401, "credentials_missing")
    assert visit("reader", "ann").get(url).status_code == 200
    assert visit("reader").get(url).status_code == 200
    assert refusal(visit("operator", "ben").get(url)) == (403, "FORBIDDEN")


@pytest.mark.parametrize("settings", [{"review_below": 80}])
def test_a_teacher_listens_by_the_link_in_the_queue(visit, main, wav):
    ada, teacher, stranger = visit(), visit("operator"), visit()
    answer = {"audioUrl": send(ada, wav).json()["audioUrl"], "durationSeconds": 2}
    body = {"skill": "speaking", "questionId": "s1-travel", "answer": answer}
    submission = ada.post("/api/submissions", json=body).json()["submissionId"]
    run_inline(main.app)
    unsure = SPOKEN | {"confidenceScore": 40}
    main.take(completed(main.request_of(submission), result=unsure))

    [waiting] = teacher.get("/api/admin/submissions/pending-review").json()["items"]

    assert stranger.get(waiting["listenUrl"]).content == wav
    assert refusal(stranger.get(answer["audioUrl"])) == (403, "FORBIDDEN")


def test_anothers_recording_and_none_are_refused_with_the_same_words(visit, wav):
    ada, ben = visit(), visit()
    url = send(ada, wav).json()["audioUrl"]

    foreign, absent = ben.get(url), ben.get(f"{ORIGIN}/api/audio/none")

    assert refusal(foreign) == refusal(absent) == (403, "FORBIDDEN")
    assert foreign.json()["detail"] == absent.json()["detail"]


def test_the_same_file_of_two_owners_has_an_id_for_each(visit, wav):
    ada, ben = visit(), visit()
    first, second = send(ada, wav), send(ben, wav)

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["audioUrl"] != second.json()["audioUrl"]
    assert first.json()["sha256"] == second.json()["sha256"]


def test_what_is_no_recording_is_refused_by_its_content(visit, tmp_path, wav):
    ada = visit()
    large = wav[:44] + b"\0" * MAX_BYTES
    nothing = {"Content-Type": "text/plain"}

    assert refusal(send(ada, b"<script>alert(1)</script>", "a.wav")) == (400, "NOT_AUDIO")
    assert refusal(send(ada, b"")) == (400, "NOT_AUDIO")
    assert refusal(send(ada, large)) == (413, "AUDIO_TOO_LARGE")
    for refused in (
        ada.post("/api/audio", content=b"x", headers=nothing),
        ada.post("/api/audio", files={"other": ("a.wav", wav)}),
        ada.post("/api/audio", data={"file": "text"}),
        ada.post("/api/audio", content=HEAD + wav, headers=FORM),
        ada.post("/api/audio", files=[("file", ("a", wav)), ("file", ("b", wav))]),
    ):
        assert refusal(refused) == (400, "VALIDATION_ERROR")
        assert refused.headers["connection"] == "close"
    assert [each for each in (tmp_path / "audio").rglob("*") if each.is_file()] == []


def test_a_recording_of_the_largest_size_is_taken(visit, tmp_path):
    samples = (MAX_BYTES - 44) // 2
    content = write_wav(tmp_path / "b.wav", silence(samples / 16_000)).read_bytes()
    content += b"\0" * (MAX_BYTES - len(content))

    assert len(content) == MAX_BYTES
    assert send(visit(), content).status_code == 201


def test_a_length_above_the_limit_is_refused_before_anything_is_read(visit):
    read = []

    def body():
        read.append(1)
        yield HEAD

    headers = {**FORM, "Content-Length": str(10 * MAX_BYTES)}
    answer = visit().post("/api/audio", content=body(), headers=headers)

    assert refusal(answer) == (413, "AUDIO_TOO_LARGE")
    assert read == []


def test_a_large_form_is_never_in_memory_as_a_whole():
    """16 MiB pass through in far less, whatever the network hands over at a time."""

    async def arriving():
        yield HEAD
        for _ in range(256):
            yield b"x" * 65_536
        yield TAIL

    def taken(form):
        return sum(map(len, form.chunks()))

    async def sent():
        form = FileForm(arriving(), FORM["Content-Type"])
        return await to_thread.run_sync(taken, form)

    tracemalloc.start()
    try:
        total = run(sent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert total == 256 * 65_536
    assert peak < 2_000_000
