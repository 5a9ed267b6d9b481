"""The same cause has the same fingerprint, however its values, places and depth differ."""

import re

import pytest

from holdfast.core.dead_letter.fingerprint import LENGTH, fingerprint
from holdfast.core.values.failure import Category, Failure

STACK = """\
upstream.Refused: order 17 of ada@example.org has no amount
  /srv/app/releases/41/app/billing/invoice.py:120:send
  /srv/app/releases/41/.venv/lib/python3.11/site-packages/gateway/__init__.py:9:post
caused by KeyError: 'amount'
  /srv/app/releases/41/app/billing/order.py:33:amount_of"""


def a_failure(**changes) -> Failure:
    facts = {
        "error_class": "INVALID",
        "message": "order 17 has no amount",
        "category": Category.PERMANENT,
        "retryable": False,
        "exception_type": "upstream.Refused",
        "stack": STACK,
        **changes,
    }
    return Failure(**facts)


def of(**changes) -> str:
    return fingerprint(a_failure(**changes), "send")


def test_it_is_short_and_plain():
    assert re.fullmatch(f"[0-9a-f]{{{LENGTH}}}", of())


@pytest.mark.parametrize(
    ("what", "stack"),
    [
        ("the line", STACK.replace(":120:", ":121:")),
        ("the folder", STACK.replace("/srv/app/releases/41", "/home/ada/work")),
        ("the message", STACK.replace("order 17 of ada@example.org", "order 18 of bob")),
        ("a message of lines", STACK.replace("has no amount", "has no amount\nand no name")),
        ("the system", STACK.replace("/srv/app/releases/41", "C:").replace("/", "\\")),
        (
            "the depth",
            STACK.replace("invoice.py:120:send", "invoice.py:120:send\n  … 900 frames …"),
        ),
        ("a repetition", f"{STACK}\n{STACK.splitlines()[-1]}"),
    ],
    ids=lambda value: value if "\n" not in value else "",
)
def test_the_same_cause_has_the_same_fingerprint_whatever(what, stack):
    assert stack != STACK
    assert of(stack=stack) == of()


def test_what_a_failure_says_does_not_matter_where_a_stack_tells_more():
    assert of(message="order 18 has no amount", http_status=400) == of()


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("class", {"error_class": "BUG"}),
        ("exception", {"exception_type": "upstream.Lost"}),
        ("function", {"stack": STACK.replace("amount_of", "total_of")}),
        ("module", {"stack": STACK.replace("order.py", "basket.py")}),
        ("package", {"stack": STACK.replace("gateway/__init__", "other/__init__")}),
        ("cause", {"stack": STACK.replace("KeyError", "IndexError")}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_cause_has_another_fingerprint(what, changes):
    assert of(**changes) != of()


def test_the_same_failure_in_another_stage_has_another_fingerprint():
    assert fingerprint(a_failure(), "send") != fingerprint(a_failure(), "fetch")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("job 17 timed out after 30 s", "job 18 timed out after 31 s"),
        ("no field 'amount' in \"a\"", "no field 'name' in \"b\""),
        ("`a b` is unknown", "`c` is unknown"),
        ("cannot read /srv/data/a.pdf", "cannot read /home/ada/b/c.pdf"),
        ("cannot read C:\\a\\b.pdf today", "cannot read D:\\x.pdf today"),
        ("GET https://a.example/x?y=1 failed", "GET http://b.example/z failed"),
        ("<Thing at 0x7f12ab> broke", "<Thing at 0x7fffe1> broke"),
        ("request 6f9619ff-8b86-d011-b42d-00c04fc964ff", "request 018bcfe568007000"),
        ("too   many\nspaces", "too many spaces"),
    ],
)
def test_without_a_stack_the_message_tells_without_its_values(one, other):
    assert of(stack="", message=one) == of(stack="", message=other)


def test_without_a_stack_another_message_is_another_cause():
    assert of(stack="", message="no amount") != of(stack="", message="no name")


def test_a_headline_alone_is_no_stack():
    bare = "upstream.Refused: order 17"

    assert of(stack=bare, message="no amount") == of(stack="", message="no amount")


@pytest.mark.parametrize(
    "stack",
    ["", "\n" * 9_000, "  :1:\n  /:1:x", "  " + "a" * 15_000, "caused by \udc80", "member x"],
    ids=["empty", "lines", "half", "long", "surrogate", "member"],
)
def test_no_stack_is_too_odd(stack):
    assert len(of(stack=stack)) == LENGTH


def test_the_order_of_a_groups_members_does_not_matter():
    members = [
        f"member {kind}: {number}\n  /app/tasks.py:{number}:{name}"
        for number, (kind, name) in enumerate([("ValueError", "a"), ("KeyError", "b")])
    ]
    head = "ExceptionGroup: 2 tasks failed\n"

    assert of(stack=head + "\n".join(members)) == of(stack=head + "\n".join(members[::-1]))


def test_a_long_message_full_of_quotes_takes_no_time():
    assert len(of(stack="", message="'\"`/" * 500)) == LENGTH
