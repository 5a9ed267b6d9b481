import pytest

from holdfast import GiveUp, RetryLater
from holdfast.testing import Call, Script, failing


def test_it_plays_its_outcomes_in_order_and_records_the_calls():
    script = Script(1, ValueError("no"), {"a": 2})

    assert script("x", y=1) == 1
    with pytest.raises(ValueError, match="no"):
        script()
    assert script() == {"a": 2}
    assert script.calls == [Call(("x",), {"y": 1}), Call((), {}), Call((), {})]
    assert script.remaining == 0


@pytest.mark.parametrize("outcome", [KeyError, GiveUp("NOT_FOUND"), RetryLater(after=1)])
def test_exceptions_and_their_classes_are_raised(outcome):
    kind = outcome if isinstance(outcome, type) else type(outcome)

    with pytest.raises(kind):
        Script(outcome)()


def test_a_function_is_called_with_what_the_script_was_called_with():
    seen = []
    script = Script(lambda left, *, right: left + right, seen.append, "text".replace)

    assert script(1, right=2) == 3
    script("this")
    assert seen == ["this"]
    assert script("t", "T") == "TexT"


def test_the_last_word_is_repeated():
    script = Script(1, then=9)

    assert [script(), script(), script()] == [1, 9, 9]


def test_a_call_too_many_is_an_assertion_error():
    script = Script(1)
    script()

    with pytest.raises(AssertionError, match="1 outcomes and was called 2 times"):
        script()


def test_failing_fails_that_often_and_then_succeeds():
    upstream = failing(2, ConnectionResetError, then="ok")

    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            upstream()
    assert [upstream(), upstream()] == ["ok", "ok"]


def test_an_exception_played_twice_keeps_no_old_traceback():
    script = Script(then=ValueError("again"))
    depths = []
    for _ in range(3):
        with pytest.raises(ValueError, match="again") as caught:
            script()
        depths.append(len(caught.traceback))

    assert len(set(depths)) == 1


def test_its_repr_counts():
    script = Script(1, 2)
    script()

    assert repr(script) == "Script(2 outcomes, 1 calls)"
