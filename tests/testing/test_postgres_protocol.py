import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing.postgres_protocol import MessageStream, does, first_word

bodies = st.lists(st.tuples(st.sampled_from([b"Q", b"C", b"Z"]), st.binary(max_size=40)))


def _packed(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


@given(bodies, st.integers(1, 17))
def test_messages_are_the_same_however_the_bytes_arrive(sent, piece):
    data = b"".join(_packed(kind, body) for kind, body in sent)
    stream = MessageStream()
    found = []
    for start in range(0, len(data), piece):
        found += stream.feed(data[start : start + piece])

    assert [(message.kind, message.body) for message in found] == sent
    assert b"".join(message.raw for message in found) == data
    assert stream.rest() == b""


@given(bodies)
def test_the_beginning_of_a_message_is_kept(sent):
    stream = MessageStream()
    whole = _packed(b"Q", b"select 1\0")

    assert list(stream.feed(whole[:-1])) == []
    assert stream.rest() == whole[:-1]


def test_a_client_starts_without_a_type_byte():
    stream = MessageStream(starting=True)
    ssl_request = struct.pack("!II", 8, 80_877_103)
    startup = _packed(b"", struct.pack("!I", 196_608) + b"user\0me\0\0")
    messages = list(stream.feed(ssl_request + startup + _packed(b"Q", b"commit\0")))

    assert [message.kind for message in messages] == [b"", b"", b"Q"]
    assert [message.asks_for_encryption for message in messages] == [True, False, False]


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("select 1", "SELECT"),
        ("  -- why\n/* and\nhow */ UPDATE job", "UPDATE"),
        ("", ""),
        ("-- nothing else", ""),
        ("(select 1)", ""),
    ],
)
def test_the_first_word_is_found_behind_comments(sql, word):
    assert first_word(sql) == word


@pytest.mark.parametrize(
    ("sql", "keyword", "expected"),
    [
        ("COMMIT", "COMMIT", True),
        ("begin; insert into a values (1); commit", "COMMIT", True),
        ("end", "COMMIT", True),
        ("select 'commit'", "COMMIT", False),
        ("insert into commit values (1)", "COMMIT", False),
        ("with a as (delete from b returning *) insert into c select * from a", "INSERT", True),
        ("with a as (select 1) select * from a", "INSERT", False),
        ("update a set b = 1", "INSERT", False),
    ],
)
def test_what_a_statement_does_is_told_from_its_text(sql, keyword, expected):
    assert does(sql, keyword) is expected
