"""Words for how things stand, and their tones."""

from enum import StrEnum

import pytest

from holdfast.console.pages.dead_letters.letter import _AT
from holdfast.console.rendering.filters import label, told
from holdfast.console.rendering.said import _MANY, _ONE, said
from holdfast.console.requests.ask import Done
from holdfast.console.words import CAUSES, TONES, ago, plural, tone
from holdfast.core.dead_letter.dead_letter import Cause, LetterState, Standing
from holdfast.core.dead_letter.replay import ItemState, ReplayState
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.decision import Kind
from holdfast.core.job.job import JobState
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.core.values.outbox import OutboxStatus
from holdfast.views.explain.advice import REMEDIES

NOW = Instant(1_800_000_000 * SECOND_US)


@pytest.mark.parametrize(
    "words",
    [
        JobState,
        Kind,
        LetterState,
        Standing,
        ReplayState,
        ItemState,
        DeliveryState,
        OutboxStatus,
        Gate,
    ],
)
def test_every_word_for_a_state_has_a_tone(words: type[StrEnum]):
    # A letter that was replayed, and a breaker's gate, are shown by words of their own.
    shown = {word.value for word in words} - {"replayed"}

    assert shown <= set(TONES)
    assert {tone(word) for word in shown} <= {"good", "bad", "warn", "busy", "wait", "over"}


def test_a_word_that_nobody_knows_is_shown_without_alarm():
    assert tone("something new") == "over"


def test_every_cause_is_told():
    assert set(CAUSES) == set(REMEDIES) == set(Cause)
    assert set(_AT) == set(Standing)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (NOW, "just now"),
        (NOW - 90 * SECOND_US, "1 min 30 s ago"),
        (NOW + 3_600 * SECOND_US, "in 1 h"),
        (FAR_FUTURE, "never"),
    ],
)
def test_an_instant_is_said_from_now(instant: int, text: str):
    assert ago(Instant(instant), NOW) == text


def test_a_fact_that_is_an_instant_is_told_to_the_second():
    assert told("2026-11-16T14:37:26.502366Z") == "2026-11-16 14:37:26 UTC"
    assert told("2026-11-16T14:37:26Z") == "2026-11-16 14:37:26 UTC"
    assert [told(fact) for fact in (13, "since 2026-11-16T14:37:26Z", None)] == [
        13,
        "since 2026-11-16T14:37:26Z",
        None,
    ]


def test_the_name_of_a_fact_is_spelt_as_people_spell_it():
    assert (label("http_status"), label("exception_type")) == ("HTTP status", "Exception type")


def test_counts_are_said_as_people_say_them():
    assert [plural(count, "job") for count in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
    assert plural(12_345, "box", "boxes") == "12\u202f345 boxes"


def test_only_words_that_are_known_are_said():
    assert said("job-retried", None) is not None
    assert said("jobs-retried", "3").text == "3 jobs sent back."
    for count in (None, "", "-1", "1e9", "9" * 10, "<b>"):
        assert said("jobs-retried", count) is None
    assert said("anything else", "1") is None
    assert said(None, None) is None
    assert not set(_ONE) & set(_MANY)


def test_what_was_done_to_one_needs_no_count():
    assert Done("/jobs", "job-retried").many is None
