"""What follows from every outcome of a try to publish a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.core.values.outbox import (
    BLAMES_MESSAGE,
    MAX_ERROR_LENGTH,
    RELAY_RETRY,
    Confirmed,
    NotTaken,
    OutboxMessage,
    OutboxStatus,
    Postponed,
    Trouble,
    Unsendable,
    Untried,
    decide_publish,
)
from holdfast.core.values.retry import Retry

NOW = Instant(1_700_000_000 * SECOND_US)
POLICY = Retry(attempts=3, base=2.0, factor=2.0, cap=60.0, jitter="none")
LEASED = OutboxMessage(
    position=7,
    id="m-1",
    aggregate_id="submission-1",
    message_type="grading.request",
    payload="{}",
    trace=None,
    status=OutboxStatus.PENDING,
    created_at=Instant(NOW - SECOND_US),
    processed_at=None,
    retry_count=0,
    error_message=None,
    run_at=Instant(NOW + 30 * SECOND_US),
    holder="relay-1",
    lease_until=Instant(NOW + 30 * SECOND_US),
)
FREED = LEASED._replace(holder=None, lease_until=None)


def in_seconds(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND_US))


PENDING, PUBLISHED, FAILED = OutboxStatus
LAST = {"retry_count": 2}

TABLE = [
    (Confirmed(), {}, {"status": PUBLISHED, "processed_at": NOW}),
    (Confirmed(), LAST, {"status": PUBLISHED, "processed_at": NOW, "retry_count": 2}),
    (Untried(), {}, {"run_at": NOW}),
    (Untried(), LAST, {"run_at": NOW, "retry_count": 2}),
    (Postponed(in_seconds(9)), LAST, {"run_at": in_seconds(9), "retry_count": 2}),
    (Postponed(in_seconds(-9)), {}, {"run_at": NOW}),
    (
        Unsendable("too large"),
        {},
        {
            "status": FAILED,
            "processed_at": NOW,
            "retry_count": 1,
            "error_message": "too large",
            "run_at": NOW,
        },
    ),
    *(
        (
            NotTaken(trouble, "why"),
            {},
            {"run_at": in_seconds(2), "retry_count": 1, "error_message": f"{trouble}: why"},
        )
        for trouble in Trouble
    ),
    *(
        (
            NotTaken(trouble, "why"),
            LAST,
            {
                "status": FAILED,
                "processed_at": NOW,
                "retry_count": 3,
                "error_message": f"{trouble}: why",
                "run_at": NOW,
            },
        )
        for trouble in (Trouble.REFUSED, Trouble.UNROUTABLE)
    ),
    *(
        (
            NotTaken(trouble, "why"),
            LAST,
            {"run_at": in_seconds(8), "retry_count": 3, "error_message": f"{trouble}: why"},
        )
        for trouble in (Trouble.UNAVAILABLE, Trouble.BLOCKED, Trouble.UNCONFIRMED)
    ),
]


@pytest.mark.parametrize(("outcome", "before", "after"), TABLE)
def test_what_follows(outcome, before, after):
    message = LEASED._replace(**before)

    decided = decide_publish(message, outcome, POLICY, NOW, 0.5)

    assert decided == message._replace(**{"holder": None, "lease_until": None, **after})


def test_every_trouble_is_in_the_table():
    met = {outcome.trouble for outcome, *_ in TABLE if isinstance(outcome, NotTaken)}

    assert met == set(Trouble)
    assert met > BLAMES_MESSAGE


def test_an_outage_never_gives_a_message_up():
    message = LEASED._replace(retry_count=1_000_000)

    decided = decide_publish(message, NotTaken(Trouble.UNAVAILABLE, "down"), POLICY, NOW, 0.5)

    assert decided.status is PENDING
    assert decided.run_at == in_seconds(60)


def test_a_message_that_was_refused_is_confirmed_with_its_past():
    message = LEASED._replace(retry_count=4, error_message="refused: queue is full")

    decided = decide_publish(message, Confirmed(), POLICY, NOW, 0.5)

    assert (decided.retry_count, decided.error_message) == (4, "refused: queue is full")


def test_what_a_broker_says_is_kept_within_limits_and_safe_to_store():
    decided = decide_publish(LEASED, NotTaken(Trouble.REFUSED, "\x00" * 9_999), POLICY, NOW, 0.5)

    assert decided.error_message is not None
    assert len(decided.error_message) <= MAX_ERROR_LENGTH
    assert "\x00" not in decided.error_message


@given(
    outcome=st.one_of(
        st.just(Confirmed()),
        st.just(Untried()),
        st.builds(Unsendable, st.text()),
        st.builds(NotTaken, st.sampled_from(Trouble), st.text()),
    ),
    tries=st.integers(0, 2**31 - 2),
    roll=st.floats(0.0, 1.0, exclude_max=True),
    now=st.integers(0, FAR_FUTURE).map(Instant),
)
def test_a_message_is_always_somewhere_and_never_put_off_for_long(outcome, tries, roll, now):
    message = LEASED._replace(retry_count=tries)

    decided = decide_publish(message, outcome, RELAY_RETRY, now, roll)

    assert (decided.holder, decided.lease_until) == (None, None)
    assert decided[:6] == message[:6]
    assert decided.retry_count - tries in (0, 1)
    assert (decided.processed_at is None) == (decided.status is PENDING)
    if decided.status is PENDING:
        assert now <= decided.run_at <= now + 60 * SECOND_US
    assert (decided.status is PUBLISHED) == isinstance(outcome, Confirmed)
