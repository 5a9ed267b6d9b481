"""Values are redacted by their structure, and nothing in them can stop or fool that."""

import datetime as dt
import json
from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum, StrEnum
from types import MappingProxyType
from uuid import UUID

import pytest

from holdfast.redaction import MAX_TEXT_LENGTH, Redactor
from holdfast.redaction.marker import MARKER, Kind, marker_around
from holdfast.redaction.structure import MAX_DEPTH, MAX_NODES
from tests.redaction.redaction_corpus import STRIPE, mixed

redactor = Redactor()
CARD = int("4" + "1" * 15)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"password": "hunter2"}, {"password": "*"}),
        (
            {"password": None, "secret": "", "token": True},
            {"password": None, "secret": "", "token": True},
        ),
        ({"password": 1234}, {"password": "*"}),
        ({"password": 1.5}, {"password": "*"}),
        ({"password": []}, {"password": []}),
        ({"password": ["a", "b"]}, {"password": "*"}),
        ({"secret": {"a": 1}}, {"secret": "*"}),
        ({"password": b"hunter2"}, {"password": b"*"}),
        ({"password": Decimal("1.5")}, {"password": "*"}),
        ({"token": 42}, {"token": 42}),
        ({"token": 123456}, {"token": "*"}),
        ({"tokens": [1, 2]}, {"tokens": [1, 2]}),
        ({"tokens": [mixed(20), "word"]}, {"tokens": ["*", "word"]}),
        ({"pin": 1234}, {"pin": "*"}),
        ({"pin": 12}, {"pin": 12}),
        ({"session": {"id": 5, "user": "bob"}}, {"session": {"id": 5, "user": "bob"}}),
        ({"auth": ("svc", "hunter2")}, {"auth": "*"}),
        ({"auth": "basic"}, {"auth": "basic"}),
        ({"cookies": {"sid": "abc", "n": 7}}, {"cookies": {"sid": "*", "n": "*"}}),
        ({"Cookie": "a=1; b=2"}, {"Cookie": "a=*; b=*"}),
        ({"Cookie": ["a=1"]}, {"Cookie": ["a=*"]}),
        ({"Authorization": "Bearer abc"}, {"Authorization": "Bearer *"}),
        ({"Authorization": "Custom abc"}, {"Authorization": "*"}),
        ({"Authorization": "Bearer ***"}, {"Authorization": "Bearer ***"}),
        ([("token", "abcd")], [("token", "*")]),
        ([["password", "hunter2"]], [["password", "*"]]),
        (["password", "username"], ["password", "username"]),
        ([(b"authorization", b"Bearer abc")], [(b"authorization", b"Bearer *")]),
        (["mysql", "--password", "hunter2"], ["mysql", "--password", "*"]),
        (["--password", "--verbose"], ["--password", "--verbose"]),
        ({"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "DB_PASSWORD", "value": "*"}),
        ({"name": "LIMIT", "value": "hunter2"}, {"name": "LIMIT", "value": "hunter2"}),
        ({"n": CARD, "m": CARD + 1}, {"n": "*", "m": CARD + 1}),
        ({"a": {"password=hunter2"}}, {"a": ["password=*"]}),
        (OrderedDict(password="hunter2"), {"password": "*"}),
        (MappingProxyType({"password": "hunter2"}), {"password": "*"}),
        ({("password=hunter2", 1): 1}, {"('password=*', 1)": 1}),
        ({b"password=hunter2": 1, 5: 2, None: 3}, {b"password=*": 1, 5: 2, None: 3}),
        (ValueError("password=hunter2"), "password=*"),
        ('{"body":"{\\"password\\":[\\"a\\"]}"}', '{"body":"{\\"password\\":\\"*\\"}"}'),
        ('{\n"a": "\\n",\n"password": "y"}', '{\n  "a": "\\n",\n  "password": "*"\n}'),
        ('{"x":"password=a\\n","x":"b"}', '{"x":"password=*\\n","x":"b"}'),
    ],
)
def test_secrets_are_found_by_the_names_before_them(value, shown):
    redacted = redactor.value(value)

    assert MARKER.sub("*", repr(redacted)) == repr(shown)
    assert redactor.value(redacted) == redacted


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 7, 1.5, "text", b"bytes", Colour.RED, Level.HIGH, Decimal("1.50")),
        *(
            dt.date(2026, 11, 15),
            dt.timedelta(1),
            UUID(int=7),
            [1, [2]],
            (1, (2,)),
            {"a": {"b": 1}},
        ),
    ],
)
def test_a_value_without_secrets_stays_equal(value):
    assert redactor.value(value) == value


def test_two_keys_that_look_the_same_redacted_are_both_kept():
    shown = redactor.value({"password=abc": 1, "password=abd": 2})

    assert shown == {"password=[redacted:password]": 1, "password=[redacted:password]'": 2}


class Mute:
    def __repr__(self):
        raise RuntimeError("password=hunter2")


class Traitor(dict):
    def items(self):
        raise KeyError("password=hunter2")


class Pretender(str):
    __slots__ = ()

    def __str__(self):
        raise RuntimeError("password=hunter2")


def test_objects_that_raise_are_replaced_and_the_rest_is_kept():
    shown = redactor.value([Mute(), Traitor(a=1), {Pretender("password=hunter2"): 1}, "ok"])

    unreadable = f"[redacted:{Kind.UNREADABLE}]"
    assert shown == [unreadable, unreadable, {"password=[redacted:password]": 1}, "ok"]


def test_what_is_no_text_cannot_be_shown_as_one():
    assert redactor.text(7) == f"[redacted:{Kind.UNREADABLE}]"
    assert redactor.value({"a": b"\xff\xfe"}) == {"a": f"[redacted:{Kind.BINARY}]".encode()}
    assert redactor.value({"a": memoryview(b"ok")}) == {"a": b"ok"}


def test_circles_and_depths_end_in_a_marker():
    circle = ["a"]
    circle.append(circle)
    deep = value = []
    for _ in range(10_000):
        value.append([])
        value = value[0]

    assert redactor.value(circle) == ["a", f"[redacted:{Kind.CYCLE}]"]
    shown = redactor.value(deep)
    for _ in range(MAX_DEPTH):
        (shown,) = shown
    assert shown == f"[redacted:{Kind.TOO_DEEP}]"


def test_a_value_that_is_shared_is_shown_each_time():
    shared = {"password": "hunter2"}

    assert redactor.value([shared, shared]) == [{"password": "[redacted:password]"}] * 2


def test_a_value_that_explodes_when_walked_ends():
    value = ["x"]
    for _ in range(60):
        value = [value, value]
    shown = str(redactor.value(value))

    assert f"[redacted:{Kind.TOO_MUCH}]" in shown
    assert shown.count("'x'") <= MAX_NODES


def test_cookies_without_end_are_too_much():
    shown = redactor.value({"cookie": ["a=b;" * 16_000] * 12 + ["a=b;" * 20_000], "x": 1})

    assert shown["cookie"][0].startswith("a=[redacted:cookie];a=[redacted:cookie]")
    assert shown["cookie"][-2:] == [f"[redacted:{Kind.TOO_MUCH}]"] * 2
    assert shown["x"] == 1
    assert MARKER.fullmatch(redactor.value({"cookie": "a=b;" * 20_000})["cookie"])


def test_a_text_in_a_value_is_cut_too():
    shown = redactor.value({"a": f"{'word ' * 60_000}{STRIPE}"})

    assert len(shown["a"]) <= MAX_TEXT_LENGTH
    assert STRIPE not in shown["a"]


def test_json_is_written_as_it_was():
    compact = json.dumps({"a": "\n", "password": "y"}, separators=(",", ":"))

    assert redactor.text(compact) == '{"a":"\\n","password":"[redacted:password]"}'
    assert redactor.text('{"a": "\\n", "b": 1.10}') == '{"a": "\\n", "b": 1.10}'
    assert redactor.text('["\\n" , password=y]') == '["\\n" , password=[redacted:password]]'


def test_texts_within_texts_within_texts_are_looked_into():
    text = f"token%3D{mixed(20)}"
    for _ in range(4):
        text = json.dumps({"inner": text})

    assert mixed(6) not in redactor.text(text)


def test_a_marker_is_found_around_a_place_in_it():
    text = "x [redacted:token:1f3a] y"

    assert marker_around(text, 12).group() == "[redacted:token:1f3a]"
    assert marker_around(text, 23) is None
    assert marker_around(text, 0) is None
    assert marker_around("[redacted:nothing] x", 12) is None


def test_short_texts_of_a_small_value_are_redacted_by_a_memory_and_the_others_anew():
    asked: list[str] = []

    def remembered(text: str) -> str:
        asked.append(text)
        return redactor.text(text)

    long = "plain words " * 200
    shown = redactor.value({"a": f"key {STRIPE}", "b": long}, text=remembered)

    assert STRIPE not in shown["a"]
    assert shown["b"] == long
    assert f"key {STRIPE}" in asked
    assert long not in asked


def test_a_value_with_more_text_than_a_memory_is_for_is_redacted_anew():
    asked: list[str] = []
    text = "plain words " * 100
    redactor.value([text] * 30, text=lambda inner: asked.append(inner) or inner)

    assert 0 < len(asked) < 30
