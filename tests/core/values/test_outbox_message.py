"""A message that is made can be stored and published; what cannot be is refused by name."""

import pytest

from holdfast.core.values.outbox import MAX_NAME_BYTES, new_message
from holdfast.errors import InvalidDocument, InvalidValue

GIVEN = {"message_type": "order.paid", "payload": {"n": 1}, "aggregate_id": "order-7", "trace": "t"}


def made(**changed):
    return new_message("m-1", **{**GIVEN, **changed})


def test_a_message_carries_what_it_was_given():
    assert made()._asdict() == {
        "id": "m-1",
        "aggregate_id": "order-7",
        "message_type": "order.paid",
        "payload": '{"n":1}',
        "trace": "t",
    }


def test_without_an_aggregate_a_message_is_one_of_its_own():
    assert made(aggregate_id=None, trace=None).aggregate_id == "m-1"


@pytest.mark.parametrize("field", ["message_type", "aggregate_id", "trace"])
@pytest.mark.parametrize("text", ["", "two\nlines", "é" * MAX_NAME_BYTES, 7])
def test_a_name_that_no_header_can_carry_is_refused(field, text):
    with pytest.raises(InvalidValue) as refused:
        made(**{field: text})
    assert refused.value.field == field


def test_a_payload_that_is_no_json_is_refused():
    with pytest.raises(InvalidDocument):
        made(payload=float("nan"))
