"""A provider may say itself how often a message is sent through it."""

from holdfast import Retry
from holdfast.deliveries import DeliveryState
from holdfast.testing import drain
from tests.engine.mailbox import DEDUPES, OPTIONS, Mailbox, one


def test_a_providers_own_policy_counts_for_it_and_for_no_other(open_app, clock):
    eager, usual = Mailbox(clock, DEDUPES), Mailbox(clock, DEDUPES)
    eager.name, usual.name = "eager", "usual"
    eager.retry = Retry(attempts=2, base=1, jitter="none")
    app = open_app(providers=[eager, usual], courier=OPTIONS)
    for mailbox in (eager, usual):
        mailbox.next.extend(["busy"] * OPTIONS.retry.attempts)
    given_up = one(app, provider="eager")
    tried_longer = one(app, "joe@example.test", provider="usual")

    drain(app)

    assert app.deliveries.get(given_up).state is DeliveryState.FAILED
    assert (len(eager.sends), len(usual.sends)) == (2, OPTIONS.retry.attempts)
    assert app.deliveries.get(tried_longer).state is DeliveryState.FAILED
    assert OPTIONS.retry.attempts > 2
