"""Users see declared words only, whatever happened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.classify import classify
from holdfast.classify.public import PublicCode, PublicCodes
from holdfast.core.values.failure import Category, ErrorClass, Failure
from holdfast.errors import GiveUp, InvalidPolicy

NOW = 1_445_412_480_000_000

CODES = {
    "TOO_LARGE": PublicCode(message="The file is too large.", http_status=413),
    "SHOP_DOWN": PublicCode(
        message="The shop is closed. Try later.", http_status=503, retryable=True
    ),
    "SHOP_REFUSED": PublicCode(message="The shop does not sell this.", http_status=422),
    "UNKNOWN": PublicCode(message="Something went wrong."),
}


CLOSING = PublicCodes(
    {
        "SHOP_DOWN": PublicCode(
            message="The shop is closed. We’ll try again.",
            final_message="The shop was closed. Try later.",
            retryable=True,
        ),
        "UNKNOWN": PublicCode(message="Something went wrong."),
    },
    mapping={"NETWORK": "SHOP_DOWN"},
    default="UNKNOWN",
)


def is_refusal(failure):
    return failure.http_status in {400, 406, 415}


SHOP = PublicCodes(
    CODES,
    mapping={
        is_refusal: "SHOP_REFUSED",
        "NETWORK": "SHOP_DOWN",
        "UPSTREAM_5XX": "SHOP_DOWN",
        ErrorClass.NETWORK_TIMEOUT: "SHOP_DOWN",
        "STOCK_MISMATCH": "SHOP_REFUSED",
    },
    default="UNKNOWN",
)


def failure(error_class, **facts):
    return Failure(
        error_class=error_class,
        message="at 10.0.0.7: password=hunter2",
        category=Category.PERMANENT,
        retryable=False,
        stack="/srv/shop/secret.py:7:buy",
        **facts,
    )


@pytest.mark.parametrize(
    ("error_class", "code"),
    [
        ("NETWORK", "SHOP_DOWN"),
        ("NETWORK_TIMEOUT", "SHOP_DOWN"),
        ("STOCK_MISMATCH", "SHOP_REFUSED"),
        ("TOO_LARGE", "TOO_LARGE"),
        ("BUG", "UNKNOWN"),
        ("NEVER_HEARD_OF", "UNKNOWN"),
        ("no error class at all", "UNKNOWN"),
    ],
)
def test_an_error_class_has_a_public_code(error_class, code):
    assert SHOP.of(error_class).code == code


def test_a_failure_has_the_code_of_its_class():
    assert SHOP.of(failure("NETWORK")).code == "SHOP_DOWN"


def test_a_function_of_the_failure_comes_before_its_class():
    assert SHOP.of(failure("INVALID", http_status=406)).code == "SHOP_REFUSED"
    assert SHOP.of(failure("NETWORK", http_status=400)).code == "SHOP_REFUSED"
    assert SHOP.of(failure("INVALID", http_status=413)).code == "UNKNOWN"


def test_a_function_that_raises_is_passed_over():
    def broken(failure):
        raise ZeroDivisionError("oops")

    codes = PublicCodes(CODES, mapping={broken: "TOO_LARGE", "BUG": "SHOP_DOWN"}, default="UNKNOWN")

    assert codes.of(failure("BUG")).code == "SHOP_DOWN"


def test_a_code_says_the_line_the_status_and_whether_to_try_again():
    found = SHOP.of("NETWORK")

    assert found.message == "The shop is closed. Try later."
    assert (found.http_status, found.retryable) == (503, True)


def test_what_a_handler_gives_up_with_may_be_a_code():
    given_up = classify(GiveUp("TOO_LARGE", "51 MB in /srv/uploads/x.pdf"), now=NOW)

    assert SHOP.of(given_up) == SHOP.codes["TOO_LARGE"]


@given(error_class=st.from_regex(r"[A-Z][A-Z0-9]{0,9}(_[A-Z0-9]{1,9}){0,3}", fullmatch=True))
def test_nothing_of_the_failure_reaches_the_user(error_class):
    found = SHOP.of(failure(error_class))

    assert found in SHOP.codes.values()
    assert found.message in {code.message for code in CODES.values()}


def test_every_code_is_there_to_be_listed():
    assert list(SHOP.codes) == list(CODES)
    assert [code.code for code in SHOP.codes.values()] == list(CODES)
    assert SHOP.default.code == "UNKNOWN"


def test_the_list_of_codes_cannot_be_changed():
    with pytest.raises(TypeError):
        SHOP.codes["NEW"] = CODES["UNKNOWN"]


@pytest.mark.parametrize(
    ("field", "codes", "mapping", "default"),
    [
        ("codes", {"lower": CODES["UNKNOWN"]}, {}, "lower"),
        ("codes", {"A B": CODES["UNKNOWN"]}, {}, "A B"),
        ("codes", {"": CODES["UNKNOWN"]}, {}, ""),
        ("codes", [("UNKNOWN", CODES["UNKNOWN"])] * 2, {}, "UNKNOWN"),
        ("codes", {"UNKNOWN": "Something went wrong."}, {}, "UNKNOWN"),
        ("codes", {"UNKNOWN": SHOP.codes["TOO_LARGE"]}, {}, "UNKNOWN"),
        ("default", CODES, {}, "MISSING"),
        ("default", CODES, {}, None),
        ("default", {}, {}, "UNKNOWN"),
        ("mapping", CODES, {"NETWORK": "MISSING"}, "UNKNOWN"),
        ("mapping", CODES, {"network": "UNKNOWN"}, "UNKNOWN"),
        ("mapping", CODES, {7: "UNKNOWN"}, "UNKNOWN"),
        ("mapping", CODES, {"NETWORK": CODES["UNKNOWN"]}, "UNKNOWN"),
    ],
)
def test_codes_that_make_no_sense_are_refused(field, codes, mapping, default):
    with pytest.raises(InvalidPolicy) as caught:
        PublicCodes(codes, mapping=mapping, default=default)

    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("message", {"message": ""}),
        ("message", {"message": "   "}),
        ("message", {"message": "two\nlines"}),
        ("message", {"message": "bell \a"}),
        ("message", {"message": "x" * 201}),
        ("message", {"message": None}),
        ("http_status", {"http_status": 99}),
        ("http_status", {"http_status": 600}),
        ("http_status", {"http_status": "503"}),
        ("retryable", {"retryable": 1}),
    ],
)
def test_a_code_that_users_could_not_read_is_refused(field, facts):
    with pytest.raises(InvalidPolicy) as caught:
        PublicCode(**{"message": "fine", **facts})

    assert caught.value.field == field


def test_the_error_of_a_job_is_told_as_the_failure_it_was():
    stored = failure("INVALID", http_status=415).to_document()

    assert SHOP.of(stored).code == "SHOP_REFUSED"
    assert SHOP.of(failure("NETWORK").to_document()).code == "SHOP_DOWN"


@pytest.mark.parametrize(
    "stored",
    [{}, {"error_class": "NETWORK"}, {"error_class": 7}, {"exc_module": "os"}, {"message": "x"}],
)
def test_what_cannot_be_read_as_a_failure_is_told_as_the_default(stored):
    assert SHOP.of(stored).code == "UNKNOWN"


def test_a_system_may_have_a_better_line_for_a_failure():
    def line(failure, code):
        return f"At most {failure.http_status} things." if code.code == "TOO_LARGE" else None

    codes = PublicCodes(CODES, default="UNKNOWN", line=line)

    found = codes.of(failure("TOO_LARGE", http_status=413))
    assert (found.code, found.message) == ("TOO_LARGE", "At most 413 things.")
    assert codes.of(failure("TOO_LARGE", http_status=413).to_document()) == found
    assert codes.of("TOO_LARGE") == codes.codes["TOO_LARGE"]
    assert codes.of(failure("BUG")) == codes.codes["UNKNOWN"]


@pytest.mark.parametrize("line", ["", "two\nlines", "x" * 201, 7])
def test_a_line_that_is_none_leaves_the_declared_one(line):
    codes = PublicCodes(CODES, default="UNKNOWN", line=lambda _failure, _code: line)

    assert codes.of(failure("TOO_LARGE")) == codes.codes["TOO_LARGE"]


def test_a_line_that_fails_leaves_the_declared_one():
    codes = PublicCodes(CODES, default="UNKNOWN", line=lambda _failure, _code: 1 / 0)

    assert codes.of(failure("TOO_LARGE")) == codes.codes["TOO_LARGE"]


def test_a_line_that_promises_another_attempt_is_not_read_once_none_follows():
    failure = classify(ConnectionError(), now=NOW)

    assert CLOSING.of(failure).message == "The shop is closed. We’ll try again."
    assert CLOSING.of(failure, final=True).message == "The shop was closed. Try later."
    assert CLOSING.of("NETWORK", final=True).message == "The shop was closed. Try later."
    assert CLOSING.of(failure.to_document()).message == "The shop was closed. Try later."
    assert CLOSING.of("BUG", final=True).message == "Something went wrong."


def test_a_final_line_of_two_lines_is_refused():
    with pytest.raises(InvalidPolicy) as caught:
        PublicCode(message="Fine.", final_message="one\ntwo")

    assert caught.value.field == "final_message"
