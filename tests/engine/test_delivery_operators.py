"""What people do about deliveries, and how deliveries are compared with what providers know."""

import logging
from datetime import timedelta

import pytest

from holdfast import Holdfast, JobState, Pipeline
from holdfast.core.delivery.delivery import Delivery
from holdfast.deliveries import CourierOptions, DeliveryFilter, DeliveryState, Notify
from holdfast.errors import DeliveryMoved, InvalidValue, UnknownDelivery, UnknownProvider
from holdfast.testing import drain
from tests.engine.mailbox import DEDUPES, LOOKUP, NEITHER, Mailbox, one, state


class TestOperators:
    def unknown(self, app: Holdfast, mailbox: Mailbox) -> str:
        mailbox.next.append("accepted, no answer")
        made = one(app)
        drain(app)
        assert state(app, made) == "unknown"
        return made

    def test_a_person_says_that_the_recipient_was_told(self, with_mail, clock):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)
        view = app.deliveries.resolve(made, "sent", by="ada", reason="she replied")
        drain(app)

        assert (view.state, view.delivery.notified_at) == (DeliveryState.SENT, clock.now())
        assert len(mailbox.sends) == 1

    def test_a_person_has_it_sent_again(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)
        app.deliveries.resolve(made, "resend", by="ada")
        drain(app)

        assert state(app, made) == "sent"
        assert len(mailbox.sends) == 2

    def test_a_person_gives_it_up(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)
        view = app.deliveries.resolve(made, "fail", by="ada", reason="left the firm")
        drain(app)

        assert (view.state, view.error) == (DeliveryState.FAILED, "left the firm")
        assert view.delivery.error_class == "WITHDRAWN"

    def test_who_said_it_and_why_is_on_record(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)
        app.deliveries.resolve(made, "fail", by="ada", reason="left the firm")

        (entry,) = app.deliveries.show(made).actions
        assert (entry.done_by, entry.action, entry.reason) == ("ada", "fail", "left the firm")
        assert entry.detail == {"before": "unknown", "after": "failed"}

    def test_what_was_sent_stays_sent(self, with_mail):
        app, _ = with_mail()
        made = one(app)
        drain(app)

        for word in ("sent", "resend", "fail"):
            with pytest.raises(DeliveryMoved, match="new version"):
                app.deliveries.resolve(made, word, by="ada")

    def test_what_a_courier_has_is_left_to_it(self, with_mail, clock):
        app, _ = with_mail()
        made = one(app)
        app.store.deliveries.claim("mail", limit=1, holder="x", lease_us=10**9, now=clock.now())

        with pytest.raises(DeliveryMoved, match="a courier is at it"):
            app.deliveries.resolve(made, "fail", by="ada")

    def test_an_unknown_word_and_an_unknown_delivery_are_refused(self, with_mail):
        app, _ = with_mail()

        with pytest.raises(InvalidValue, match="sent, resend, fail"):
            app.deliveries.resolve(one(app), "forget", by="ada")
        with pytest.raises(UnknownDelivery, match="0190"):
            app.deliveries.get("0190")
        with pytest.raises(UnknownDelivery):
            app.deliveries.resolve("0190", "fail", by="ada")

    def test_a_person_can_decide_where_the_provider_is_not_known(self, with_mail, open_app):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)

        assert open_app().deliveries.resolve(made, "sent", by="ada").state == "sent"

    def test_deliveries_are_found_and_counted(self, with_mail):
        app, mailbox = with_mail(NEITHER)
        made = self.unknown(app, mailbox)
        one(app, "joe@example.test")

        (view,) = app.deliveries.find(DeliveryFilter(states=(DeliveryState.UNKNOWN,)))
        assert view.id == made
        assert app.deliveries.counts() == {"mail": {"unknown": 1, "intent": 1}}
        with pytest.raises(InvalidValue, match="limit"):
            app.deliveries.find(limit=0)

    def test_what_is_shown_masks_the_recipient_and_leaves_the_message_out(self, with_mail):
        app, _ = with_mail()
        document = app.deliveries.show(one(app)).to_document()

        assert document["recipient"] == "j***@example.test"
        assert "hello" not in str(document)
        assert "jane@" not in str(document)


def _review(to: str) -> Pipeline:
    pipeline = Pipeline("review")

    @pipeline.stage(name="notify")
    def notify_all(job) -> Notify:
        return Notify(subject="cl-1", recipients=[to], message={"text": "done"})

    return pipeline


class TestReconciliation:
    def test_a_mark_without_evidence_is_taken_back_sent_again_and_cried_out(
        self, with_mail, clock, caplog
    ):
        app, mailbox = with_mail(LOOKUP)
        made = one(app)
        _mark_without_sending(app, made)
        clock.advance(60)
        with caplog.at_level(logging.CRITICAL, "holdfast.delivery"):
            told = app.deliveries.reconcile(rate=1000)

        assert (told.missing, told.sent_again, told.stopped) == (1, [made], False)
        (line,) = [record for record in caplog.records if record.event == "ordering_broken"]
        assert (line.levelname, line.delivery_id) == ("CRITICAL", made)
        assert "jane@" not in str(vars(line))
        (entry,) = app.deliveries.show(made).actions
        assert (entry.action, entry.done_by) == ("ordering_broken", "holdfast")
        assert mailbox.messages == []
        drain(app)
        assert (state(app, made), mailbox.told()) == ("sent", {"jane@example.test": 1})

    def test_a_mark_that_is_taken_back_is_in_the_history_of_its_job(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP, _review("jane@example.test"))
        job = app.submit("review", {})
        drain(app)
        mailbox.lose()
        clock.advance(60)
        app.deliveries.reconcile(rate=1000)
        events = [line.event for line in app.history(job.id)]
        assert events[-2:] == ["completed", "delivery_taken_back"]
        drain(app)

        assert job.get().state is JobState.COMPLETE
        taken_back, again = app.history(job.id)[-2:]
        assert (taken_back.event, again.event) == ("delivery_taken_back", "delivery_sent_again")
        assert taken_back.meta["error_code"] == "EVIDENCE_MISSING"
        assert (taken_back.meta["recipient"], taken_back.stage) == ("j***@example.test", "notify")
        assert mailbox.told() == {"jane@example.test": 1}

    def test_what_cannot_be_sent_again_waits_for_a_person(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP, _review("jane@example.test"))
        job = app.submit("review", {})
        drain(app)
        assert app.deliveries.unattended() == []
        mailbox.lose()
        clock.advance(60)
        mailbox.next.append("refused")
        app.deliveries.reconcile(rate=1000)
        drain(app)

        (found,) = app.deliveries.unattended()
        assert (found.provider, found.state, found.deliveries) == ("mail", "failed", 1)
        (view,) = app.deliveries.of_job(job.id)
        app.deliveries.resolve(view.id, "fail", by="ada", reason="left the firm")
        assert app.deliveries.unattended() == []

    def test_a_mark_that_has_no_evidence_twice_is_left_to_a_person(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        mailbox.forgets = True
        made = one(app)
        for _ in range(3):
            drain(app)
            clock.advance(60)
            app.deliveries.reconcile(rate=1000)
        drain(app)

        assert state(app, made) == "unknown"
        assert mailbox.told() == {"jane@example.test": 2}
        (found,) = app.deliveries.unattended()
        assert (found.state, found.deliveries) == ("unknown", 1)

    def test_a_mark_that_is_too_young_to_be_found_is_left_alone(self, with_mail, clock):
        app, _ = with_mail(LOOKUP)
        made = one(app)
        drain(app)
        clock.advance(29)
        told = app.deliveries.reconcile(rate=1000)

        assert (told.missing, told.sent_again) == (1, [])
        assert state(app, made) == "sent"

    def test_marks_that_are_known_are_confirmed(self, with_mail, clock):
        app, _ = with_mail()
        made = one(app)
        drain(app)
        clock.advance(60)
        told = app.deliveries.reconcile(rate=1000)

        assert (told.checked, told.confirmed) == (1, 1)
        assert app.deliveries.get(made).delivery.checked_at == clock.now()

    def test_a_provider_that_knows_nothing_at_all_is_doubted(self, with_mail, clock, caplog):
        app, mailbox = with_mail(LOOKUP)
        for number in range(6):
            one(app, f"{number}@example.test")
        drain(app)
        mailbox.forgets = True
        clock.advance(60)
        told = app.deliveries.reconcile(rate=1000, stop_after=2)

        assert (told.checked, len(told.sent_again), told.stopped) == (2, 2, True)
        assert "reconciliation_stopped" in {getattr(line, "event", "") for line in caplog.records}

    def test_what_is_unknown_is_found_out_once_the_lookup_works(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        mailbox.lookups_down = True
        mailbox.next.extend(["accepted, no answer"])
        told_ = one(app)
        drain(app)
        mailbox.next.append("never arrived")
        untold = one(app, "joe@example.test")
        drain(app)
        assert (state(app, told_), state(app, untold)) == ("unknown", "unknown")
        assert app.deliveries.reconcile(rate=1000).unavailable == 2

        mailbox.lookups_down = False
        told = app.deliveries.reconcile(rate=1000)
        drain(app)
        assert (told.found, told.missing) == (1, 1)
        assert (state(app, told_), state(app, untold)) == ("sent", "sent")
        assert mailbox.told() == {"jane@example.test": 1, "joe@example.test": 1}

    def test_it_is_bounded_by_time_number_and_provider(self, with_mail, open_app, clock):
        app, _ = with_mail()
        for number in range(3):
            one(app, f"{number}@example.test")
            clock.advance(100)
        drain(app)

        assert app.deliveries.reconcile(rate=1000, limit=2).checked == 2
        assert app.deliveries.reconcile(rate=1000, since=150.0).checked == 1
        assert app.deliveries.reconcile(rate=1000, since=timedelta(seconds=250)).checked == 2
        with pytest.raises(UnknownProvider):
            app.deliveries.reconcile(provider="fax")
        with pytest.raises(InvalidValue, match="rate"):
            app.deliveries.reconcile(rate=0)
        assert open_app().deliveries.reconcile(rate=1000).skipped == 3

    def test_where_nothing_can_be_looked_up_everything_is_skipped(self, with_mail):
        app, mailbox = with_mail(DEDUPES)
        one(app)
        drain(app)

        assert app.deliveries.reconcile(rate=1000).skipped == 1
        assert mailbox.lookups == []


def _mark_without_sending(app: Holdfast, delivery_id: str) -> None:
    """What a program with the order of send and mark the wrong way round would leave behind."""
    delivery = app.deliveries.get(delivery_id).delivery
    marked = delivery._replace(
        state=DeliveryState.SENT, notification_id="m-?", notified_at=app.clock.now()
    )
    assert app.store.deliveries.apply([marked])


class TestBackups:
    """Effects sent after a backup was taken are found, not sent again, once it is restored."""

    def restored(self, app: Holdfast, rows: list[Delivery]) -> None:
        current = {row.id: app.deliveries.get(row.id).delivery.revision for row in rows}
        back = [row._replace(revision=current[row.id]) for row in rows]
        assert len(app.store.deliveries.apply(back)) == len(rows)

    def snapshot(self, app: Holdfast) -> list[Delivery]:
        return [view.delivery for view in app.deliveries.find()]

    def test_reconciliation_before_the_workers_start_finds_them(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        for number in range(20):
            one(app, f"{number}@example.test")
        backup = self.snapshot(app)
        drain(app)
        self.restored(app, backup)
        clock.advance(31)
        told = app.deliveries.reconcile(rate=10_000)
        drain(app)

        assert told.found == 20
        assert set(mailbox.told().values()) == {1}
        assert len(mailbox.told()) == 20

    def test_workers_that_look_first_find_them(self, open_app, clock):
        mailbox = Mailbox(clock, LOOKUP)
        app = open_app(
            providers=[mailbox], courier=CourierOptions(timeout=10, lease=30, look_first=True)
        )
        for number in range(5):
            one(app, f"{number}@example.test")
        backup = self.snapshot(app)
        drain(app)
        self.restored(app, backup)
        clock.advance(31)
        drain(app)

        assert set(mailbox.told().values()) == {1}
        assert len(mailbox.sends) == 5

    def test_an_intent_that_lay_for_long_is_looked_up_first_by_itself(self, with_mail, clock):
        app, mailbox = with_mail(LOOKUP)
        made = one(app)
        backup = self.snapshot(app)
        drain(app)
        clock.advance(3600)
        self.restored(app, backup)
        drain(app)

        assert (state(app, made), len(mailbox.sends)) == ("sent", 1)

    def test_where_tokens_are_dropped_a_restored_backup_tells_nobody_twice(self, with_mail, clock):
        app, mailbox = with_mail(DEDUPES)
        one(app)
        backup = self.snapshot(app)
        drain(app)
        self.restored(app, backup)
        clock.advance(3600)
        drain(app)

        assert len(mailbox.sends) == 2
        assert mailbox.told() == {"jane@example.test": 1}
