"""What the properties of a message say about who may answer it."""

import json

import pytest

from holdfast.bridges.messages.correlation import Correlation, correlation_of


def test_a_request_says_what_its_reply_has_to_send_back():
    payload = json.dumps({"essay": "e-1", "callback_token": "t.s"})

    assert correlation_of(payload) == Correlation("t.s", asks=True)


def test_a_reply_belongs_to_its_request_and_asks_for_nothing():
    payload = json.dumps({"callback_token": "t.s", "result": None})

    assert correlation_of(payload) == Correlation("t.s", asks=False)


@pytest.mark.parametrize(
    "payload",
    [
        {"essay": "e-1"},
        {"callback_token": 7},
        {"callback_token": ""},
        {"inner": {"callback_token": "t.s"}},
        ["callback_token"],
        "callback_token",
        None,
    ],
)
def test_what_has_no_token_of_its_own_belongs_to_nothing(payload):
    assert correlation_of(json.dumps(payload)) is None


def test_a_token_that_no_property_can_hold_stays_in_the_payload():
    assert correlation_of(json.dumps({"callback_token": "t" * 255})) is not None
    assert correlation_of(json.dumps({"callback_token": "ü" * 128})) is None


@pytest.mark.parametrize("outcome", ["result", "failure", "progress"])
def test_a_reply_with_an_outcome_asks_for_nothing(outcome):
    payload = json.dumps({"callback_token": "t.s", "outcome": outcome})

    assert correlation_of(payload) == Correlation("t.s", asks=False)


def test_a_request_may_have_an_outcome_of_its_own():
    payload = json.dumps({"callback_token": "t.s", "outcome": {"wanted": "a grade"}})

    assert correlation_of(payload) == Correlation("t.s", asks=True)
