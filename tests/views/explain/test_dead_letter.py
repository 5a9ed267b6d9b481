"""What an operator is told about a dead letter that has no job."""

import pytest

from holdfast.core.dead_letter.dead_letter import FILE, MESSAGE, LetterState
from holdfast.testing.conformance.dead_letters.message_letters import letter
from holdfast.testing.conformance.samples import NOW
from holdfast.views.dead_letter import LetterView
from holdfast.views.explain.dead_letter import situation

PUBLISHED = (
    "It was published again. Close it once its consumers have handled it: "
    "holdfast dead resolve ID --unreplayed --note …"
)


def next_move(kind: str, state: LetterState) -> str:
    dead = letter(kind=kind, state=state)
    return situation(LetterView(dead, None, NOW))[-1].with_command.replace(dead.id, "ID")


@pytest.mark.parametrize(
    ("kind", "state", "words"),
    [
        (
            FILE,
            LetterState.REMEDIATED,
            "on the command line: holdfast dead replay ID --pipeline …",
        ),
        (MESSAGE, LetterState.REMEDIATED, "Publish it again: holdfast dead replay ID"),
        (
            MESSAGE,
            LetterState.REPLAYED,
            PUBLISHED,
        ),
    ],
)
def test_whose_move_it_is(kind: str, state: LetterState, words: str):
    assert next_move(kind, state).endswith(words)
