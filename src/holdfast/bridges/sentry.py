"""Sentry: an event for every dead letter, grouped by its cause, and none for attempts.

Needs the extra `sentry`: pip install 'holdfast[sentry]'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

import sentry_sdk
from sentry_sdk.integrations.logging import ignore_logger, unignore_logger

from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.values.failure import Category, Failure, Severity
from holdfast.core.values.instant import to_rfc3339
from holdfast.runtime.events.announce import LOGGER, Applied
from holdfast.secrecy import private

if TYPE_CHECKING:
    from sentry_sdk.client import BaseClient

SOURCE: Final = "holdfast"


class Announces(Protocol):
    """An application: what it decided is announced to subscribers."""

    def subscribe(self, subscriber: Callable[[Applied], None]) -> Callable[[], None]:
        """Call `subscriber` after each decision; return the undoing."""
        ...


def report_dead_letters(app: Announces, *, client: BaseClient | None = None) -> Callable[[], None]:
    """Send Sentry an event for every dead letter that this process makes; return the undoing.

    The client is the one that `sentry_sdk.init` made, unless another is given. Log lines about
    jobs become no events meanwhile: there is one for every attempt that was lost.
    """

    def report(applied: Applied) -> None:
        failure = applied.decision.failure
        if failure is None or not applied.decision.buries:
            return
        # Without the scope: what is under way in this process is not what the job is about.
        (client or sentry_sdk.get_client()).capture_event(event_of(applied, failure))

    ignore_logger(LOGGER.name)
    unsubscribe = app.subscribe(report)

    def stop() -> None:
        unsubscribe()
        unignore_logger(LOGGER.name)

    return stop


def event_of(applied: Applied, failure: Failure) -> Any:  # noqa: ANN401 - the SDK's own type
    """Return the event of a job that has failed for good, without secrets and personal data."""
    job, decision = applied
    entry = decision.entry
    group = fingerprint(failure, entry.stage)
    critical = failure.category is Category.CRITICAL or failure.severity is Severity.CRITICAL
    named = failure.exception_type or failure.error_class
    return {
        "level": "fatal" if critical else "error",
        "logger": SOURCE,
        "platform": "python",
        "timestamp": to_rfc3339(entry.at),
        "transaction": f"{job.pipeline}.{entry.stage}",
        "fingerprint": [SOURCE, group],
        "exception": {"values": [{"type": named, "value": private(failure.message)}]},
        "tags": {
            "holdfast.pipeline": job.pipeline,
            "holdfast.stage": entry.stage,
            "holdfast.queue": job.queue,
            "holdfast.error_class": failure.error_class,
            "holdfast.category": failure.category.value,
        },
        "contexts": {
            SOURCE: {
                "job_id": job.id,
                "attempt": entry.attempt,
                "retries": job.retries,
                "http_status": failure.http_status,
                "group": group,
                "stack": private(failure.stack),
            }
        },
    }
