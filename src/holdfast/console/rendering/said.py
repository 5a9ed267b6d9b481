"""What a page says after something was done: fixed words, so that an address cannot make others."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.console.words import GOOD, plural


class Said(NamedTuple):
    """A sentence and its tone."""

    text: str
    tone: str = GOOD


_ONE: Final = {
    "job-retried": "The job was sent back, and is queued again.",
    "job-cancelled": "The job was cancelled.",
    "triaged": "Triaged. Next: remove the cause, and say how you know that it is gone.",
    "remediated": "The evidence is on record. Next: replay it.",
    "replayed": "Sent back. Its job is queued at the stage that failed.",
    "resolved": "Resolved, with your note.",
    "dismissed": "Dismissed, with your note.",
    "replay-started": "The replay has started.",
    "replay-cancelled": "The replay has ended: nothing more is sent, and what was sent goes on.",
    "opened": "The breaker is held open: nothing passes until it is closed or reset.",
    "closed": "The breaker is held closed: everything passes, whatever calls say.",
    "reset": "The breaker was reset: it is closed, and moves by itself again.",
    "probed": "The wait is over: the next trial is made now.",
    "delivery-sent": "Marked as sent.",
    "delivery-resend": "It will be sent again.",
    "delivery-fail": "It will not be sent.",
    "message-retried": "The message is due now, with a new budget.",
    "draining": "The worker was told to finish what it runs, and to end.",
    "paused": "The queue is paused: workers take nothing from it.",
    "resumed": "The queue goes on.",
    "unchanged": "It was so already; nothing was changed.",
}
_MANY: Final = {
    "jobs-retried": ("{} sent back.", "job"),
    "some-jobs-retried": (
        "{} sent back. Others were left alone: their pipelines do not let them be retried.",
        "job",
    ),
    "jobs-cancelled": ("{} cancelled.", "job"),
    "letters-resolved": ("{} resolved.", "dead letter"),
}
_DIGITS: Final = 9


def said(word: str | None, count: str | None) -> Said | None:
    """Return the sentence of a word, with a count where it takes one; None for any other word."""
    if word in _ONE:
        return Said(_ONE[word])
    if word in _MANY and count is not None and count.isdecimal() and len(count) <= _DIGITS:
        sentence, noun = _MANY[word]
        return Said(sentence.format(plural(int(count), noun)))
    return None
