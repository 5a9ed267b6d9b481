"""The machine of deliveries: the whole table, what no pair may do, and what a courier does."""

import ast
import inspect
from typing import get_args

import pytest

from holdfast.core.delivery import change, lifecycle
from holdfast.core.delivery.delivery import Delivery, DeliveryState, intent, token_of
from holdfast.core.delivery.event import (
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    SendBegun,
)
from holdfast.core.delivery.lifecycle import (
    STALE_US,
    Step,
    Unmoved,
    breaks_order,
    decide_delivery,
    next_step,
)
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.instant import SECOND_US, Instant
from tests.core.delivery.deliveries import (
    BEGAN_AT,
    BUSY,
    DOUBTED_AT,
    EVENTS,
    LOST,
    NOW,
    PROMISES,
    STANDINGS,
    SendFailed,
    a_delivery,
    after,
    failure,
    terms_of,
)
from tests.core.delivery.table import PLAIN
from tests.core.delivery.variations import SITUATIONS, VARIATIONS, Situation


def test_a_delivery_is_made_for_one_recipient_of_one_version_of_a_subject():
    delivery = a_delivery("sent")

    assert delivery.key == (delivery.subject, delivery.recipient, delivery.version)


def rows_of(table: str) -> dict[tuple[str, str], str]:
    rows = {}
    for line in table.splitlines():
        before, _, result = line.partition(" | ")
        if result and not before.startswith("before"):
            standing, event = before.split()
            rows[standing, event] = " ".join(result.split())
    return rows


def shown(delivery: Delivery | Unmoved) -> str:
    if isinstance(delivery, Unmoved):
        return "unmoved"
    return " ".join(
        (
            delivery.state.value,
            _relative(delivery.run_at),
            "held" if delivery.holder else "-",
            str(delivery.attempts),
            str(delivery.lookups),
            _relative(delivery.began_at),
            delivery.notification_id or "-",
            _relative(delivery.notified_at),
            delivery.error_class or "-",
        )
    )


def _relative(instant: Instant | None) -> str:
    return "-" if instant is None else f"{(instant - NOW) / SECOND_US:+g}"


BASE = rows_of(PLAIN)
CASES = [("", standing, event, expected) for (standing, event), expected in BASE.items()] + [
    (name, standing, event, rows_of(VARIATIONS[name]).get((standing, event), BASE[standing, event]))
    for name, situation in SITUATIONS.items()
    for standing in situation.standings
    for event in EVENTS
]


def what_follows(situation: str, standing: str, event: str) -> str:
    promise, changes, _ = SITUATIONS.get(situation, Situation(PROMISES["both"], {}))
    before = a_delivery(standing, **changes)
    return shown(decide_delivery(before, EVENTS[event], terms_of(promise), NOW, 0.5))


def test_what_follows():
    found = [(*case[:3], what_follows(*case[:3])) for case in CASES]

    wrong = {case: row for case, row in zip(CASES, found, strict=True) if row != case}
    assert wrong == {}
    assert len(CASES) > 1000


def test_the_table_names_every_standing_with_every_event():
    assert list(BASE) == [(standing, event) for standing in STANDINGS for event in EVENTS]
    assert {type(event) for event in EVENTS.values()} == set(get_args(DeliveryEvent))
    assert {standing.state for standing in STANDINGS.values()} == set(DeliveryState)
    assert SITUATIONS.keys() == VARIATIONS.keys()
    for name, situation in SITUATIONS.items():
        assert {standing for standing, _ in rows_of(VARIATIONS[name])} <= set(situation.standings)


EVIDENCE = {"Accepted", "Found", "RecFound", "SaysSent"}


def every_decision():
    for promise, changes, standings in (Situation(PROMISES["both"], {}), *SITUATIONS.values()):
        for standing in standings:
            for name, event in EVENTS.items():
                before = a_delivery(standing, **changes)
                decided = decide_delivery(before, event, terms_of(promise), NOW, 0.5)
                if isinstance(decided, Delivery):
                    yield name, before, decided


def test_only_evidence_or_a_person_marks_a_delivery_as_sent():
    marking = {
        name
        for name, before, decided in every_decision()
        if decided.notified_at not in {None, before.notified_at}
    }

    assert marking == EVIDENCE


def test_the_mark_is_one_write():
    for name, before, decided in every_decision():
        if decided.state is DeliveryState.SENT and before.state is not DeliveryState.SENT:
            assert decided.notified_at == NOW, name
            assert decided.holder is decided.lease_until is None, name
            assert not decided.job_told, name


def test_nothing_fails_for_good_before_it_is_known_that_the_provider_has_not_accepted_it():
    """A refusal of the only send says so, and so does a lookup or a person; silence does not."""
    failing = [
        (name, before)
        for name, before, decided in every_decision()
        if decided.state is DeliveryState.FAILED and before.state is not DeliveryState.FAILED
    ]

    refusals, findings, person = {"Busy", "Refused"}, {"Missing", "RecMissing"}, {"SaysFail"}
    assert {name for name, _ in failing} == refusals | findings | person
    assert {before.began_at for name, before in failing if name in refusals} == {BEGAN_AT}


def test_nothing_is_handed_out_before_it_is_written_that_a_send_begins():
    """The one way to `sending` from nothing is the event that is written before the call."""
    for name, before, decided in every_decision():
        if before.began_at is None and decided.began_at is not None:
            assert name == "SendBegun" or before.state is DeliveryState.SENT


def test_the_code_has_one_place_that_sets_the_time_of_notification():
    setting = []
    for module in (lifecycle, change):
        for function in ast.walk(ast.parse(inspect.getsource(module))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.keyword) and node.arg == "notified_at":
                    empty = isinstance(node.value, ast.Constant) and node.value.value is None
                    setting += [] if empty else [function.name]

    assert setting == ["sent"]


def test_a_decision_leaves_the_key_the_message_and_the_revision_alone():
    fixed = ("id", "subject", "recipient", "version", "provider", "token", "message", "created_at")
    for _, before, decided in every_decision():
        assert [getattr(decided, name) for name in (*fixed, "revision")] == [
            getattr(before, name) for name in (*fixed, "revision")
        ]
        assert decided.updated_at == NOW


def test_a_mark_that_is_taken_back_is_told_from_every_other_change():
    broken = {name for name, before, decided in every_decision() if breaks_order(before, decided)}

    assert broken == {"RecMissing"}


def test_who_asked_last_is_who_waits():
    asked = decide_delivery(
        a_delivery("failed"), EVENTS["AskedByOther"], terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(asked, Delivery)
    assert (asked.job_id, asked.stage, asked.required) == ("job-2", "notify", False)
    assert not asked.job_told


def test_a_failure_may_allow_fewer_attempts():
    few = failure("INVALID", retryable=True, outcome_known=True, attempts=1)

    decided = decide_delivery(
        a_delivery("sending"), SendFailed(few, BEGAN_AT), terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(decided, Delivery)
    assert decided.state is DeliveryState.FAILED


def test_a_provider_that_names_a_time_is_left_alone_until_then():
    later = failure("RATE_LIMITED", retryable=True, outcome_known=True, retry_after_us=90_000_000)

    decided = decide_delivery(
        a_delivery("sending"), SendFailed(later, BEGAN_AT), terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(decided, Delivery)
    assert decided.run_at == after(90)


def test_what_is_handed_back_is_due_again_at_once_and_never_in_the_past():
    for until in (None, after(-100)):
        decided = decide_delivery(
            a_delivery("claimed"), HandedBack(None, until), terms_of(PROMISES["both"]), NOW, 0.5
        )
        assert isinstance(decided, Delivery)
        assert decided.run_at == NOW


def looked_up_at(promise: Promise, *, lost_at: float) -> list[float]:
    """When a send that began now, and whose answer was lost, is looked up and not found."""
    terms = terms_of(promise)
    delivery = a_delivery("sending", began_at=NOW)
    moment = after(lost_at)
    delivery = decide_delivery(delivery, SendFailed(LOST, NOW), terms, moment, 0.5)
    looks = []
    while isinstance(delivery, Delivery) and delivery.state is DeliveryState.SENDING:
        moment = delivery.run_at
        looks.append((moment - NOW) / SECOND_US)
        held = delivery._replace(holder="courier-1")
        delivery = decide_delivery(held, LookedUp(Finding.MISSING), terms, moment, 0.5)
    return looks


def test_a_lost_answer_is_looked_up_within_seconds_and_again_until_its_lag_is_over():
    slow = Promise(lookup_lag=300)

    assert looked_up_at(slow, lost_at=0.1)[:4] == [2, 4, 7.9, 15.7]
    assert looked_up_at(slow, lost_at=0.1)[-1] == 300.1
    assert looked_up_at(slow, lost_at=10) == [10, 12, 14, 18, 26, 42, 74, 138, 266, 310]


def test_a_provider_that_knows_at_once_is_asked_at_once():
    assert looked_up_at(Promise(lookup_lag=0), lost_at=0.1) == [0.1]
    assert looked_up_at(Promise(lookup_lag=1), lost_at=0.1) == [1, 1.1]


def test_what_an_early_lookup_finds_is_believed():
    found = decide_delivery(
        a_delivery("asking", began_at=after(-2), doubted_at=after(-1)),
        EVENTS["Found"],
        terms_of(Promise(lookup_lag=300)),
        NOW,
        0.5,
    )

    assert isinstance(found, Delivery)
    assert (found.state, found.notified_at) == (DeliveryState.SENT, NOW)


def test_a_courier_that_was_lost_while_it_looked_up_leaves_the_doubt_as_it_was():
    lost = decide_delivery(
        a_delivery("asking"), EVENTS["CourierLost"], terms_of(PROMISES["lookup"]), NOW, 0.5
    )

    assert isinstance(lost, Delivery)
    assert (lost.doubted_at, lost.error_class) == (DOUBTED_AT, "NETWORK_TIMEOUT")


def test_a_send_that_waits_for_a_quota_may_be_sent_now_by_a_person():
    terms = terms_of(PROMISES["both"])
    waiting = decide_delivery(a_delivery("sending"), EVENTS["Postponed"], terms, NOW, 0.5)
    assert isinstance(waiting, Delivery)

    asked = decide_delivery(waiting, EVENTS["SaysResend"], terms, NOW, 0.5)

    assert isinstance(asked, Delivery)
    assert (asked.state, asked.run_at, asked.attempts) == (DeliveryState.INTENT, NOW, 0)


def test_what_is_unknown_is_asked_for_again_with_a_new_budget_where_that_can_settle_it():
    terms = terms_of(PROMISES["dedupes"])
    spent = a_delivery("unknown", attempts=3)

    asked = decide_delivery(spent, EVENTS["AskedAgain"], terms, NOW, 0.5)

    assert isinstance(asked, Delivery)
    assert next_step(asked._replace(holder="courier-1"), terms, NOW) is Step.SEND
    late = decide_delivery(
        spent._replace(began_at=after(-4000)), EVENTS["AskedAgain"], terms, NOW, 0.5
    )
    assert isinstance(late, Unmoved)


LONG_AGO = Instant(NOW - STALE_US - 1)
STEPS = {
    "a new intent": (a_delivery("claimed"), PROMISES["both"], Step.SEND),
    "an old intent": (a_delivery("claimed", updated_at=LONG_AGO), PROMISES["both"], Step.LOOK_UP),
    "an intent that is not old yet": (
        a_delivery("claimed", updated_at=Instant(LONG_AGO + 1)),
        PROMISES["both"],
        Step.SEND,
    ),
    "an old intent of a slow provider": (
        a_delivery("claimed", updated_at=LONG_AGO),
        Promise(lookup_lag=3600),
        Step.SEND,
    ),
    "an old intent that nobody can be asked about": (
        a_delivery("claimed", updated_at=LONG_AGO),
        PROMISES["dedupes"],
        Step.SEND,
    ),
    "an old intent that the provider was silent about": (
        a_delivery("claimed", updated_at=LONG_AGO, lookups=3),
        PROMISES["both"],
        Step.SEND,
    ),
    "a send in doubt": (a_delivery("asking"), PROMISES["both"], Step.LOOK_UP),
    "a send in doubt, by token": (a_delivery("asking"), PROMISES["dedupes"], Step.SEND),
    "a send in doubt, with nothing": (a_delivery("asking"), PROMISES["neither"], Step.PARK),
    "the end of the window": (
        a_delivery("asking", began_at=after(-3590)),
        PROMISES["dedupes"],
        Step.PARK,
    ),
    "just before the end of the window": (
        a_delivery("asking", began_at=Instant(after(-3590) + 1)),
        PROMISES["dedupes"],
        Step.SEND,
    ),
    "no attempt left": (a_delivery("asking", attempts=3), PROMISES["dedupes"], Step.PARK),
    "a day later": (
        a_delivery("asking", began_at=after(-25 * 3600)),
        Promise(dedupes_for=24 * 3600),
        Step.PARK,
    ),
    "a day later, where one can ask": (
        a_delivery("asking", began_at=after(-25 * 3600)),
        Promise(dedupes_for=24 * 3600, lookup_lag=1),
        Step.LOOK_UP,
    ),
    "what the provider has forgotten": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_for=60),
        Step.PARK,
    ),
    "what the provider has forgotten, but drops": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_for=60, dedupes_for=3600),
        Step.SEND,
    ),
    "an id without a time": (
        a_delivery("claimed", notification_id="m-0"),
        PROMISES["both"],
        Step.LOOK_UP,
    ),
    "an id that the provider wants": (
        a_delivery("asking", notification_id="m-0"),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.LOOK_UP,
    ),
    "no id, which the provider wants": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.PARK,
    ),
    "an old intent of a provider that wants an id": (
        a_delivery("claimed", updated_at=LONG_AGO),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.SEND,
    ),
    "an id without a time, by token": (
        a_delivery("claimed", notification_id="m-0"),
        PROMISES["dedupes"],
        Step.PARK,
    ),
    "a time without a mark": (
        a_delivery("asking", notified_at=after(-50)),
        PROMISES["dedupes"],
        Step.PARK,
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_a_courier_does(name: str):
    delivery, promise, step = STEPS[name]

    assert next_step(delivery, terms_of(promise), NOW) is step


def test_after_a_restored_backup_the_provider_is_asked_before_a_first_send_once():
    careful = terms_of(PROMISES["both"], look_first=True)

    assert next_step(a_delivery("claimed"), careful, NOW) is Step.LOOK_UP
    assert next_step(a_delivery("claimed", lookups=1), careful, NOW) is Step.SEND


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("standing", STANDINGS)
def test_what_is_marked_as_sent_is_never_sent(standing: str, promise: str):
    marked = a_delivery(standing, notified_at=after(-50), holder="courier-1")
    terms = terms_of(PROMISES[promise])

    assert next_step(marked, terms, NOW) is not Step.SEND
    assert isinstance(decide_delivery(marked, SendBegun(), terms, NOW, 0.5), Unmoved)


def test_a_known_refusal_says_nothing_about_an_earlier_send():
    decided = decide_delivery(
        a_delivery("sending", began_at=after(-90), attempts=2),
        SendFailed(BUSY, BEGAN_AT),
        terms_of(PROMISES["dedupes"]),
        NOW,
        0.5,
    )

    assert isinstance(decided, Delivery)
    assert (decided.state, decided.began_at) == (DeliveryState.SENDING, after(-90))


KEY = {"subject": "s", "recipient": "jane@example.test", "version": 1, "provider": "mail"}


def test_the_same_key_has_the_same_token_everywhere():
    assert token_of(**KEY) == token_of(**KEY)
    assert token_of(**KEY) == "5eccd6af0e31460e857b8025327c6d0c8258e48f8ed01219317fec53ca6495dd"


@pytest.mark.parametrize(
    "change",
    [{"subject": "t"}, {"recipient": "joe@x"}, {"version": 2}, {"provider": "post"}],
    ids=str,
)
def test_another_key_has_another_token(change: dict):
    assert token_of(**{**KEY, **change}) != token_of(**KEY)


def test_no_two_keys_run_together():
    one = token_of(subject='a","b', recipient="c", version=1, provider="p")
    other = token_of(subject="a", recipient='b","c', version=1, provider="p")

    assert one != other


def test_an_intent_is_due_at_once_and_nothing_of_it_was_handed_over():
    made = intent(
        "d-1",
        subject="review",
        recipient="ada@example.test",
        version=3,
        provider="post",
        message="{}",
        now=NOW,
    )

    assert (made.state, made.run_at, made.attempts) == (DeliveryState.INTENT, NOW, 0)
    assert (made.notification_id, made.notified_at, made.began_at) == (None, None, None)
    assert made.token == token_of(
        subject="review", recipient="ada@example.test", version=3, provider="post"
    )
