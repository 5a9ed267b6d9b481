"""What a process knows to be secret is hidden from the moment it is known, and for good."""

import secrets
import sys
import threading
import time

import pytest

from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, clean_text
from holdfast.errors import InvalidValue
from holdfast.redaction.marker import MARKER
from holdfast.secrecy import MAX_VALUES, Secrecy

OLD, NEW = "v8Kq-old-2f7Lx0Rz9", "v8Kq-new-Wc41Tn6Ye"


def test_a_value_is_hidden_as_soon_as_it_is_known():
    secrecy = Secrecy()
    before = secrecy.text(f"refused for {NEW}")

    secrecy.keep([NEW])

    assert before == f"refused for {NEW}"
    assert NEW not in secrecy.text(f"refused for {NEW}")
    assert NEW not in str(secrecy.value({"note": [NEW]}))


def test_a_value_that_was_replaced_stays_hidden():
    secrecy = Secrecy()
    secrecy.keep([OLD])
    secrecy.keep([NEW])

    shown = secrecy.text(f"{OLD} was refused, {NEW} was not")

    assert len(MARKER.findall(shown)) == 2


def test_what_stands_under_a_name_of_ones_own_is_hidden():
    secrecy = Secrecy()
    secrecy.keep((), names=["badge no"])

    assert "kestrel" not in secrecy.text("badge_no=kestrel")
    assert secrecy.value({"badgeNo": "kestrel"}) == {"badgeNo": "[redacted:secret]"}
    assert secrecy.names == ("badge no",)


def test_values_too_plain_to_be_hidden_are_counted_and_left():
    secrecy = Secrecy()

    assert secrecy.keep(["postgres", "x", NEW]) == 2
    assert secrecy.text("postgres runs") == "postgres runs"
    assert secrecy.values == (NEW,)


def test_of_very_many_values_those_named_longest_ago_are_forgotten():
    secrecy = Secrecy()
    secrecy.keep([OLD])
    secrecy.keep(f"filler-{number}-k9Zx3Q" for number in range(MAX_VALUES - 1))
    secrecy.keep([OLD])
    secrecy.keep(["one-more-k9Zx3Qv"])

    assert len(secrecy.values) == MAX_VALUES
    assert OLD in secrecy.values
    assert "filler-0-k9Zx3Q" not in secrecy.values


def test_a_known_value_made_of_words_and_numbers_is_found_among_texts_with_other_numbers():
    secrecy = Secrecy()
    secrecy.keep(["gate 48 opens at 29"])

    for number in (47, 48, 49):
        shown = secrecy.safe_text(f"the gate {number} opens at 29 today", MAX_MESSAGE_LENGTH)

        assert ("[redacted:" in shown) == (number == 48)


def test_knowing_a_value_again_keeps_what_was_remembered():
    secrecy = Secrecy()
    secrecy.keep([OLD, NEW])
    state = secrecy.state

    secrecy.keep([OLD])

    assert secrecy.state is state


@pytest.mark.parametrize("values", [NEW, NEW.encode(), [7], [NEW, NEW.encode()], [None]])
def test_what_is_no_list_of_texts_is_refused_and_not_shown(values):
    secrecy = Secrecy()

    with pytest.raises(InvalidValue, match="a list of texts") as caught:
        secrecy.keep(values)
    with pytest.raises(InvalidValue, match="names"):
        secrecy.keep((), names=values)

    assert NEW not in str(caught.value)
    assert (secrecy.values, secrecy.names) == ((), ())


class Odd(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError(NEW)

    __len__ = __hash__ = __eq__ = __str__


@pytest.mark.parametrize(
    "text",
    [Odd("password=hunter2"), None, b"password=hunter2", 7],
    ids=["odd", "none", "bytes", "number"],
)
def test_whatever_is_given_for_text_nothing_is_raised_and_nothing_shown(text):
    assert "hunter2" not in Secrecy().text(text)


def test_a_long_text_is_cut_after_its_secrets_are_gone():
    secrecy = Secrecy()
    secrecy.keep([NEW])
    for before in range(MAX_MESSAGE_LENGTH - 40, MAX_MESSAGE_LENGTH + 2):
        text = "x " * (before // 2) + "y" * (before % 2) + NEW + " tail" * 2_000
        for whole in (text, text + " end" * 20_000):
            shown = secrecy.text(whole, limit=MAX_MESSAGE_LENGTH)
            shown = clean_text(shown, MAX_MESSAGE_LENGTH)

            assert NEW[:5] not in shown
            assert "[redacted" not in shown or MARKER.search(shown)
            assert len(shown) <= MAX_MESSAGE_LENGTH


@pytest.mark.parametrize("tail", [" tail" * 20, " tail" * 5_000], ids=["short", "long"])
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(tail):
    secrecy = Secrecy()
    secrecy.keep([NEW])
    limit = 60
    for before in range(1, limit):
        shown = secrecy.safe_text("x" * before + " " + NEW + tail, limit)

        assert NEW[:5] not in shown
        assert len(shown) <= limit


def test_a_known_value_of_many_kilobytes_is_seen_whole():
    secrecy = Secrecy()
    document = secrets.token_hex(20_000)
    secrecy.keep([document])

    shown = secrecy.text("key " + document + " end" * 50_000, limit=100)

    assert document[:8] not in shown


def test_ten_megabytes_take_no_longer_than_what_is_kept_of_them():
    secrecy = Secrecy()
    secrecy.keep([NEW])
    text = f"{NEW} was refused " + "by line 7 of 10 " * 650_000
    begun = time.process_time()
    shown = secrecy.text(text, limit=MAX_MESSAGE_LENGTH)

    assert time.process_time() - begun < (0.1 if sys.gettrace() is None else 1.0)
    assert NEW not in shown
    assert shown.endswith(f"… [cut, {len(text)} characters]")


def test_secrets_change_while_others_redact():
    secrecy = Secrecy()
    rounds = [f"{number}-rotated-{secrets.token_hex(8)}" for number in range(60)]
    known: list[str] = []
    leaks: list[str] = []
    done = threading.Event()

    def redact():
        while not done.is_set():
            leaks.extend(value for value in tuple(known) if value in secrecy.text(f"no {value}!"))

    threads = [threading.Thread(target=redact) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in rounds:
        secrecy.keep([value])
        known.append(value)
    done.set()
    for thread in threads:
        thread.join(30)

    assert leaks == []
    assert len(secrecy.values) == len(rounds)
