"""Errors keep their facts, say what to do, and travel between processes."""

import copy
import inspect
import pickle
from datetime import UTC, datetime

import pytest

from holdfast import errors
from holdfast.errors import (
    CircuitOpen,
    ConflictError,
    DeliveryMoved,
    ForkedProcess,
    GiveUp,
    HandlerSignal,
    HoldfastError,
    InvalidDocument,
    InvalidPolicy,
    InvalidSetting,
    InvalidValue,
    KeyConflict,
    ReadTooSlow,
    RetryLater,
    RetryRefused,
    SchemaTooNew,
    SchemaTooOld,
    StaleRevision,
    StoreCorrupt,
    StoreUnavailable,
    UnavailableError,
    UnknownDelivery,
    UnknownJob,
    UnknownPipeline,
    UnknownProvider,
    UnknownReplay,
    UnknownUpstream,
    UsageError,
    UserError,
    VersionConflict,
    WrongState,
)

SAMPLES = [
    InvalidValue("Limits", field="max_depth", value=0, limit="1 or more"),
    InvalidPolicy("Retry", field="base", value=-1, limit="0 or more"),
    InvalidSetting("environment", field="PORT", value="x", limit="a number"),
    InvalidDocument("payload", path="/a", limit="text", found="bytes", position="line 1 column 2"),
    UnknownPipeline("convrt", known={"convert", "review"}),
    UnknownJob("j1"),
    SchemaTooNew(found=9, supported=3),
    SchemaTooOld(found=1, needed=3),
    ForkedProcess(opened_in=1, used_in=2),
    StaleRevision("j1", expected=3, found=4),
    StaleRevision("j1", expected=3, found=None),
    KeyConflict("report-1", job_id="j1"),
    VersionConflict("j1", requested=2, found=2),
    WrongState("j1", state="complete", action="retry", allowed=["failed"]),
    StoreUnavailable("postgresql://db", reason="refused"),
    StoreCorrupt("sqlite:///x.db", reason="torn page"),
    ReadTooSlow(limit_s=5.0),
    GiveUp("AUTH_DENIED", "the key was revoked"),
    UserError("PDF_BROKEN", "the file has no pages"),
    RetryLater(after=2.5, reason="warming up"),
    RetryRefused("j1", reason="its source is gone"),
    UnknownReplay("r1"),
    UnknownProvider("post", known=["mail"]),
    UnknownDelivery("d1"),
    DeliveryMoved("d1", action="resend", state="sent", why="it is sent"),
    UnknownUpstream("gatway", known={"gateway", "mail"}),
    CircuitOpen(
        "gateway", reason="its breaker is open", until=datetime(2026, 1, 31, tzinfo=UTC), wait_s=7.5
    ),
    CircuitOpen("gateway", reason="it is being tried", until=None, wait_s=None),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("travel", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_travels_with_its_facts(error, travel):
    arrived = travel(error)

    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_names_its_facts_in_its_sentence(error):
    said = str(error)

    for name, fact in vars(error).items():
        if fact not in {None, "", 2.5} and not isinstance(fact, tuple) and name != "error_class":
            assert str(fact) in said


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (SAMPLES[4], "known: convert, review"),
        (UnknownPipeline("x", known=()), "known: none"),
        (SAMPLES[6], "upgrade holdfast"),
        (SAMPLES[7], "migrate the database"),
        (SAMPLES[8], "after the fork"),
        (SAMPLES[9], "read it again"),
        (SAMPLES[10], "is gone"),
        (SAMPLES[11], "another key"),
        (SAMPLES[12], "ask for 3 or higher"),
        (SAMPLES[13], "only failed jobs"),
        (SAMPLES[14], "try again"),
        (SAMPLES[15], "restore it from a backup"),
        (SAMPLES[-3], "known: gateway, mail"),
        (SAMPLES[-2], "try again in 7.5 s, at 2026-01-31 00:00:00+00:00"),
        (SAMPLES[-1], "try again later"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_error_says_what_to_do(error, advice):
    assert advice in str(error)


def test_every_error_is_on_one_of_three_branches():
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, HoldfastError) and kind is not HoldfastError
    ]

    for kind in kinds:
        branches = [b for b in (UsageError, ConflictError, UnavailableError) if issubclass(kind, b)]
        assert len(branches) == 1, kind


def test_every_class_is_drawn_in_the_tree():
    kinds = [
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__ and not name.startswith("_")
    ]

    for name in kinds:
        assert f" {name} " in f" {errors.__doc__} ".replace("\n", " ")


def test_what_handlers_raise_is_no_error_of_the_engine():
    assert not issubclass(GiveUp, HoldfastError)
    assert not issubclass(RetryLater, HoldfastError)
    assert issubclass(GiveUp, HandlerSignal)


def test_a_long_value_is_not_shown_not_even_in_part():
    told = str(InvalidValue("X", field="f", value="v" * 10_000, limit="short"))

    assert told == "X: f is <str of 10002 characters>; it must be short"


def test_a_value_whose_repr_raises_is_named_by_its_type():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    assert "Mute whose repr raises" in str(InvalidValue("X", field="f", value=Mute(), limit="y"))


def test_giving_up_takes_an_error_class_and_perhaps_a_message():
    assert str(GiveUp("NOT_FOUND")) == "NOT_FOUND"
    assert str(GiveUp("NOT_FOUND", "no such page")) == "no such page"


@pytest.mark.parametrize("error_class", ["", "not found", "Not_Found", "X" * 65, None, 404])
def test_giving_up_needs_a_stable_class(error_class):
    with pytest.raises(InvalidValue, match="UPPER_SNAKE"):
        GiveUp(error_class)


def test_the_longest_error_class_is_64_characters():
    assert GiveUp("X" * 64).error_class == "X" * 64


def test_a_year_is_the_longest_postponement():
    assert RetryLater(after=365 * 24 * 3600).after_us == 365 * 24 * 3600 * 1_000_000


def test_postponing_counts_in_microseconds():
    assert RetryLater(after=2.5).after_us == 2_500_000
    assert RetryLater(after=0).after_us == 0


@pytest.mark.parametrize(
    "after", [-1, float("nan"), float("inf"), True, "5", None, 10**400, 365 * 24 * 3600 + 1]
)
def test_postponing_needs_a_sensible_number_of_seconds(after):
    with pytest.raises(InvalidValue) as caught:
        RetryLater(after=after)

    assert caught.value.field == "after"
