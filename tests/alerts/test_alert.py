"""What an alert says to whoever is not in the house."""

from holdfast.alerts.alert import Alert, AlertKind, AlertLevel
from holdfast.core.values.instant import Instant
from holdfast.secrecy import keep_secret

CANARY = "hunter2-is-a-secret"


def test_no_secret_is_in_its_document_whoever_put_it_there():
    keep_secret([CANARY])
    alert = Alert(
        AlertKind.BREAKER_OPEN,
        AlertLevel.WARNING,
        subject=f"gateway {CANARY}",
        message=f"opened: {CANARY}",
        at=Instant(0),
        facts={"forced_reason": CANARY, "deep": [{"er": CANARY}]},
    )

    assert CANARY not in str(alert.to_document())


def test_it_leads_to_the_runbook():
    alert = Alert(AlertKind.SLA_RISK, AlertLevel.WARNING, "p", "m", Instant(0), {})

    assert alert.to_document()["runbook"] == "deadlines-are-at-risk"
