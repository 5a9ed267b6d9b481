"""The page about dead letters names every word of theirs."""

import re

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.core.dead_letter.dead_letter import Cause, DeadLetter, LetterState, Standing, Step
from holdfast.dead_letters import LetterFilter
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.testing import ManualClock, failing, run_inline
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "dead-letters.md"


@pytest.fixture
def words() -> set[str]:
    quoted = re.findall(r"`([^`\n]+)`", PAGE.read_text("utf-8"))
    return {word for text in quoted for word in re.findall(r"\w+", text)}


@pytest.mark.parametrize(
    "kind", [LetterState, Standing, Cause, Step], ids=lambda kind: kind.__name__
)
def test_every_word_of_a_letter_is_documented(kind, words):
    assert {member.value for member in kind} <= words


def test_every_field_is_documented(words):
    assert {*DeadLetter._fields, *LetterFilter._fields} <= words


def test_everything_in_a_document_is_documented(words):
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(failing(1, KeyError("x")).handler)
    with Holdfast("sqlite://:memory:", pipelines=[pipeline], clock=ManualClock()) as app:
        job = app.submit(pipeline)
        run_inline(app)
        document = app.dead.show(job.id).to_document()

    assert {*document, *document["record"], *document["sanitized_context"]} <= words


def test_every_method_is_documented(words):
    assert {name for name in vars(DeadLetters) if not name.startswith("_")} <= words
