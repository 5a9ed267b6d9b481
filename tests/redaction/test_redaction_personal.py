"""Addresses, phones and one-time codes vanish where they are hidden; what only looks so stays."""

import pytest

from holdfast.redaction import Redactor
from holdfast.redaction.marker import MARKER
from tests.redaction.ordinary_logs import OrdinaryLogs
from tests.redaction.redaction_corpus import (
    IMPERSONAL,
    LOOK_ALIKES,
    PERSONAL,
    SECRETS,
    TEXT_CARRIERS,
    VALUE_CARRIERS,
)
from tests.redaction.test_redaction_time import MAX_SECONDS, REPEATED, cpu_s, filled

redactor = Redactor(personal=True)
samples = [
    pytest.param(sample, id=f"{row}-{place}")
    for row, found in PERSONAL.items()
    for place, sample in enumerate(found)
]
look_alikes = [
    pytest.param(value, id=f"{row}-{place}")
    for row, values in (LOOK_ALIKES | IMPERSONAL).items()
    for place, value in enumerate(values)
]


@pytest.mark.parametrize("sample", samples)
def test_what_is_personal_vanishes_and_leaves_a_mark(sample):
    (secret,) = sample.secrets

    shown = redactor.text(sample.text)

    assert secret not in shown
    assert MARKER.search(shown)
    assert redactor.text(shown) == shown


@pytest.mark.parametrize("sample", samples)
def test_it_vanishes_from_every_carrier(sample):
    (secret,) = sample.secrets
    for carrier, carry in (TEXT_CARRIERS | VALUE_CARRIERS).items():
        shown = str(redactor.value(carry(sample.text)))

        assert secret not in shown, carrier
        assert str(redactor.value(redactor.value(carry(sample.text)))) == shown, carrier


@pytest.mark.parametrize("value", look_alikes)
def test_what_only_looks_personal_stays(value):
    for text in (value, f"the call failed: {value}", f"job 7 had {value} here"):
        assert redactor.text(text) == text
    for carried in ({"note": value}, [value], {"a": {"b": [value]}}):
        assert redactor.value(carried) == carried


@pytest.mark.parametrize("row", SECRETS)
def test_secrets_vanish_as_they_always_do(row):
    for sample in SECRETS[row]:
        shown = redactor.text(sample.text)
        assert all(secret not in shown for secret in sample.secrets)


def test_equal_ones_can_be_told_from_others():
    first, again, other = (
        redactor.text(f"<{address}>")
        for address in ("jane@example.com", "Jane@Example.com", "john@example.com")
    )

    assert first == again != other
    assert first.startswith("<[email:")
    assert redactor.text("call +49 30 901820") == redactor.text("call +49-30-901820")
    assert redactor.text("OTP 482913") != redactor.text("OTP 482914")


def test_without_it_addresses_stay():
    assert Redactor().text("jane@example.com") == "jane@example.com"


def test_ordinary_logs_stay_as_they_are():
    logs = OrdinaryLogs(seed=7)
    changed = [line for line in logs.lines(2_000) if redactor.text(line) != Redactor().text(line)]

    assert changed == []


@pytest.mark.parametrize(
    "repeated",
    [*REPEATED, "a@b.", "jane@example.com ", "a@a.a.a.a.a.a.a.a.", "otp ", "otp 1234 ", "1234 is "],
    ids=repr,
)
def test_it_takes_time_in_proportion_to_the_text(repeated):
    text = filled(repeated)

    assert cpu_s(lambda: redactor.text(text), most=MAX_SECONDS * 2) < MAX_SECONDS * 2
