"""What a message to the fleet says, and what is no such message."""

import json

import pytest

from holdfast.bridges.celery.message import PoisonMessage, body_of, due_of, headers_of
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.runtime.dispatcher.dispatcher import MAX_JOBS, DueMessage

JOB = JobId("01a1e20e-f7bd-766a-afe3-548dc18f1ad7")
DUE = {"version": 1, "queue": "default", "pipeline": "p", "stage": "s", "jobs": [JOB]}


def test_a_message_says_what_it_was_made_to_say():
    message = DueMessage(Route("default", "p", "s"), (JOB, JOB))

    args, kwargs, _ = json.loads(body_of(message))

    assert due_of(tuple(args), kwargs) == message
    assert headers_of("m")["task"] == "holdfast.run"


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"due": None},
        {"due": [JOB]},
        {"due": DUE, "more": 1},
        {"due": {**DUE, "version": 2}},
        {"due": {**DUE, "version": "1"}},
        {"due": {**DUE, "stage": 1}},
        {"due": {**DUE, "queue": None}},
        {"due": {**DUE, "jobs": []}},
        {"due": {**DUE, "jobs": JOB}},
        {"due": {**DUE, "jobs": [JOB, 1]}},
        {"due": {**DUE, "jobs": ["'; drop table job; --"]}},
        {"due": {**DUE, "jobs": [JOB] * (MAX_JOBS + 1)}},
    ],
)
def test_anything_else_is_poison(kwargs: dict):
    with pytest.raises(PoisonMessage):
        due_of((), kwargs)


def test_positional_arguments_are_poison():
    with pytest.raises(PoisonMessage):
        due_of((1,), {"due": DUE})
