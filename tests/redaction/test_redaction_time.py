"""Redaction takes time in proportion to the text, whatever the text was made for."""

import base64
import math
import re
import sys
import time
from importlib import import_module
from pkgutil import walk_packages

import pytest

import holdfast.redaction as package
from holdfast.redaction import MAX_TEXT_LENGTH, Redactor
from holdfast.redaction.marker import Kind
from holdfast.redaction.patterns.pair_values import _UP_TO_QUOTE
from holdfast.redaction.patterns.tokens import shapes
from tests.redaction.ordinary_logs import OrdinaryLogs
from tests.redaction.redaction_corpus import STRIPE, hexadecimal, mixed

MAX_SECONDS = 0.05 if sys.gettrace() is None else 1.0
"""For 256 KB, on a machine that counts to 100,000 in `COUNTING_S`. Measuring coverage takes its
time."""
COUNTING_S = 0.003


def count():
    total = 0
    for number in range(100_000):
        total += number


def cpu_s(work, *, most, times=15):
    """The CPU time that some work takes, on a machine as fast as the limits are meant for.

    What else the machine does slows the work and the counting down alike. The least of some times
    counts, and once it is below `most` there is no need of another.
    """
    took_s = counting_s = scaled_s = math.inf
    for _ in range(times):
        begun = time.thread_time()
        count()
        counted = time.thread_time()
        work()
        took_s = min(took_s, time.thread_time() - counted)
        counting_s = min(counting_s, counted - begun)
        scaled_s = took_s * min(1.0, COUNTING_S / counting_s)
        if scaled_s < most:
            break
    return scaled_s


def filled(text):
    return (text * (MAX_TEXT_LENGTH // len(text) + 1))[:MAX_TEXT_LENGTH]


REPEATED = (
    *("A", "a.", "a.a.a.", "{", "[", '"', "'", "`", "\\", '\\"', "=", ",", "&", "%", "@", "-", "_"),
    *("key=", "://", "4906381725", hexadecimal(16), "4111 1111 1111 1112 ", "://a:b@", "a:b@"),
    *("password", "password=", "password= ", "password: ", "pwd=a ", "pwd=a&", "password=a,"),
    *("token ", "token: ", "token 1 ", '"password":"', "password='", "password=(", "password=["),
    *('password=\\"', "password='a\\'", "password:\n", "password: >\n  a\n", "password:\n  - a\n"),
    *("%41", "%25", "%3D", "\\u0041", "\\x41", "\x1b[0m", "\x1b[", "&quot;", "eyJ", "eyJaaaaaaaa."),
    *(
        "-----BEGIN PRIVATE " + "KEY-----!",
        "-----BEGIN PRIVATE " + "KEY-----",
        "--a b ",
        "-p",
        " -pabc1",
        "-u a:b ",
        "<a>",
        "<a>x</a>",
    ),
    *("<password>x</password>", "+1", "+49 30 901820 ", "(415) 555-", "ssn ", "bearer ", "\n", " "),
    *("Bearer abcdefgh ", "cookie: a=b; ", "abcdefghij012345 ", "ghp_", "AKIA", "sk-", "live_"),
    *("the quick brown fox ", "пароль ", "ю", "İ", "H4sIaaaaaaaaaaaaaaaaaaaa ", "a@b.cc "),
    *("eJxaaaaaaaaaaaaaaaaaaaaaaaaaaa ", '{"a":1,"b":"c"},', "DE89370400440532013000 "),
    *("('password', '", "name: password\n value: ", "mysql -p", "auth.py:1 ", "p1-", "a1-b2_c3."),
    *(
        "9f1c2b6e-7d3a-4e58-9b41-0c6d5e2f8a17 ",
        "key-",
        "(",
        "$",
        "$2b$",
        "|",
        "/",
        "identified by '",
    ),
)
HOSTILE = {
    **{repr(text): filled(text) for text in REPEATED},
    "base64": base64.b64encode(mixed(4096).encode() * 64).decode()[:MAX_TEXT_LENGTH],
    "base64 of text": base64.b64encode(filled("hello world ").encode()).decode()[:MAX_TEXT_LENGTH],
    "a list": "[" + "1," * 131_000 + "1]",
    "nested lists": "[" * 131_072 + "]" * 131_072,
    "a list of texts": "[" + '"password=a",' * 20_000 + "1]",
    "a list of escaped texts": "[" + r'"a\n1",' * 37_000 + "1]",
    "one percent": "a" * (MAX_TEXT_LENGTH - 1) + "%",
    "one at": "://" * (MAX_TEXT_LENGTH // 3) + "@",
    "cookies": filled("cookie: " + "a=b;" * 1000 + "\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_longer_than_other_text(name):
    redactor, text = Redactor(), HOSTILE[name]
    shown = redactor.text(text)

    seconds = cpu_s(lambda: redactor.text(text), most=MAX_SECONDS)

    print(f"{1000 * seconds:.0f} ms for {len(text) // 1024} KB of {name}")
    assert seconds < MAX_SECONDS
    assert redactor.text(shown) == shown


def test_a_traceback_of_four_kilobytes_takes_less_than_a_millisecond():
    frames = "".join(
        f'  File "/app/src/stage_{n}.py", line {n}, in convert\n    call(job.key, timeout={n})\n'
        for n in range(60)
    )
    redactor, text = Redactor(), (frames + f"ValueError: bad key {STRIPE}\n")[-4096:]

    seconds = cpu_s(lambda: redactor.text(text), most=MAX_SECONDS / 50, times=20)

    print(f"{1e6 * seconds:.0f} µs for {len(text)} characters")
    assert seconds < MAX_SECONDS / 50  # a millisecond


def test_an_ordinary_line_takes_microseconds():
    redactor, lines = Redactor(), list(OrdinaryLogs(seed=7).lines(2_000))

    most = len(lines) * MAX_SECONDS / 1000
    seconds = cpu_s(lambda: [redactor.text(line) for line in lines], most=most)

    print(f"{1e6 * seconds / len(lines):.1f} µs a line")
    assert seconds < most


def test_a_text_that_asks_for_too_much_work_is_not_shown():
    assert Redactor().text(filled("pwd=a ")) == f"[redacted:{Kind.TOO_MUCH}]"


def test_of_a_text_that_asks_for_too_much_work_at_its_end_the_beginning_is_shown():
    text = filled("an ordinary line\n")[: MAX_TEXT_LENGTH // 2] + filled("pwd=a ")
    shown = Redactor().text(text[:MAX_TEXT_LENGTH])

    assert shown.startswith("an ordinary line\n")
    assert shown.endswith(f"… [cut, {MAX_TEXT_LENGTH} characters]")
    assert "pwd" not in shown


def test_a_value_of_many_texts_is_bounded_as_a_whole():
    value = ["password=a"] * 20_000
    shown = Redactor().value(value)

    most = 20 * MAX_SECONDS
    assert cpu_s(lambda: Redactor().value(value), most=most) < most
    assert shown[0] == "password=[redacted:password]"
    assert shown[-1] == f"[redacted:{Kind.TOO_MUCH}]"


def patterns():
    modules = (
        import_module(each.name) for each in walk_packages(package.__path__, f"{package.__name__}.")
    )
    found = [value for module in modules for value in vars(module).values()]
    names = Redactor(extra_keys=["a b"])._patterns
    found += [*_UP_TO_QUOTE.values(), names.in_ascii, names.in_any, *shapes()[:2]]
    found += [pattern for _, pattern in (*shapes().with_hint, *shapes().with_hint_inside)]
    return [value for value in found if isinstance(value, re.Pattern)]


def repeats(parsed):
    for operation, argument in parsed:
        name = str(operation)
        if "REPEAT" in name:
            yield name, argument[1]
        for inner in argument if isinstance(argument, (list, tuple)) else [argument]:
            for branch in inner if isinstance(inner, list) else [inner]:
                if isinstance(branch, re._parser.SubPattern):
                    yield from repeats(branch)


@pytest.mark.parametrize("pattern", patterns())
def test_no_pattern_can_go_back_over_text_without_a_bound(pattern):
    unbounded = [
        kind
        for kind, most in repeats(re._parser.parse(pattern.pattern, pattern.flags))
        if most == re._constants.MAXREPEAT
    ]

    assert set(unbounded) <= {"POSSESSIVE_REPEAT"}
