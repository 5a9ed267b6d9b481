"""Whatever an exception is like, it can be described, quickly and within bounds."""

import sys

import pytest

from holdfast.classify.describe import MAX_CHAIN, MAX_LEAVES, causes_of, describe, leaves_of
from holdfast.core.failure import MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("not telling")

    __repr__ = __str__


class Recursive(Exception):
    def __str__(self):
        return str(self)


class Nameless(type):
    @property
    def __module__(cls):
        raise RuntimeError("no module")


class FromNameless(Exception, metaclass=Nameless):
    pass


def raised(exception):
    try:
        raise exception
    except type(exception) as caught:
        return caught


def deep(levels):
    if levels:
        return deep(levels - 1)
    raise ValueError("at the bottom")


def test_a_plain_exception_is_described_by_type_message_and_frames():
    description = describe(raised(ValueError("bad number")))

    assert description.exception_type == "ValueError"
    assert description.message == "bad number"
    first, frame = description.stack.splitlines()
    assert first == "ValueError: bad number"
    assert frame.startswith(f"  {__file__}:")
    assert frame.endswith(":raised")


def test_the_type_is_named_with_its_module():
    assert describe(Mute()).exception_type == f"{__name__}.Mute"


def test_an_empty_message_is_replaced_by_the_type():
    assert describe(TimeoutError()).message == "TimeoutError"


@pytest.mark.parametrize(
    ("exception", "found"),
    [(Mute(), "raised RuntimeError"), (Recursive(), "raised RecursionError")],
    ids=["mute", "recursive"],
)
def test_an_exception_that_cannot_speak_is_still_described(exception, found):
    description = describe(raised(exception))

    assert found in description.message
    assert found in description.stack


def test_an_exception_whose_class_hides_its_name_is_still_described():
    assert describe(raised(FromNameless("x"))).exception_type == "FromNameless"


def test_a_message_of_ten_megabytes_is_cut():
    description = describe(raised(ValueError("x" * 10_000_000)))

    assert len(description.message) == MAX_MESSAGE_LENGTH
    assert len(description.stack) < 2_000


def test_text_that_databases_refuse_becomes_visible():
    description = describe(raised(ValueError("a\0b\ud800")))

    assert description.message == "a\\x00b\\ud800"
    assert "\0" not in description.stack


def test_the_stack_holds_no_values():
    password = "hunter2"

    def login(secret):
        raise PermissionError("denied")

    with pytest.raises(PermissionError) as caught:
        login(password)

    assert ":login" in describe(caught.value).stack
    assert password not in describe(caught.value).stack


def test_causes_are_followed_to_their_root():
    outer = RuntimeError("outer")
    outer.__cause__ = raised(ConnectionResetError("root"))

    stack = describe(outer).stack

    assert stack.splitlines()[:2] == ["RuntimeError: outer", "caused by ConnectionResetError: root"]


def test_a_suppressed_context_is_not_followed():
    outer = RuntimeError("outer")
    outer.__context__ = KeyError("hidden")
    outer.__suppress_context__ = True

    assert list(causes_of(outer)) == [outer]


def test_causes_in_a_circle_end():
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one

    assert list(causes_of(one)) == [one, other]
    assert describe(one).stack.count("caused by") == 1


def test_an_endless_chain_of_causes_is_cut():
    exception = RuntimeError("0")
    for number in range(1, 1_000):
        outer = RuntimeError(str(number))
        outer.__context__ = exception
        exception = outer

    assert len(list(causes_of(exception))) == MAX_CHAIN


def test_a_deep_stack_keeps_both_its_ends():
    try:
        deep(sys.getrecursionlimit() - 200)
    except ValueError as error:
        stack = describe(error).stack

    assert len(stack) <= MAX_STACK_LENGTH
    assert "frames …" in stack
    assert "test_a_deep_stack_keeps_both_its_ends" in stack
    assert stack.endswith(":deep")


def test_a_group_shows_its_members():
    group = raised(
        ExceptionGroup("several", [ValueError("first"), ExceptionGroup("in", [KeyError("second")])])
    )

    stack = describe(group).stack

    assert "member ValueError: first" in stack
    assert "member KeyError: 'second'" in stack


def test_a_crowd_of_members_is_cut():
    group = ExceptionGroup("crowd", [ValueError(str(number)) for number in range(100_000)])

    assert len(list(leaves_of(group))) == MAX_LEAVES
    assert len(describe(group).stack) < 2_000


def test_groups_nested_a_thousand_deep_are_walked():
    group = ValueError("innermost")
    for _ in range(5_000):
        group = ExceptionGroup("nested", [group])

    assert [str(leaf) for leaf in leaves_of(group)] == ["innermost"]
    assert "innermost" in describe(group).stack
