"""What JSON may carry into the store, and how everything else is refused."""

import collections
import datetime as dt
import enum
import inspect
import json
import math
import sys
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.document import DEFAULT_LIMITS, Limits, decode, encode, fingerprint, parse
from holdfast.errors import InvalidDocument, InvalidValue, UsageError

good_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | good_text,
    lambda inner: st.lists(inner) | st.dictionaries(good_text, inner),
    max_leaves=20,
)


def nested(depth, innermost=None):
    value = innermost
    for _ in range(depth):
        value = [value]
    return value


def refusal(value, **limits):
    with pytest.raises(InvalidDocument) as caught:
        encode(value, what="payload", limits=Limits(**limits))
    assert caught.value.what == "payload"
    assert isinstance(caught.value, UsageError)
    return caught.value


def refusal_of_text(text, **limits):
    with pytest.raises(InvalidDocument) as caught:
        parse(text, what="body", limits=Limits(**limits))
    assert caught.value.what == "body"
    return caught.value


@given(documents)
def test_a_document_survives_storage(value):
    text = encode(value, what="payload")

    assert decode(text) == value
    assert parse(text, what="payload") == value
    assert parse(text.encode(), what="payload") == value


@pytest.mark.parametrize("value", [-0.0, 10**400, -(10**400), 5e-324, 1.7976931348623157e308, 0.1])
def test_odd_numbers_survive_storage(value):
    back = decode(encode([value], what="payload"))[0]

    assert repr(back) == repr(value)
    assert repr(parse(encode(value, what="payload"), what="payload")) == repr(value)


def test_the_longest_integer_survives_storage():
    value = 10**4_299

    assert decode(encode(value, what="payload")) == value
    assert parse(str(value), what="payload") == value


def test_text_is_compact_and_keeps_its_characters():
    assert encode({"a": [1, "é🙂"], "b": None}, what="payload") == '{"a":[1,"é🙂"],"b":null}'


def test_nothing_is_a_document():
    assert encode(None, what="result") == "null"
    assert decode("null") is None


def test_tuples_are_lists_and_relatives_of_json_types_are_what_they_are():
    class Colour(enum.StrEnum):
        RED = "red"

    class Number(enum.IntEnum):
        ONE = 1

    class Point(NamedTuple):
        x: int
        y: int

    value = {
        Colour.RED: (1, 2),
        "point": Point(3, 4),
        "map": collections.OrderedDict(a=Number.ONE),
        "colour": Colour.RED,
    }

    assert decode(encode(value, what="payload")) == {
        "red": [1, 2],
        "point": [3, 4],
        "map": {"a": 1},
        "colour": "red",
    }


@pytest.mark.parametrize("filler", ["x", "é"])
def test_size_is_counted_in_bytes_of_utf8(filler):
    width = len(filler.encode())
    fits = filler * (98 // width)

    assert len(encode(fits, what="payload", limits=Limits(max_bytes=100)).encode()) == 100
    error = refusal(fits + "y", max_bytes=100)
    assert error.path == ""
    assert "101 bytes" in error.found
    assert "100 bytes" in error.limit


def test_a_hundred_megabytes_are_refused():
    assert "bytes" in refusal("x" * 100_000_000).found


def test_depth_is_limited_to_the_level():
    assert decode(encode(nested(64), what="payload")) == nested(64)
    assert decode(encode(nested(63, []), what="payload")) == nested(63, [])
    assert "deeper than 64" in refusal(nested(65)).found
    assert refusal(nested(64, {})).path == "/0" * 64


@pytest.mark.parametrize("depth", [900, 1_000, 5_000, 20_000])
def test_deep_nesting_is_refused_without_recursion(depth):
    assert "deeper than 64" in refusal(nested(depth)).found
    assert "deeper than 64" in refusal_of_text("[" * depth + "]" * depth).found
    assert "deeper than 64" in refusal_of_text('{"a":' * depth + "1" + "}" * depth).found
    assert "deeper than 64" in refusal_of_text("[" * depth).found


def test_a_cycle_is_refused_for_its_depth():
    straight = []
    straight.append(straight)
    bushy = {}
    bushy["again"] = [bushy] * 1_000

    assert "deeper" in refusal(straight).found
    assert "deeper" in refusal(bushy).found


def test_parts_shared_so_often_that_they_explode_are_refused_quickly():
    value = ["x"] * 1_000
    for _ in range(20):
        value = [value] * 1_000

    assert "values" in refusal(value, max_bytes=100_000).found


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ("a\0b", "", "NUL"),
        ({"a": ["ok", "\0"]}, "/a/1", "NUL"),
        ({"a": {"b\0": 1}}, "/a", "NUL"),
        (["\ud800"], "/0", "surrogate"),
        ({"\udfff": 1}, "", "surrogate"),
        (math.nan, "", "nan"),
        ([1.0, None, True, math.inf], "/3", "inf"),
        ({"a": -math.inf}, "/a", "-inf"),
        ({"a": {1: 2}}, "/a", "key of type int"),
        ({None: 2}, "", "key of type NoneType"),
        ({("a", "b"): 2}, "", "key of type tuple"),
        ([{1, 2}], "/0", "type set"),
        ({"x": b"bytes"}, "/x", "type bytes"),
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "", "datetime.datetime"),
        ({"a/b": {"c~d": object()}}, "/a~1b/c~0d", "type object"),
        ([[1], [2, [3, 1j]]], "/1/1/1", "complex"),
        ([[[1], 1j]], "/0/1", "complex"),
        ([10**4_300], "/0", "more than 4300 digits"),
        ({"n": [-(10**4_300)]}, "/n/0", "more than 4300 digits"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_place(value, path, found):
    error = refusal(value)

    assert error.path == path
    assert found in error.found
    assert error.found in str(error)
    assert error.limit in str(error)
    assert str(error).isprintable()


def test_a_result_that_is_an_open_file_is_refused_by_its_type():
    assert "_io.TextIOWrapper" in refusal({"stream": sys.__stderr__}).found


def test_integers_are_limited_even_where_python_was_told_not_to():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert "4300 digits" in refusal([10**5_000]).found
        assert "5001 digits" in refusal_of_text(f"[{10**5_000}]").found
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("text", ["\\u0000", "9" * 5_000, "\\ud800", "1e999"])
def test_text_that_only_looks_dangerous_is_let_through(text):
    assert decode(encode({"a": text}, what="payload")) == {"a": text}
    assert parse(json.dumps({"a": text}), what="payload") == {"a": text}


def test_a_container_that_fails_while_it_is_read_is_refused():
    class Broken(dict):
        def values(self):
            raise LookupError("not today")

    class Treacherous(dict):
        def items(self):
            raise LookupError("not today")

    assert "fails or changes" in refusal([Broken(a=1), math.nan][:1]).found
    assert "fails or changes" in refusal(Treacherous(a=1)).found


def test_decode_refuses_what_encode_did_not_write():
    for text in ("", "{", "nul", "[1,]", "NaN", "[Infinity]", "\0", "1" * 5_000, "[" * 100_000):
        with pytest.raises(InvalidDocument, match="stored document"):
            decode(text)


def test_fingerprints_ignore_the_order_of_keys_and_nothing_else():
    one = fingerprint({"a": 1, "b": [1, 2], "c": "é"})

    assert one == fingerprint({"c": "é", "b": (1, 2), "a": 1})
    assert len(one) == 64
    others = [{"a": 1, "b": [2, 1], "c": "é"}, {"a": 1.0, "b": [1, 2], "c": "é"}, {}, None, [], ""]
    assert len({one, *map(fingerprint, others)}) == len(others) + 1


@given(documents)
def test_a_fingerprint_survives_storage(value):
    assert fingerprint(decode(encode(value, what="payload"))) == fingerprint(value)


def test_a_value_that_is_no_document_has_no_fingerprint():
    with pytest.raises(InvalidDocument, match="type set"):
        fingerprint({"a": set()})


def test_a_document_over_the_default_size_has_a_fingerprint():
    assert fingerprint("x" * 2_000_000) != fingerprint("x" * 2_000_001)


@pytest.mark.parametrize(
    ("text", "path", "found", "position"),
    [
        (b'{"a": "\xff"}', "", "0xff", "byte 7"),
        ('"\ud800"', "", "surrogate", "line 1 column 2"),
        ("", "", "syntax error", "line 1 column 1"),
        ("{", "", "syntax error", "line 1 column 2"),
        ('{"a":\n 1} x', "", "syntax error: Extra data", "line 2 column 5"),
        ("[1, 2", "", "syntax error", "line 1 column 6"),
        ("'a'", "", "syntax error", "line 1 column 1"),
        ("[1, 01]", "", "syntax error", "line 1 column 6"),
        ("\ufeff1", "", "syntax error", "line 1 column 1"),
        ('"a\0b"', "", "syntax error", "line 1 column 3"),
        ('{"a": 1,\n "b": 2, "a": 3}', "/a", 'the key "a" twice', "line 2 column 10"),
        ('[{"x": {"k": 1, "\\u006b": 2}}]', "/0/x/k", 'the key "k" twice', "line 1 column 17"),
        ('{"a": [1, NaN]}', "/a/1", "NaN", "line 1 column 11"),
        ("[-Infinity]", "/0", "-Infinity", "line 1 column 2"),
        ("1e400", "", "1e400", "line 1 column 1"),
        ('[1,2e400,"e4"]', "/1", "2e400", "line 1 column 4"),
        ('{"a":[-3.25e400]}', "/a/0", "-3.25e400", "line 1 column 7"),
        ("\n1e400", "", "1e400", "line 2 column 1"),
        ('{"a": -1.5E+0999}', "/a", "-1.5E+0999", "line 1 column 7"),
        ("[" + "9" * 400 + ".5]", "/0", "999", "line 1 column 2"),
        ("[1, " + "9" * 4_301 + "]", "/1", "4301 digits", "line 1 column 5"),
        ('["a\\u0000"]', "/0", "NUL", "line 1 column 2"),
        ('{"a": {"\\ud800": 1}}', "/a/\\ud800", "surrogate", "line 1 column 8"),
        ('["\\udc00\\ud800"]', "/0", "surrogate", "line 1 column 2"),
        ('{"a": [' + "[" * 63 + "]" * 63 + "]}", "/a" + "/0" * 63, "deeper", "line 1 column 70"),
    ],
)
def test_text_from_outside_is_refused_with_its_position(text, path, found, position):
    error = refusal_of_text(text)

    assert error.path == path
    assert found in error.found
    assert error.position == position
    assert position in str(error)
    assert str(error).isprintable()


def test_text_from_outside_is_limited_in_bytes():
    assert parse('"é"', what="body", limits=Limits(max_bytes=4)) == "é"
    assert parse('"é"'.encode(), what="body", limits=Limits(max_bytes=4)) == "é"
    assert "5 bytes" in refusal_of_text('"éa"', max_bytes=4).found
    assert "5 bytes" in refusal_of_text('"éa"'.encode(), max_bytes=4).found
    assert "100000000 bytes" in refusal_of_text(b"x" * 100_000_000).found


@pytest.mark.parametrize(
    "text",
    ['{"a": "\\ud83d\\ude42"}', "[1e99, 1e-999, 1E+0000099]", "9" * 400, ' {"a" : [ ] } ', "-0"],
)
def test_text_that_only_looks_odd_is_read(text):
    assert parse(text, what="body") == json.loads(text)


def test_keys_may_repeat_in_different_objects():
    text = '[{"a": 1}, {"a": {"a": [1, {"a": 2}]}}, "\\u0000"]'

    assert refusal_of_text(text).path == "/2"


@pytest.mark.parametrize("innermost", ["1", '"\\q"', "[true, null, 1.5]"])
def test_a_caller_deep_in_recursion_never_sees_a_recursion_error(innermost):
    """How much recursion is left for the parser depends on the version of Python."""

    def at_depth(levels, action):
        return at_depth(levels - 1, action) if levels else action()

    def outcome():
        try:
            return parse("[" * 60 + innermost + "]" * 60, what="body")
        except InvalidDocument as error:
            return error

    room = sys.getrecursionlimit() - len(inspect.stack()) - 60

    found = at_depth(room, outcome)

    assert isinstance(found, list) or "too deep" in found.found or "syntax" in found.found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_bytes", 0),
        ("max_bytes", 2**31),
        ("max_bytes", 1.5),
        ("max_depth", 0),
        ("max_depth", 257),
        ("max_depth", True),
    ],
)
def test_limits_that_make_no_sense_are_refused(field, value):
    with pytest.raises(InvalidValue) as caught:
        Limits(**{field: value})

    assert caught.value.field == field


def test_a_long_text_is_described_and_never_shown_in_part():
    with pytest.raises(InvalidDocument) as refused:
        encode({"note": "x" * 5_000 + "\0"}, what="payload", limits=DEFAULT_LIMITS)

    assert "a NUL character in a text of 5001 characters" in str(refused.value)
