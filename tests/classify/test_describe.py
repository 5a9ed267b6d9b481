"""Whatever an exception is like, it can be described, quickly and within bounds."""

import sys
import time

import pytest
from pydantic import BaseModel, ValidationError

from holdfast.classify.facts.describe import MAX_CHAIN, MAX_LEAVES, causes_of, describe, leaves_of
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH
from holdfast.errors import GiveUp
from holdfast.secrecy import keep_secret


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


KNOWN = "Zk3-known-to-the-program-9Qx"
STRIPE = "sk" + "_live_" + "k9Zx3QvT7bNw2RfLp8YcHs4J"


@pytest.fixture(autouse=True)
def knows_a_secret():
    keep_secret([KNOWN])


@pytest.mark.parametrize("secret", [KNOWN, STRIPE])
@pytest.mark.parametrize(
    "make",
    [
        lambda secret: ValueError(f"bad key {secret}"),
        lambda secret: ValueError({"headers": [("X-Key", secret)]}),
        KeyError,
        lambda secret: GiveUp("AUTH_DENIED", f"refused for {secret}"),
        lambda secret: ExceptionGroup("two", [ValueError(secret), OSError(5, secret)]),
        lambda secret: type(secret, (Exception,), {})("named like it"),
    ],
)
def test_a_secret_is_in_no_word_of_a_description(make, secret):
    raised_from = raised(make(secret))
    raised_from.__cause__ = raised(RuntimeError(f"caused by {secret}"))

    description = describe(raised_from)

    assert not any(secret in words for words in description)
    assert "[redacted:" in description.stack


def test_a_secret_in_the_name_of_a_file_or_function_is_in_no_frame():
    code = compile("def run():\n  raise ValueError('no')", f"/srv/{KNOWN}/job.py", "exec")
    names = {}
    exec(code, names)

    with pytest.raises(ValueError, match="no") as caught:
        names["run"]()

    assert KNOWN not in describe(caught.value).stack
    assert "job.py:2:run" in describe(caught.value).stack


@pytest.mark.parametrize("limit", [MAX_MESSAGE_LENGTH, 500])
@pytest.mark.parametrize(
    "after", [800, *(pytest.param(length, marks=pytest.mark.slow) for length in (2_000, 50_000))]
)
def test_a_secret_across_a_limit_leaves_no_half(limit, after):
    # What is cut says so, which takes some of the room.
    for before in range(limit - len(KNOWN) - 40, limit + 2):
        description = describe(raised(ValueError("x" * before + KNOWN + " y" * after)))

        assert KNOWN[:6] not in description.message
        assert KNOWN[:6] not in description.stack


def test_an_exception_of_ten_megabytes_that_holds_secrets_is_described_in_little_time():
    exception = raised(ValueError(f"{KNOWN}: " + f"password=hunter2 {STRIPE} " * 200_000))
    begun = time.process_time()
    description = describe(exception)

    assert time.process_time() - begun < (0.5 if sys.gettrace() is None else 5)
    assert not any(KNOWN in words or STRIPE in words for words in description)
    assert "hunter2" not in description.message
    assert "test_describe.py" in description.stack


def test_the_same_stack_costs_little_the_second_time():
    exceptions = [raised(ValueError(f"the call {number} failed")) for number in range(400)]
    describe(raised(ValueError("the first")))
    begun = time.process_time()
    for exception in exceptions:
        describe(exception)

    # The redaction of a stack alone would take more.
    assert (time.process_time() - begun) / len(exceptions) < 0.0005


def test_of_values_that_do_not_fit_a_schema_none_is_shown_not_even_in_part():
    secret = "9Qx" * 30

    class Account(BaseModel):
        age: int
        tags: list[int]

    with pytest.raises(ValidationError) as caught:
        Account(age=secret, tags=[1, secret])
    message = describe(caught.value).message

    assert secret[:20] in str(caught.value)
    assert secret[:3] not in message
    assert message.splitlines()[0] == "2 validation errors for Account"
    assert "tags.1: Input should be a valid integer" in message
