"""Every word about replays and about dead letter files is on its page."""

import inspect
from dataclasses import fields

from holdfast.core.dead_letter.replay import Counts, ItemState, ReplayState
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
)
from holdfast.engine.dead_letters.replays import Replays
from holdfast.letter_files.form import ERROR_DETAILS, EntryStatus, LetterEntry, LetterForm
from holdfast.views.replay import Preview
from tests.docs.test_coverage import REFERENCE, named, public

REPLAYS = REFERENCE / "replays.md"
FILES = REFERENCE / "dead-letter-files.md"


def test_every_state_and_count_of_a_replay_is_documented():
    page = named(REPLAYS)

    assert {state.value for state in (*ReplayState, *ItemState)} <= page
    assert set(Counts._fields) <= page


def test_everything_that_can_be_done_with_replays_is_documented():
    assert {f"app.replays.{name}" for name in public(Replays)} <= named(REPLAYS)
    assert set(Preview._fields) <= named(REPLAYS)


def test_every_term_is_documented_with_its_default():
    page = REPLAYS.read_text("utf-8")

    assert set(inspect.signature(Replays.start).parameters) - {"self"} <= named(REPLAYS)
    for name, default in (
        ("canary", DEFAULT_CANARY),
        ("rate", DEFAULT_RATE),
        ("stop_after", DEFAULT_STOP_AFTER),
    ):
        assert f"| `{name}` | `--{name.replace('_', '-')}` | {default:g} |" in page, name


def test_every_field_of_a_dead_letter_file_is_documented():
    page = named(FILES)

    assert {field.name for field in fields(LetterEntry)} <= page
    assert {field.name for field in fields(LetterForm)} <= page
    assert {status.value for status in EntryStatus} <= page
    assert set(ERROR_DETAILS) <= page
