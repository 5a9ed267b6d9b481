"""Every send and every lookup of a delivery leaves a line, and nothing else does."""

import pytest

from holdfast.core.delivery.delivery import Delivery
from holdfast.core.delivery.lifecycle import decide_delivery
from holdfast.core.delivery.log import attempt_of
from tests.core.delivery.deliveries import EVENTS, NOW, PROMISES, a_delivery, terms_of

LINES = {
    ("claimed", "SendBegun"): None,
    ("claimed", "HandedBack"): None,
    ("claimed", "CourierLost"): None,
    ("claimed", "Missing"): "not_found",
    ("sending", "Accepted"): "accepted",
    ("sending", "Busy"): "refused RATE_LIMITED",
    ("sending", "Refused"): "refused INVALID",
    ("sending", "Lost"): "in_doubt NETWORK_TIMEOUT",
    ("sending", "Bug"): "in_doubt BUG",
    ("sending", "Unsent"): None,
    ("sending", "Postponed"): "postponed QUOTA_EXCEEDED",
    ("sending", "CourierLost"): "lost WORKER_LOST",
    ("asking", "Found"): "found",
    ("asking", "Missing"): "not_found",
    ("asking", "Silence"): "no_answer",
    ("asking", "CourierLost"): "no_answer",
    ("failed", "AskedAgain"): None,
    ("unknown", "SaysSent"): None,
    ("unknown", "RecFound"): "found",
    ("unknown", "RecMissing"): "not_found",
    ("unknown", "RecSilence"): None,
    ("sent", "RecFound"): None,
    ("sent", "RecMissing"): "taken_back EVIDENCE_MISSING",
}


def line_of(standing: str, event: str):
    before = a_delivery(standing)
    after = decide_delivery(before, EVENTS[event], terms_of(PROMISES["both"]), NOW, 0.5)
    assert isinstance(after, Delivery)
    return attempt_of(before, EVENTS[event], after)


@pytest.mark.parametrize(("standing", "event"), LINES)
def test_what_the_log_says(standing, event):
    line = line_of(standing, event)

    said = None if line is None else " ".join(filter(None, (line.outcome, line.error_class)))
    assert said == LINES[standing, event]


def test_a_line_says_when_which_send_by_whom_and_the_provider_s_id():
    line = line_of("sending", "Accepted")

    assert (line.at, line.attempt, line.holder) == (NOW, 1, "courier-1")
    assert (line.notification_id, line.message) == ("m-1", None)
    assert line.revision == a_delivery("sending").revision + 1


def test_a_mark_that_is_taken_back_says_which_message_was_not_found():
    assert line_of("sent", "RecMissing").notification_id == "m-1"
