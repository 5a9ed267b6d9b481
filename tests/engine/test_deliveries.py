"""Recipients are told once, judged by what the provider says it has told."""

import logging

import pytest

from holdfast import Holdfast, RetryLater
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.deliveries import CourierOptions, DeliveryKey, DeliveryState, Evidence, Recipient
from holdfast.errors import (
    InvalidDocument,
    InvalidPolicy,
    InvalidValue,
    UnknownProvider,
    UsageError,
)
from holdfast.testing import drain, run_inline
from tests.engine.mailbox import BOTH, DEDUPES, LOOKUP, NEITHER, Mailbox, one, state


class TestTelling:
    def test_a_recipient_is_told_what_was_frozen_and_the_mark_says_by_what(self, with_mail, clock):
        app, mailbox = with_mail()
        made = one(app)
        drain(app)

        assert mailbox.messages == [{"text": "hello", "to": "jane@example.test"}]
        delivery = app.deliveries.get(made).delivery
        assert delivery.state is DeliveryState.SENT
        assert delivery.notification_id == f"m-{delivery.token[:6]}"
        assert delivery.notified_at == clock.now()
        assert (delivery.attempts, delivery.holder) == (1, None)

    def test_asking_again_for_the_same_version_tells_nobody_twice(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        first = one(app)
        drain(app)

        assert one(app, message={"text": "changed"}) == first
        drain(app)
        assert mailbox.told() == {"jane@example.test": 1}
        assert one(app, version=2) != first
        drain(app)
        assert mailbox.told() == {"jane@example.test": 2}

    def test_a_token_is_the_same_on_every_try_and_another_for_every_delivery(self, with_mail):
        app, mailbox = with_mail(DEDUPES)
        mailbox.next.extend(["busy", "accepted, no answer"])
        one(app)
        drain(app)
        one(app, "joe@example.test")
        one(app, version=2)
        drain(app)

        assert len(mailbox.sends) == 5
        assert len(set(mailbox.sends)) == 3
        assert mailbox.sends[:3] == [mailbox.sends[0]] * 3

    def test_a_delivery_is_part_of_the_callers_transaction(self, with_mail):
        app, mailbox = with_mail()
        with app.store.transaction() as connection:
            one(app, connection=connection)
        with pytest.raises(ZeroDivisionError):
            _broken_off(app)
        drain(app)

        assert mailbox.told() == {"jane@example.test": 1}

    def test_many_are_looked_up_at_once_by_what_they_were_made_for(self, with_mail):
        app, _ = with_mail()
        app.deliver("s", recipients=["a@x.test", "b@x.test"], message={"text": "hello"}, version=2)
        drain(app)
        told, untold = DeliveryKey("s", "b@x.test", 2), DeliveryKey("s", "b@x.test", 3)

        found = app.deliveries.of_keys([told, untold])

        assert {key: view.state for key, view in found.items()} == {told: DeliveryState.SENT}
        assert app.deliveries.of_keys([]) == {}

    def test_who_is_optional_and_what_is_special_is_said_per_recipient(self, with_mail):
        app, mailbox = with_mail()
        app.deliver(
            "s",
            recipients=["a@x.test", Recipient("b@x.test", required=False, message={"text": "b"})],
            message={"text": "all"},
        )
        drain(app)

        assert sorted((message["to"], message["text"]) for message in mailbox.messages) == [
            ("a@x.test", "all"),
            ("b@x.test", "b"),
        ]
        assert [view.delivery.required for view in app.deliveries.find()] == [False, True]


def _broken_off(app: Holdfast) -> None:
    with app.store.transaction() as connection:
        one(app, "never@example.test", connection=connection)
        raise ZeroDivisionError


class TestRefusals:
    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"recipients": []}, "recipients"),
            ({"recipients": "jane@example.test"}, "recipients"),
            ({"recipients": [""]}, "recipient"),
            ({"recipients": ["a\nb"]}, "recipient"),
            ({"recipients": ["x" * 256]}, "recipient"),
            ({"recipients": ["a@x", Recipient("a@x", required=False)]}, "recipients"),
            ({"recipients": [f"{n}@x" for n in range(1001)]}, "recipients"),
            ({"version": 0}, "version"),
            ({"version": True}, "version"),
            ({"message": "text"}, "message"),
        ],
        ids=str,
    )
    def test_what_cannot_be_a_delivery_is_refused_by_name_and_not_stored(
        self, with_mail, wrong, field
    ):
        app, _ = with_mail()
        given = {"recipients": ["jane@example.test"], "message": {}, **wrong}

        with pytest.raises(InvalidValue) as refused:
            app.deliver("s", **given)

        assert refused.value.field == field
        assert app.deliveries.find() == []

    def test_a_message_that_is_no_json_is_refused(self, with_mail):
        app, _ = with_mail()

        with pytest.raises(InvalidDocument, match="message"):
            one(app, message={"x": float("nan")})

    def test_a_message_that_the_provider_can_never_send_is_refused_before_it_is_stored(
        self, open_app, clock
    ):
        mailbox = Mailbox(clock, BOTH)

        def check(message):
            raise InvalidValue("mail", field="subject", value=None, limit="given")

        mailbox.check = check
        app = open_app(providers=[mailbox])

        with pytest.raises(InvalidValue, match="subject"):
            one(app)
        assert app.deliveries.find() == []

    def test_a_provider_is_named_where_there_are_several(self, open_app, clock):
        mail, post = Mailbox(clock, BOTH), Mailbox(clock, NEITHER, name="post")
        app = open_app(providers=[mail, post])

        with pytest.raises(UnknownProvider, match="known: mail, post; say which"):
            one(app)
        with pytest.raises(UnknownProvider, match="'fax'; known: mail, post"):
            one(app, provider="fax")
        one(app, provider="post")
        drain(app)
        assert (len(mail.messages), len(post.messages)) == (0, 1)

    def test_an_app_without_providers_delivers_nothing(self, open_app):
        with pytest.raises(UnknownProvider, match=r"providers=\["):
            one(open_app())

    def test_two_providers_of_one_name_are_refused(self, open_app, clock):
        with pytest.raises(UsageError, match="two providers are called 'mail'"):
            open_app(providers=[Mailbox(clock, BOTH), Mailbox(clock, NEITHER)])

    @pytest.mark.parametrize(
        "wrong",
        [{"timeout": 0}, {"lease": 30, "timeout": 20}, {"concurrency": 0}, {"reconcile_batch": -1}],
        ids=str,
    )
    def test_options_that_make_no_sense_are_refused(self, wrong):
        with pytest.raises(InvalidPolicy):
            CourierOptions(**wrong)

    def test_the_recipient_stands_where_the_provider_wants_it(self, open_app, clock):
        mailbox = Mailbox(clock, BOTH)
        mailbox.addressed_by = "url"
        app = open_app(providers=[mailbox])
        (view,) = app.deliver("s", recipients=["https://x.test/hook"], message={"type": "t"})

        assert view.delivery.message == '{"type":"t","url":"https://x.test/hook"}'


class TestFailures:
    def test_a_known_failure_is_retried_with_backoff_and_tells_once(self, with_mail, clock):
        app, mailbox = with_mail(NEITHER)
        mailbox.next.extend(["busy", "busy"])
        made, began = one(app), clock.now()
        drain(app)

        assert mailbox.told() == {"jane@example.test": 1}
        assert clock.now() - began == 16 * SECOND_US
        assert app.deliveries.get(made).delivery.attempts == 3

    def test_a_refusal_fails_that_recipient_only(self, with_mail):
        app, mailbox = with_mail()
        mailbox.next.append("refused")
        first = one(app)
        drain(app)
        second = one(app, "joe@example.test")
        drain(app)

        assert (state(app, first), state(app, second)) == ("failed", "sent")
        assert mailbox.told() == {"joe@example.test": 1}
        view = app.deliveries.get(first)
        assert (view.delivery.error_class, view.error) == ("INVALID", "refused")

    def test_the_budget_ends_what_keeps_failing(self, with_mail):
        app, mailbox = with_mail()
        mailbox.next.extend(["busy"] * 9)
        made = one(app)
        drain(app)

        assert state(app, made) == "failed"
        assert len(mailbox.sends) == 3

    @pytest.mark.parametrize("promise", [BOTH, LOOKUP], ids=["both", "lookup"])
    def test_a_lost_answer_is_looked_up_until_it_is_found_and_not_sent_again(
        self, with_mail, clock, promise
    ):
        app, mailbox = with_mail(promise)
        mailbox.next.append("accepted, no answer")
        made, began = one(app), clock.now()
        run_inline(app)

        assert (state(app, made), mailbox.lookups) == ("sending", [])
        drain(app)
        assert clock.now() - began == 30 * SECOND_US
        assert (state(app, made), len(mailbox.sends)) == ("sent", 1)
        assert mailbox.told() == {"jane@example.test": 1}

    def test_what_a_provider_knows_at_once_is_believed_within_seconds(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        mailbox.finds_after = 0.0
        mailbox.next.append("accepted, no answer")
        made, began = one(app), clock.now()
        drain(app)

        assert clock.now() - began == 2 * SECOND_US
        assert (state(app, made), len(mailbox.lookups), len(mailbox.sends)) == ("sent", 1, 1)

    def test_what_is_not_found_is_sent_again_only_once_the_lag_is_over(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        mailbox.next.append("never arrived")
        made, began = one(app), clock.now()
        drain(app)

        assert clock.now() - began == 30 * SECOND_US
        assert (state(app, made), len(mailbox.lookups), len(mailbox.sends)) == ("sent", 5, 2)

    def test_what_never_arrived_is_sent_again_once_the_provider_denies_it(self, with_mail):
        app, mailbox = with_mail(LOOKUP)
        mailbox.next.append("never arrived")
        made = one(app)
        drain(app)

        assert (state(app, made), len(mailbox.sends)) == ("sent", 2)
        assert mailbox.told() == {"jane@example.test": 1}

    def test_where_nothing_can_be_looked_up_the_same_token_is_sent_within_the_window(
        self, with_mail
    ):
        app, mailbox = with_mail(DEDUPES)
        mailbox.next.append("accepted, no answer")
        made = one(app)
        drain(app)

        assert (state(app, made), mailbox.lookups, len(mailbox.sends)) == ("sent", [], 2)
        assert mailbox.told() == {"jane@example.test": 1}

    def test_after_the_window_only_a_person_decides(self, with_mail, clock):
        app, mailbox = with_mail(DEDUPES)
        mailbox.next.append("accepted, no answer")
        made = one(app)
        run_inline(app)
        clock.advance(25 * 3600)
        drain(app)

        assert (state(app, made), len(mailbox.sends)) == ("unknown", 1)

    @pytest.mark.parametrize("how", ["accepted, no answer", "never arrived"])
    def test_with_neither_a_lost_answer_is_unknown_and_never_guessed(self, with_mail, how):
        app, mailbox = with_mail(NEITHER)
        mailbox.next.append(how)
        made = one(app)
        drain(app)

        assert (state(app, made), len(mailbox.sends)) == ("unknown", 1)

    def test_a_lookup_that_is_down_has_a_budget_of_its_own_and_nothing_is_sent(
        self, with_mail, clock
    ):
        app, mailbox = with_mail(BOTH)
        mailbox.next.append("accepted, no answer")
        mailbox.lookups_down = True
        made, began = one(app), clock.now()
        drain(app)

        # Those before the lag is over are not counted.
        assert (state(app, made), len(mailbox.lookups), len(mailbox.sends)) == ("unknown", 7, 1)
        assert clock.now() - began == (30 + 4 + 4) * SECOND_US

    def test_a_bug_in_reading_the_answer_is_not_repeated_blindly(self, with_mail):
        app, mailbox = with_mail(DEDUPES)
        mailbox.next.append("accepted, unreadable")
        made = one(app)
        drain(app)

        assert (state(app, made), len(mailbox.sends)) == ("unknown", 1)

    def test_a_provider_that_postpones_costs_no_attempt(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        script = [ZeroDivisionError, None]

        def send(message, *, token, timeout_s):
            if script.pop(0) is not None:
                raise RetryLater(after=5)
            return Evidence("m-1")

        mailbox.send = send
        made = one(app)
        drain(app)

        delivery = app.deliveries.get(made).delivery
        assert (delivery.state, delivery.attempts) == (DeliveryState.SENT, 1)

    def test_an_odd_id_of_a_message_is_kept_as_it_can_be(self, with_mail):
        app, mailbox = with_mail()
        mailbox.send = lambda message, **_: Evidence("m\0" + "x" * 999)
        made = one(app)
        drain(app)

        found = app.deliveries.get(made).delivery.notification_id
        assert found is not None
        assert found.startswith("m\\x00")
        assert len(found) == 255


def test_a_recipient_and_a_message_never_stand_in_the_log(with_mail, caplog):
    app, mailbox = with_mail(NEITHER)
    mailbox.next.extend(["fine", "busy", "refused", "accepted, no answer"])
    with caplog.at_level(logging.DEBUG):
        for number in range(4):
            one(app, f"jane.doe{number}@example.test", message={"text": "the whole story"})
            drain(app)

    said = "".join(f"{record.getMessage()}{vars(record)}" for record in caplog.records)
    assert "j***@example.test" in said
    assert "jane.doe" not in said
    assert "whole story" not in said


def test_an_instant_is_the_same_for_every_column(with_mail, clock):
    app, _ = with_mail()
    made = app.deliveries.get(one(app)).delivery

    assert {made.created_at, made.run_at, made.updated_at} == {Instant(clock.now())}
