"""Alerts: sent to the log, and to a webhook, when a person should know.

The webhook is `holdfast.alerts.webhook.WebhookSink`, and takes the extra `http`.
"""

from holdfast.alerts.alert import Alert, AlertKind, AlertLevel
from holdfast.alerts.alerting import Alerting, AlertOptions
from holdfast.alerts.sinks import LogSink, Sink

__all__ = [
    "Alert",
    "AlertKind",
    "AlertLevel",
    "AlertOptions",
    "Alerting",
    "LogSink",
    "Sink",
]
