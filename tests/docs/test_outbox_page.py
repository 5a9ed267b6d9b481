"""The page about the outbox names all there is, with the defaults that hold."""

from dataclasses import fields

from holdfast.bridges.messages.dead_messages import ATTEMPTS, FAILED_AT, FAILURE, QUEUE
from holdfast.bridges.messages.envelope import headers_of
from holdfast.core.values.outbox import OutboxMessage, Trouble
from holdfast.messaging import OutboxStatus, Received, RelayOptions
from tests.bridges.broker import a_message
from tests.docs.test_coverage import REFERENCE, named, rows

PAGE = REFERENCE / "outbox.md"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_every_option_of_a_relay_is_documented_with_its_default():
    documented = rows(PAGE)

    for field in fields(RelayOptions):
        assert documented[field.name][1] == str(field.default), field.name


def test_every_status_trouble_and_column_is_documented():
    page = named(PAGE)

    assert {status.value for status in OutboxStatus} <= page
    assert {trouble.value for trouble in Trouble} <= page
    assert set(OutboxMessage._fields) <= page


def test_every_header_and_every_field_of_a_message_is_documented():
    page = named(PAGE)

    assert set(headers_of(a_message(trace=TRACE), source="/x")) <= page
    assert {FAILURE, ATTEMPTS, FAILED_AT, QUEUE} <= page
    assert set(Received._fields) <= page
