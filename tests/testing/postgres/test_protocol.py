import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing.postgres.protocol import Conversation, MessageStream, does, first_word

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


def _said(kind, body=b""):
    (message,) = MessageStream().feed(_packed(kind, body))
    return message


def _prepared(talk, *statements):
    for name, sql in statements:
        talk.sent(_said(b"P", name + b"\0" + sql + b"\0\0\0"))


def test_an_answer_belongs_to_the_statement_whose_turn_it_is_though_others_were_sent_ahead():
    talk = Conversation()
    _prepared(talk, (b"a", b"insert"), (b"b", b"notify"))
    for kind, body in ((b"B", b"\0a\0"), (b"S", b""), (b"B", b"\0b\0"), (b"S", b"")):
        talk.sent(_said(kind, body))
    answered = []
    for kind, body in ((b"C", b"INSERT 0 1\0"), (b"Z", b"I"), (b"C", b"SELECT 1\0"), (b"Z", b"I")):
        talk.answered(_said(kind, body))
        answered.append(talk.sql)

    assert answered == ["insert", "notify", "notify", ""]


def test_statements_of_one_round_are_answered_in_their_order():
    talk = Conversation()
    _prepared(talk, (b"a", b"begin"), (b"b", b"insert"))
    for kind, body in ((b"B", b"\0a\0"), (b"B", b"\0b\0"), (b"S", b"")):
        talk.sent(_said(kind, body))
    answered = []
    for kind, body in ((b"C", b"BEGIN\0"), (b"C", b"INSERT 0 1\0"), (b"Z", b"T")):
        talk.answered(_said(kind, body))
        answered.append(talk.sql)

    assert answered == ["begin", "insert", ""]
    assert talk.in_block
