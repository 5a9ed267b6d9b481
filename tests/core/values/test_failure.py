"""A failure can always be stored, whatever its texts contain."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values import failure as failures
from holdfast.core.values.failure import (
    MAX_MESSAGE_LENGTH,
    MAX_STACK_LENGTH,
    Category,
    ErrorClass,
    Failure,
    Severity,
    clean_text,
)
from holdfast.errors import InvalidDocument, InvalidValue

any_text = st.text(st.characters(exclude_categories=[]))


def a_failure(**changes):
    facts = {
        "error_class": "NETWORK_TIMEOUT",
        "message": "no answer",
        "category": Category.TRANSIENT,
        "retryable": True,
    }
    return Failure(**{**facts, **changes})


def test_text_without_trouble_is_kept_as_it_is():
    text = "first line\n\tsecond: naïve 🙂 \u200f"

    assert clean_text(text, 100) == text


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\0", "\\x00"),
        ("\x1b", "\\x1b"),
        ("\r", "\\r"),
        ("\x7f", "\\x7f"),
        ("\x9b", "\\x9b"),
        ("\ud800", "\\ud800"),
        ("\udfff", "\\udfff"),
    ],
)
def test_what_databases_refuse_and_terminals_obey_becomes_visible(character, shown):
    assert clean_text(f"a{character}b", 100) == f"a{shown}b"


def test_a_long_text_is_cut_and_says_how_long_it_was():
    cut = clean_text("x" * 3_000, 100)

    assert len(cut) == 100
    assert cut.startswith("xxx")
    assert cut.endswith("[cut, 3000 characters]")


def test_a_text_of_exactly_the_limit_is_not_cut():
    assert clean_text("x" * 100, 100) == "x" * 100


def test_a_limit_too_small_for_the_marker_just_cuts():
    assert clean_text("abcdefgh", 3) == "abc"


@given(any_text, st.integers(0, 80))
def test_clean_text_fits_encodes_and_is_already_clean(text, limit):
    cleaned = clean_text(text, limit)

    assert len(cleaned) <= limit
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned, limit) == cleaned


@given(message=any_text, stack=any_text, exception_type=any_text)
def test_a_failure_survives_its_document_whatever_its_texts(message, stack, exception_type):
    failure = a_failure(message=message, stack=stack, exception_type=exception_type)

    stored = json.loads(json.dumps(failure.to_document(), ensure_ascii=False).encode())

    assert Failure.from_document(stored) == failure


def test_a_document_from_before_blame_was_known_blames_nobody():
    failure = a_failure(blames_upstream=True, attempts=2, own_budget=True, user_error=True)
    document = failure.to_document()
    assert Failure.from_document(document) == failure

    for added in ("blames_upstream", "attempts", "own_budget", "spends_attempt", "user_error"):
        del document[added]

    assert Failure.from_document(document) == a_failure()


def test_of_the_engines_own_failures_only_missing_answers_blame_the_upstream():
    own = [value for value in vars(failures).values() if isinstance(value, Failure)]

    blaming = {failure.error_class for failure in own if failure.blames_upstream}

    assert blaming == {"STAGE_TIMEOUT", "CALLBACK_TIMEOUT"}


def test_a_failures_document_is_written_out_once():
    failure = a_failure(message="naïve 🙂")

    assert json.loads(failure.text) == failure.to_document()
    assert failure.text is failure.text
    assert failure == a_failure(message="naïve 🙂")


def test_texts_are_cut_to_their_limits():
    failure = a_failure(message="m" * 10**6, stack="s" * 10**6, exception_type="t" * 10**6)

    assert len(failure.message) == MAX_MESSAGE_LENGTH == 2_000
    assert len(failure.stack) == MAX_STACK_LENGTH == 16_000
    assert len(failure.exception_type) == 200


def test_another_message_is_made_as_safe_as_the_first():
    failure = a_failure()._replace(message="\x00" + "a" * MAX_MESSAGE_LENGTH)

    assert len(failure.message) == MAX_MESSAGE_LENGTH
    assert failure.message.startswith("\\x00aaa")
    assert failure._replace(message="").message == "NETWORK_TIMEOUT"


def test_a_failure_of_safe_facts_is_the_one_that_they_make_one_by_one():
    failure = a_failure(http_status=503, retry_after_us=7, exception_type="OSError", stack="in f")

    same = Failure.of_safe(tuple(failure))

    assert type(same) is Failure
    assert same == failure
    assert same.to_document() == failure.to_document()


def test_another_fact_of_the_wrong_kind_is_refused():
    with pytest.raises(InvalidValue, match="retryable"):
        a_failure()._replace(retryable=1)


def test_a_failure_comes_back_from_another_process_as_it_was():
    failure = a_failure(http_status=503, stack="  here")

    back = pickle.loads(pickle.dumps(failure))

    assert (back, type(back), back.text) == (failure, Failure, failure.text)


def test_a_failure_is_an_error_with_a_known_outcome_unless_told_otherwise():
    assert a_failure().severity is Severity.ERROR
    assert a_failure().outcome_known is True


def test_a_failure_without_a_message_is_named_by_its_class():
    assert a_failure(message="").message == "NETWORK_TIMEOUT"


def test_an_error_class_of_the_enumeration_is_stored_as_plain_text():
    failure = a_failure(error_class=ErrorClass.RATE_LIMITED)

    assert type(failure.error_class) is str
    assert failure.error_class == "RATE_LIMITED"


@pytest.mark.parametrize("retry_after_us", [-1, -(10**30)])
def test_a_negative_retry_after_is_none_at_all(retry_after_us):
    assert a_failure(retry_after_us=retry_after_us).retry_after_us == 0


def test_an_absurd_retry_after_is_clamped_to_what_a_database_holds():
    assert a_failure(retry_after_us=10**30).retry_after_us == 365 * 24 * 3600 * 10**6


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("error_class", ""),
        ("error_class", "lower_case"),
        ("error_class", "TWO__UNDERSCORES"),
        ("error_class", "TRAILING_"),
        ("error_class", "1ST"),
        ("error_class", "A" * 65),
        ("error_class", "NEWLINE\n"),
        ("error_class", 7),
        ("category", "SOMETIMES"),
        ("severity", "LOUD"),
        ("retryable", 1),
        ("outcome_known", None),
        ("blames_upstream", 0),
        ("own_budget", 1),
        ("spends_attempt", 0),
        ("user_error", 1),
        ("attempts", "2"),
        ("http_status", "500"),
        ("http_status", True),
        ("retry_after_us", 1.5),
    ],
)
def test_facts_of_the_wrong_kind_are_refused(field, value):
    with pytest.raises(InvalidValue) as caught:
        a_failure(**{field: value})

    assert caught.value.field == field


def test_a_document_from_a_newer_holdfast_is_read_without_its_new_fields():
    document = {**a_failure().to_document(), "colour": "red"}

    assert Failure.from_document(document) == a_failure()


@pytest.mark.parametrize(
    "document", [{}, {"error_class": "A"}, {**a_failure().to_document(), "message": 5}]
)
def test_a_document_that_is_no_failure_is_refused(document):
    with pytest.raises(InvalidDocument, match="failure"):
        Failure.from_document(document)


def test_a_document_with_an_unknown_category_is_refused():
    with pytest.raises(InvalidDocument, match="category"):
        Failure.from_document({**a_failure().to_document(), "category": "SOMETIMES"})


@pytest.mark.parametrize(
    ("name", "error_class", "retryable", "outcome_known"),
    [
        ("WORKER_LOST", "WORKER_LOST", True, False),
        ("WORKER_CRASH", "WORKER_CRASH", True, False),
        ("STAGE_TIMEOUT", "STAGE_TIMEOUT", True, False),
        ("CALLBACK_TIMEOUT", "CALLBACK_TIMEOUT", True, False),
        ("DEADLINE", "TIMEOUT", False, False),
        ("PAYLOAD_INVALID", "PAYLOAD_INVALID", False, True),
        ("RESULT_INVALID", "RESULT_INVALID", False, True),
        ("BUG", "BUG", False, False),
        ("SNOOZED_TOO_OFTEN", "SNOOZED_TOO_OFTEN", False, True),
    ],
)
def test_the_engines_own_failures(name, error_class, retryable, outcome_known):
    failure = getattr(failures, name)

    assert failure.error_class == error_class
    assert failure.retryable is retryable
    assert failure.outcome_known is outcome_known
    assert failure.category is (Category.TRANSIENT if retryable else Category.PERMANENT)
    assert failure.message != error_class


def test_a_bug_is_the_loudest_of_them():
    assert failures.BUG.severity is Severity.CRITICAL
