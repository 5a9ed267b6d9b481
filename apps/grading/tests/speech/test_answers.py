import json
import pickle

import pytest

from grading.audio import AudioDecodeError, AudioUnavailable, DecodeProblem
from grading.calls import RawAnswer
from grading.speech import MalformedTranscript, Segment, SpeechFacts, Transcript
from grading.states import FailureReason


def raw(document: object) -> RawAnswer:
    body = document if isinstance(document, str) else json.dumps(document)
    return RawAnswer(body, "openai:whisper-1", {})


def test_an_answer_without_times_is_a_transcript_without_segments():
    found = Transcript.from_raw(raw({"text": " Hello there. "}))

    assert found == Transcript("Hello there.", [], "openai:whisper-1")
    assert found.confidence is None


def test_segments_carry_times_and_the_confidence_of_their_tokens():
    entry = {"start": 0, "end": 1.5, "text": " Hello", "avg_logprob": -0.5}
    found = Transcript.from_raw(raw({"text": "Hello", "segments": [entry]}))

    assert found.segments == [Segment(0.0, 1.5, "Hello", pytest.approx(0.6065, abs=1e-3))]


def test_a_confidence_that_is_given_wins_and_stays_between_0_and_1():
    entry = {"start": 0, "end": 1, "text": "a", "confidence": 7, "avg_logprob": -1}
    found = Transcript.from_raw(raw({"text": "a", "segments": [entry]}))

    assert found.confidence == 1.0


def test_the_confidence_of_a_transcript_weighs_segments_by_length():
    long, short = Segment(0, 1, "a" * 30, 0.9), Segment(1, 2, "a" * 10, 0.5)
    transcript = Transcript("…", [long, short, Segment(2, 3, "a", None)], "moonshine")

    assert transcript.confidence == pytest.approx(0.8)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "x",
        {"start": 2, "end": 1, "text": "a"},
        {"start": -1, "end": 1, "text": "a"},
        {"start": True, "end": 1, "text": "a"},
        {"start": float("nan"), "end": 1, "text": "a"},
        {"start": 10**400, "end": 1, "text": "a"},
        {"start": 0, "end": 1},
    ],
)
def test_a_segment_without_usable_times_is_left_out(entry):
    assert Transcript.from_raw(raw({"text": "a", "segments": [entry]})).segments == []


@pytest.mark.parametrize("document", ["", "no", "[]", "{}", {"text": 1}, "[" * 100_000])
def test_what_is_no_transcript_is_a_failure_of_the_provider(document):
    with pytest.raises(MalformedTranscript) as caught:
        Transcript.from_raw(raw(document))

    assert caught.value.reason is FailureReason.PROVIDER_ERROR


def test_facts_survive_a_checkpoint():
    facts = SpeechFacts(12.5, 9.0, 3, 1.25, 110.0)

    assert SpeechFacts.from_document(json.loads(json.dumps(facts.to_document()))) == facts


def test_failures_come_out_of_a_child_process_as_they_went_in():
    failure = AudioDecodeError(DecodeProblem.TOO_LONG, "too long")
    away = AudioUnavailable("away", retryable=True)
    copies = [pickle.loads(pickle.dumps(each)) for each in (failure, away)]

    assert [type(copy) for copy in copies] == [AudioDecodeError, AudioUnavailable]
    assert copies[0].problem is DecodeProblem.TOO_LONG
    assert copies[0].message == str(copies[0]) == "too long"
    assert copies[1].retryable
