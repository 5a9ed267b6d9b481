"""Alerts: told to the log, and to whoever has a webhook for them, when a person should know.

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
