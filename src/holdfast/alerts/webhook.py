"""Alerts by POST to a URL; the extra `http` brings what this needs."""

from __future__ import annotations

from typing import Final

from holdfast.alerts.alert import Alert
from holdfast.bridges.signature import Secrets
from holdfast.bridges.webhook import Webhook
from holdfast.core.values.instant import to_rfc3339
from holdfast.secrecy import keep_secret

TIMEOUT_S: Final = 10.0


class WebhookSink:
    """Posts alerts to a URL, signed as all webhooks of holdfast are."""

    name = "webhook"

    def __init__(self, url: str, secrets: Secrets) -> None:
        self._webhook = Webhook(secrets, name="alerts")
        self._url = url
        # Many services take the URL for a credential.
        keep_secret([url])
        self._webhook.check(self._message("holdfast.alert.test", {}))

    def send(self, alert: Alert, *, alert_id: str) -> None:
        """Post it."""
        message = self._message(f"holdfast.alert.{alert.kind.value}", alert.to_document())
        message["timestamp"] = to_rfc3339(alert.at)
        self._webhook.send(message, token=alert_id, timeout_s=TIMEOUT_S)

    def _message(self, message_type: str, data: object) -> dict[str, object]:
        return {"url": self._url, "type": message_type, "data": data}
