"""Tokens say what they were signed for, and nothing else can be made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.callback import LONGEST_TOKEN, Claim, read, sign
from holdfast.core.values.instant import Instant

KEY = bytes(range(32))
CLAIM = Claim("01a1e153-b4d5-7345-b396-232e350893c6", 1, "approve", Instant(1_700_000_000_000_000))

claims = st.builds(
    Claim,
    st.uuids().map(str),
    st.integers(1, 10**6),
    st.text(max_size=64),
    st.none() | st.integers(0, 10**17).map(Instant),
)


@given(claims, st.binary(min_size=32, max_size=32))
def test_a_token_says_what_it_was_signed_for(claim, key):
    assert read(sign(claim, key=key), key=key) == claim


@given(claims)
def test_a_token_can_stand_in_a_url_and_in_a_header(claim):
    token = sign(claim, key=KEY)

    assert token.replace(".", "").replace("-", "").replace("_", "").isalnum()


def test_a_token_of_another_key_is_refused():
    assert read(sign(CLAIM, key=bytes(32)), key=KEY) is None


@given(st.data())
def test_no_character_of_a_token_can_be_changed(data):
    token = sign(CLAIM, key=KEY)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters().filter(lambda character: character != token[place]))

    assert read(token[:place] + other + token[place + 1 :], key=KEY) is None


@given(st.text(max_size=200))
def test_whatever_else_is_given_is_refused_and_never_raises(text):
    assert read(text, key=KEY) is None


@pytest.mark.parametrize(
    "token",
    ["", ".", "a.", ".a", "a.b.c", "=.=", "é.é", "A" * (LONGEST_TOKEN + 1), "e30.", "e30.AAAA"],
)
def test_odd_texts_are_refused(token):
    assert read(token, key=KEY) is None


def test_a_part_cut_off_or_added_is_refused():
    token = sign(CLAIM, key=KEY)

    for changed in (token[:-1], token + "A", token + "=", "A" + token, token + "."):
        assert read(changed, key=KEY) is None
