"""Dead letters in Sentry, by its own SDK and a transport that keeps what it is to send."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.transport import Transport

from holdfast import GiveUp, Holdfast, Pipeline, Retry
from holdfast.bridges.sentry import report_dead_letters
from holdfast.testing import ManualClock, Script, drain

SECRET = "sk-live-51Habcdefghijklmnopqrstuvwx"


class Kept(Transport):
    """Keeps the events that would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        event = envelope.get_event()
        if event is not None:
            self.events.append(event)


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Sentry as a program starts it, with its events of log lines."""
    transport = Kept()
    sentry_sdk.init(
        dsn="http://public@127.0.0.1:9/1",
        transport=transport,
        default_integrations=False,
        integrations=[LoggingIntegration()],
    )
    sentry_sdk.set_user({"email": "somebody-else@shop.test"})
    yield transport
    sentry_sdk.set_user(None)
    sentry_sdk.get_client().close(timeout=0)
    sentry_sdk.get_global_scope().set_client(None)


def app_of(*outcomes: Any) -> tuple[Holdfast, Pipeline]:
    pipeline = Pipeline("mail", retry=Retry(attempts=2, base=60))
    pipeline.stage(name="send")(Script(*outcomes).handler)
    app = Holdfast("sqlite://:memory:", pipelines=[pipeline], clock=ManualClock())
    return app, pipeline


def test_a_dead_letter_is_one_event_and_an_attempt_is_none(kept: Kept):
    app, mail = app_of(TimeoutError("a"), TimeoutError("b"), TimeoutError("c"), "sent")
    stop = report_dead_letters(app)
    dead = app.submit(mail)
    drain(app)
    app.submit(mail)
    drain(app)

    (event,) = kept.events
    (group,) = app.dead.groups()
    assert event["fingerprint"] == ["holdfast", group.fingerprint]
    assert event["transaction"] == "mail.send"
    assert event["tags"]["holdfast.error_class"] == "NETWORK_TIMEOUT"
    assert event["contexts"]["holdfast"]["job_id"] == dead.id
    assert "user" not in event
    stop()
    app.close()


def test_events_of_one_cause_are_one_group_and_hold_no_secret(kept: Kept):
    said = (f"token={SECRET} of ada@shop.test", f"token={SECRET} of bob@shop.test")
    app, mail = app_of(*(GiveUp("REFUSED", each) for each in said), GiveUp("GONE", "no box"))
    stop = report_dead_letters(app)
    for _ in range(3):
        app.submit(mail, {"api_key": SECRET, "to": "ada@shop.test"})
        drain(app)

    groups = [event["fingerprint"] for event in kept.events]
    assert len(groups) == 3
    assert groups[0] == groups[1] != groups[2]
    sent = json.dumps(kept.events, default=str)
    assert SECRET not in sent
    assert "shop.test" not in sent
    stop()
    app.close()


def test_once_undone_nothing_is_sent_and_log_lines_are_events_again(kept: Kept):
    app, mail = app_of(GiveUp("GONE", "no box"))
    report_dead_letters(app)()
    app.submit(mail)
    drain(app)

    assert [event["logger"] for event in kept.events] == ["holdfast.worker"]
    assert logging.getLogger("holdfast.worker").isEnabledFor(logging.ERROR)
    app.close()
