"""Texts that differ in small numbers only are redacted as one, and none shows more for it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core.values.failure import clean_text
from holdfast.redaction import Redactor
from holdfast.redaction.likeness import with_other_numbers
from holdfast.secrecy import Secrecy
from tests.redaction.redaction_corpus import LOOK_ALIKES, SECRETS, TEXT_CARRIERS

LIMIT = 2_000
redactor = Redactor(personal=True)
NAMES = ["password", "pin", "PIN code", "api key", "token", "secret", "cvv", "passport", "otp"]
PHRASES = [
    "{name} {number}",
    "{name} is {number}",
    "{name}: {number}",
    "{name} = {number}",
    "your {name} {number} is wrong",
    "job {number} has {name} {number}",
    "row {number}, column {number}",
    '{{"{name}": {number}}}',
    "{name}\\u0070{number}",
    "job {number} of {name}",
]
small_numbers = st.integers(0, 999_999).map(str) | st.from_regex(r"\A0[0-9]{0,5}\Z")


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("the upstream hung up on job 17", "the upstream hung up on job 72"),
        ("the upstream hung up on job 40", "the upstream hung up on job 72"),
        ("attempt 2 of 5 failed", "attempt 7 of 2 failed"),
        ("no numbers here", None),
        ("three 1 2 3", None),
        ("job 1234567", None),
        ("call 555 12345", None),
        ("a\\u0070 7", None),
        ("%70assword 7", None),
        ("&#112;assword 7", None),
        ("job7", None),
        ("v1.2", None),
        ("key-7", None),
        ("7/8", None),
    ],
)
def test_a_text_is_alike_to_others_with_a_few_small_numbers_that_stand_alone(text, alike):
    assert with_other_numbers(text) == alike


@given(st.sampled_from(PHRASES), st.sampled_from(NAMES), small_numbers)
@example("{name} {number}", "pin", "0000")
@example("{name} {number}", "token", "401")
def test_what_is_remembered_of_others_hides_as_much_as_looking_at_the_text_itself(
    phrase, name, number
):
    text = phrase.format(name=name, number=number)
    assert Secrecy().safe_text(text, LIMIT) == clean_text(redactor.text(text), LIMIT)


@pytest.mark.parametrize("row", [*SECRETS, *LOOK_ALIKES])
def test_nothing_in_the_corpus_is_shown_otherwise(row):
    secrecy = Secrecy()
    samples = [getattr(sample, "text", sample) for sample in {**SECRETS, **LOOK_ALIKES}[row]]
    for sample in samples:
        for carry in TEXT_CARRIERS.values():
            text = f"job 7: {carry(sample)}"
            assert secrecy.safe_text(text, LIMIT) == clean_text(redactor.text(text), LIMIT)


def test_a_known_value_with_numbers_is_hidden_from_a_text_that_is_alike_to_a_remembered_one():
    secrecy = Secrecy()
    secrecy.keep(["blue-Harbour lamp 4711"])
    shown = [secrecy.safe_text(f"refused blue-Harbour lamp {n}", LIMIT) for n in (4712, 4711)]

    assert shown[0] == "refused blue-Harbour lamp 4712"
    assert "4711" not in shown[1]


def test_every_secret_name_hides_its_number_whatever_the_number_is():
    secrecy = Secrecy()
    for number in ("0", "12", "1234", "999999"):
        shown = secrecy.safe_text(f"job 7 sent password={number}", LIMIT)
        assert shown == clean_text(redactor.text(f"job 7 sent password={number}"), LIMIT)
        assert re.search(rf"={number}\b", shown) is None
