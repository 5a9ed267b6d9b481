"""Deliveries through the providers as they are, judged by what the providers' own ledgers say."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from holdfast import Breaker, Holdfast, Retry, Upstream
from holdfast.bridges.file import File
from holdfast.bridges.postmark import Postmark
from holdfast.bridges.resend import Resend
from holdfast.bridges.smtp import Smtp
from holdfast.bridges.webhook import Webhook
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.values.instant import to_datetime
from holdfast.deliveries import CourierOptions
from holdfast.errors import InvalidValue
from holdfast.testing import ManualClock, drain, run_inline
from tests.bridges import fake_postmark, fake_receiver, fake_resend, wire
from tests.bridges.fake_mail_server import BreakingServer, MailLedger, mail_server
from tests.bridges.wire import FakeApi
from tests.classify.servers import LOOPBACK, Connection

OPTIONS = CourierOptions(
    timeout=2,
    lease=10,
    retry=Retry(attempts=3, base=5, factor=1, jitter="none"),
    lookup=Retry(attempts=3, base=5, factor=1, jitter="none"),
    reconcile_batch=0,
)
LETTER = {"from": "reviews@example.org", "subject": "Your review", "text": "It is ready."}
ADA = "ada@example.org"


@pytest.fixture
def told() -> Iterator:
    """Has recipients told through a provider, and returns how each delivery ended."""
    opened: list[Holdfast] = []

    def tell(provider, *recipients: str, message=LETTER) -> dict[str, DeliveryState]:
        app = Holdfast(
            "sqlite://:memory:", providers=[provider], courier=OPTIONS, clock=ManualClock()
        )
        opened.append(app)
        app.deliver("review-17", recipients=recipients or [ADA], message=message)
        drain(app)
        return {view.delivery.recipient: view.delivery.state for view in app.deliveries.find()}

    yield tell
    for app in opened:
        app.close()


def once(api: FakeApi, fault: wire.Fault) -> None:
    """Let the next request be accepted and then meet the fault; later ones are answered."""

    def meet(connection: Connection) -> None:
        api.fault = None
        fault(connection)

    api.fault, api.accepts_first = meet, True


LOST = {
    "reset": wire.resets,
    "closed": wire.closes,
    "500": wire.says(500, b""),
    "cut": wire.truncates,
}


@pytest.mark.parametrize("fault", LOST)
def test_resend_is_given_the_token_again_and_tells_once(told, fault):
    api, ledger = fake_resend.fake_resend()
    with api:
        once(api, LOST[fault])
        states = told(Resend(fake_resend.KEY, base_url=api.url))

    assert states == {ADA: DeliveryState.SENT}
    assert len(ledger.sent) == 1
    assert [request.method for request in api.requests] == ["POST", "POST"]


@pytest.mark.parametrize("fault", LOST)
def test_postmark_is_asked_before_anything_is_sent_again(told, fault):
    api, ledger = fake_postmark.fake_postmark()
    with api:
        once(api, LOST[fault])
        states = told(Postmark(fake_postmark.KEY, base_url=api.url))

    assert states == {ADA: DeliveryState.SENT}
    assert len(ledger.sent) == 1
    assert [request.method for request in api.requests] == ["POST", "GET"]


def test_postmark_sends_again_what_it_never_had(told):
    api, ledger = fake_postmark.fake_postmark()
    with api:
        once(api, wire.resets)
        api.accepts_first = False
        states = told(Postmark(fake_postmark.KEY, base_url=api.url))

    assert states == {ADA: DeliveryState.SENT}
    assert len(ledger.sent) == 1
    methods = [request.method for request in api.requests]
    assert (methods[0], set(methods[1:-1]), methods[-1]) == ("POST", {"GET"}, "POST")


class _Quota:
    """Providers that take nothing more today, or this month; then everything again."""

    def __init__(self) -> None:
        self.closing = ExitStack()

    def resend(self, window: str):
        api, ledger = fake_resend.fake_resend()
        self.closing.enter_context(api)
        body = fake_resend.error(429, f"{window}_quota_exceeded", "you have reached your quota")
        api.fault = self._once(api, wire.replies(429, body))
        return Resend(fake_resend.KEY, base_url=api.url), lambda: len(ledger.sent)

    def postmark(self, window: str):
        api, ledger = fake_postmark.fake_postmark()
        self.closing.enter_context(api)
        body = fake_postmark.error(405, "you ran out of credits")
        api.fault = self._once(api, wire.replies(422, body))
        return Postmark(fake_postmark.KEY, base_url=api.url), lambda: len(ledger.sent)

    def smtp(self, window: str):
        ledger = MailLedger(Once({ADA: f"550 5.4.5 {window} sending limit exceeded"}))
        port = self.closing.enter_context(mail_server(ledger))
        return Smtp(LOOPBACK, port, security="none"), lambda: len(ledger.accepted)

    @staticmethod
    def _once(api: FakeApi, fault: wire.Fault) -> wire.Fault:
        def meet(connection: Connection) -> None:
            api.fault = None
            fault(connection)

        return meet


class Once(dict):
    """Replies that are each given once."""

    def __getitem__(self, step):
        return self.pop(step)


@pytest.mark.parametrize(
    ("name", "window", "ends"),
    [
        ("resend", "daily", "2026-07-15T00:00"),
        ("resend", "monthly", "2026-08-01T00:00"),
        ("postmark", "monthly", "2026-08-01T00:00"),
        ("smtp", "Daily", "2026-07-15T00:00"),
    ],
)
def test_a_quota_that_is_used_up_is_waited_for_and_costs_no_attempt(name, window, ends):
    quota, clock = _Quota(), ManualClock(datetime(2026, 7, 14, 9, 30, tzinfo=UTC))
    with quota.closing:
        provider, taken = getattr(quota, name)(window)
        app = Holdfast("sqlite://:memory:", providers=[provider], courier=OPTIONS, clock=clock)
        quota.closing.callback(app.close)
        (made,) = app.deliver("review-17", recipients=[ADA], message=LETTER)
        run_inline(app)

        waiting = app.deliveries.show(made.id)
        assert (waiting.view.state, waiting.view.delivery.attempts) == (DeliveryState.INTENT, 0)
        assert waiting.view.delivery.error_class == "QUOTA_EXCEEDED"
        assert waiting.view.to_document()["run_at"].startswith(ends[:15])
        assert [line.outcome.value for line in waiting.log] == ["postponed"]
        assert taken() == 0
        drain(app)
        assert (app.deliveries.get(made.id).state, taken()) == (DeliveryState.SENT, 1)
        assert to_datetime(clock.now()).isoformat() >= ends


def test_a_recipient_that_is_refused_keeps_nobody_else_from_being_told(told):
    api, ledger = fake_postmark.fake_postmark()
    with api:
        provider = Postmark(fake_postmark.KEY, base_url=api.url)
        states = told(provider, ADA, fake_postmark.INACTIVE, "bob@example.org")

    assert states == {
        ADA: DeliveryState.SENT,
        fake_postmark.INACTIVE: DeliveryState.FAILED,
        "bob@example.org": DeliveryState.SENT,
    }
    assert sorted(body["To"] for body in ledger.sent.values()) == [ADA, "bob@example.org"]


def test_a_mail_server_whose_answer_is_lost_is_left_to_a_person(told):
    breaking = BreakingServer("body", lambda connection: connection.reset())
    with breaking.serving() as server:
        states = told(Smtp(LOOPBACK, server.port, security="none"))

        assert server.connections == 1
    assert states == {ADA: DeliveryState.UNKNOWN}


def test_a_mail_server_that_breaks_off_before_the_message_is_tried_again(told):
    ledger = MailLedger()
    with mail_server(ledger) as port:
        assert told(Smtp(LOOPBACK, port, security="none")) == {ADA: DeliveryState.SENT}
    breaking = BreakingServer("RCPT", lambda connection: connection.reset())
    with breaking.serving() as server:
        states = told(Smtp(LOOPBACK, server.port, security="none"))

        assert server.connections == OPTIONS.retry.attempts
    assert states == {ADA: DeliveryState.FAILED}
    assert len(ledger.accepted) == 1


@pytest.mark.parametrize(("dedupes_for", "ends"), [(None, "unknown"), (3_600, "sent")])
def test_a_webhook_is_sent_again_only_where_the_receiver_drops_the_second(told, dedupes_for, ends):
    api, ledger = fake_receiver.fake_receiver()
    with api:
        once(api, wire.resets)
        provider = Webhook(fake_receiver.SECRET, receiver_dedupes_for=dedupes_for)
        states = told(provider, api.url, message={"type": "review.ready", "data": {"id": 17}})

    assert states == {api.url: DeliveryState(ends)}
    assert len(set(ledger.ids)) == 1
    assert len(ledger.ids) == (1 if ends == "unknown" else 2)


def test_a_message_that_can_never_be_sent_is_refused_before_it_is_stored(told):
    with pytest.raises(InvalidValue, match="subject"):
        told(Resend(fake_resend.KEY), message=LETTER | {"subject": "a\r\nBcc: b@example.org"})
    with pytest.raises(InvalidValue, match="url"):
        told(Webhook(fake_receiver.SECRET), "http://example.org/", message={"type": "a"})


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: Resend(fake_resend.KEY, **options),
        lambda **options: Postmark(fake_postmark.KEY, **options),
        lambda **options: Smtp("mail.example.org", **options),
        lambda **options: Webhook(fake_receiver.SECRET, **options),
    ],
)
def test_the_breaker_of_its_upstream_is_known_to_the_application(make):
    upstream = Upstream("mail", breaker=Breaker(consecutive=1, cooldown=60))
    app = Holdfast("sqlite://:memory:", providers=[make(upstream=upstream)])

    (bound,) = app.dispatch.providers

    assert bound.upstream is not None
    assert bound.upstream.breaker == upstream.breaker
    app.close()


def test_while_developing_everything_is_in_the_file(told, tmp_path):
    mail = File(tmp_path / "sent.jsonl")
    hooks = File(tmp_path / "hooks.jsonl", addressed_by="url")

    told(mail, ADA, "bob@example.org")
    told(hooks, "https://example.org/", message={"type": "review.ready", "data": 17})

    assert sorted(line["message"]["to"] for line in mail.sent()) == [ADA, "bob@example.org"]
    assert [line["message"]["url"] for line in hooks.sent()] == ["https://example.org/"]
