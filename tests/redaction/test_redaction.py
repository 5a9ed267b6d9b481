"""Secrets vanish from everything that is stored, logged or shown; what only looks so stays."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.redaction import MAX_TEXT_LENGTH, Redactor, is_maskable
from holdfast.redaction.marker import MARKER, Kind
from tests.redaction.ordinary_logs import OrdinaryLogs
from tests.redaction.redaction_corpus import (
    LOOK_ALIKES,
    PEM,
    SECRETS,
    STRIPE,
    TEXT_CARRIERS,
    VALUE_CARRIERS,
    in_base64,
    mixed,
)

SHOWN_OF_A_SECRET = 6
"""So many characters of a secret on end are a part of it that nobody may see."""

redactor = Redactor()
samples = [
    pytest.param(sample, id=f"{row}-{place}")
    for row, row_samples in SECRETS.items()
    for place, sample in enumerate(row_samples)
]
look_alikes = [
    pytest.param(value, id=f"{row}-{place}")
    for row, values in LOOK_ALIKES.items()
    for place, value in enumerate(values)
]


def parts_shown(shown, sample):
    """The parts of the sample's secrets that can be read in what is shown."""
    return [
        part
        for secret in sample.secrets
        for start in range(max(1, len(secret) - SHOWN_OF_A_SECRET + 1))
        if (part := secret[start : start + SHOWN_OF_A_SECRET]) in shown
    ]


@pytest.mark.parametrize("sample", samples)
def test_a_secret_vanishes_whole_from_every_text(sample):
    for carrier, carry in TEXT_CARRIERS.items():
        carried = carry(sample.text)
        shown = redactor.text(carried)

        assert not parts_shown(shown, sample), carrier
        assert MARKER.search(shown), carrier
        assert redactor.text(shown) == shown, carrier


@pytest.mark.parametrize("sample", samples)
def test_a_secret_vanishes_whole_from_every_value(sample):
    for carrier, carry in VALUE_CARRIERS.items():
        carried = carry(sample.text)
        shown = redactor.value(carried)

        assert not parts_shown(str(shown), sample), carrier
        assert MARKER.search(str(shown)), carrier
        assert redactor.value(shown) == shown, carrier


@pytest.mark.parametrize("value", look_alikes)
def test_what_only_looks_like_a_secret_stays_as_it_is(value):
    for text in (value, f"the call failed: {value}", f"job 7 had {value} here"):
        assert redactor.text(text) == text
    for carried in ({"note": value}, [value], (value, 1), {"a": {"b": [value]}}):
        assert redactor.value(carried) == carried


@pytest.mark.parametrize("lines", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_less_than_one_in_a_thousand_ordinary_log_lines_changes(lines):
    changed = sum(redactor.text(line) != line for line in OrdinaryLogs(seed=2026).lines(lines))

    print(f"{changed} of {lines} ordinary lines changed")
    assert changed < lines / 1000


@pytest.mark.parametrize("name", ["author", "tokenizer", "monkey", "keyboard", "primary_key"])
def test_a_name_that_only_sounds_secret_keeps_its_value(name):
    assert redactor.value({name: mixed(20)}) == {name: mixed(20)}
    assert redactor.text(f"{name}={mixed(20)}") == f"{name}={mixed(20)}"


def test_equal_secrets_have_equal_markers_and_others_have_others():
    first, second = redactor.value([f"token={mixed(24)}", f"token={mixed(25)}"])
    again = redactor.text(f"the token={mixed(24)}")

    assert first in again
    assert first != second


def test_a_short_secret_has_no_digest_by_which_it_could_be_guessed():
    assert redactor.text("password=hunter2") == f"password=[redacted:{Kind.PASSWORD}]"


def test_a_key_for_digests_lets_short_secrets_be_told_apart_too():
    keyed = Redactor(hash_key=b"k" * 100)
    shown = keyed.value(["password=hunter2", "password=hunter3", "password=hunter2"])

    assert shown[0] == shown[2] != shown[1]
    assert shown != Redactor(hash_key=b"other").value(["password=hunter2"] * 3)


@pytest.mark.parametrize("secret", [STRIPE, f"password={mixed(40)}", PEM, in_base64(PEM)])
@pytest.mark.parametrize("before", [0, 3, 20])
def test_a_secret_across_the_limit_vanishes_before_the_text_is_cut(secret, before):
    text = "x " * (MAX_TEXT_LENGTH // 2) + "y " * 50_000
    start = MAX_TEXT_LENGTH - before
    text = f"{text[:start]} {secret} {text[start:]}"
    shown = redactor.text(text)

    assert len(shown) <= MAX_TEXT_LENGTH
    assert shown.endswith(f"… [cut, {len(text)} characters]")
    assert mixed(6) not in shown
    assert redactor.text(shown) == shown


def test_half_a_secret_at_the_end_of_what_is_looked_at_is_not_shown():
    looked_at = MAX_TEXT_LENGTH + 8_192
    text = f'password="{mixed(20_000)}" '.ljust(looked_at - 12, ".")[:-1] + f" {STRIPE} {'.' * 99}"
    shown = redactor.text(text)

    assert len(shown) < MAX_TEXT_LENGTH
    assert "sk_live" not in shown


def test_a_marker_is_never_cut_in_two():
    text = "word " * 50_800 + "cvv=123 " * 500

    for extra in range(0, 24, 5):
        shown = redactor.text("." * extra + text)
        assert "[redacted:secret]" in shown
        assert not re.search(r"\[redacted[^\]]*(?:…|\Z)", shown)


def test_a_text_that_grows_over_the_limit_is_cut():
    text = ("cvv=123 " + "word " * 40) * 1_240
    shown = redactor.text(text[:MAX_TEXT_LENGTH])

    assert len(text) > MAX_TEXT_LENGTH * 0.9
    assert len(shown) <= MAX_TEXT_LENGTH
    assert redactor.text(shown) == shown


def test_a_long_text_of_plain_words_is_cut_too():
    shown = redactor.text("word " * 60_000)

    assert len(shown) <= MAX_TEXT_LENGTH
    assert shown.endswith("… [cut, 300000 characters]")


fragments = st.sampled_from(
    [
        *(sample.text for row in SECRETS.values() for sample in row),
        *(value for row in LOOK_ALIKES.values() for value in row),
        *(["password", "token", "api_key", "Authorization", "Cookie", "secret", "auth", "dsn"] * 8),
        *(["session", "phone", "ssn", "key", "code", "pwd", "hunter2", "user", "true", "null"] * 8),
        *(["-p", "--password", "-u", "Bearer", "Basic", "Digest"] * 8),
        *(["=", ":", ": ", "=>", ",", "&", ";", " ", "\n", "'", '"', "`", "\\", '\\"', "\\n"] * 12),
        *(["(", ")", "[", "]", "{", "}", "<", ">", "</", "%", "%3D", "%20", "%25", "\x1b[0m"] * 8),
        *(
            ["&quot;", "\\u0070", "@", "://", "/", "?", "#", "$", "|", ">-", "- ", "_", ".", "İ"]
            * 8
        ),
        *(["[redacted:password]", "[redacted:token:1f3a]", "[redacted:", "jane@example.co.uk"] * 8),
    ]
)
any_text = st.lists(fragments | st.text(max_size=8), max_size=14).map("".join)


@given(any_text)
@example("passwort=k- Cookie=.git@host:org/repo.git=Basic\\u0070Cookie")
@example("[redacted:password]hunter2")
@example("password=[redacted:token:1f3a]hunter2")
def test_what_is_redacted_stays_as_it_is(text):
    everything = Redactor(mask_email=True, known_values=["Zr8!known/value+1"])
    shown = everything.text(text)

    assert everything.text(shown) == shown
    assert shown not in {f"[redacted:{Kind.UNREADABLE}]", f"[redacted:{Kind.TOO_MUCH}]"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
        max_leaves=12,
    )
)
def test_a_redacted_value_stays_as_it_is(value):
    shown = redactor.value(value)

    assert redactor.value(shown) == shown
    assert json.loads(json.dumps(shown)) == shown


@given(st.text(min_size=12, max_size=40).filter(is_maskable), any_text, any_text)
def test_a_known_value_is_never_shown(secret, before, after):
    knowing = Redactor(known_values=[secret])

    assert secret not in knowing.text(f"{before}{secret}{after}")
