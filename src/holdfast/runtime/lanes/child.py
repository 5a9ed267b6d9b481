"""The child side of the process lane: `main(channel, lifeline)` in an interpreter of its own.

Requests and replies are JSON in frames over one socket; in between a handler may ask for secrets.
When the parent is gone the lifeline
pipe closes, and the child ends, whatever its handler is doing.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, Final

from holdfast.classify import classify
from holdfast.core.delivery.delivery import Asked, AskedOf
from holdfast.core.job.event import Done, Event, Failed, Snoozed, Suspended
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import NewMessage
from holdfast.runtime import tracing
from holdfast.runtime.attempts.attempt import Attempt, JobContext
from holdfast.runtime.attempts.job_secrets import SecretsOfParent
from holdfast.runtime.attempts.outcome import event_of
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.secrecy import OF_THIS_PROCESS, keep_secret, redacted

STAGE_ATTRIBUTE: Final = "__holdfast_stage__"
"""Where a handler carries its bound stage, so that a child can find both by one name."""
GROUP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
"""What a terminal or a service manager sends to every process of a worker."""
_MAIN: Final = "__holdfast_main__"


def request_of(attempt: Attempt, *, now: Instant) -> bytes:
    """Return the frame that asks a child to run an attempt."""
    ends_at_s = attempt.ends_at_s
    return json.dumps(
        {
            "target": attempt.bound.target,
            "job": list(attempt.job),
            "plan": attempt.plan.to_document(),
            "checkpoints": dict(attempt.checkpoints),
            "time_left_s": None if ends_at_s is None else ends_at_s - monotonic_s(),
            "now": now,
            "trace": tracing.current() or attempt.job.trace,
            "callback_key": None if attempt.callback_key is None else attempt.callback_key().hex(),
            # The child writes the failure, so it has to know what may not be in it.
            "secrets": OF_THIS_PROCESS.values,
            "secret_names": OF_THIS_PROCESS.names,
        }
    ).encode()


def event_from(frame: bytes) -> Event:
    """Return the event that a child's reply holds."""
    reply = json.loads(frame)
    match reply["kind"]:
        case "done":
            return Done(reply["result"], None, _messages(reply), reply["http_status"])
        case "failed":
            return Failed(Failure.from_document(_without_secrets(reply["failure"])))
        case "snoozed":
            return Snoozed(reply["after_us"], reply["reason"] and redacted(reply["reason"]))
        case "suspended":
            return Suspended(reply["until"], _messages(reply), _asked(reply))
        case kind:
            raise AssertionError(f"no child replies {kind!r}")


def _messages(reply: dict[str, Any]) -> tuple[NewMessage, ...]:
    return tuple(NewMessage._make(message) for message in reply["messages"])


def _asked(reply: dict[str, Any]) -> Asked | None:
    if reply["asked"] is None:
        return None
    subject, version, provider, recipients = reply["asked"]
    return Asked(subject, version, provider, tuple(AskedOf._make(each) for each in recipients))


def _without_secrets(failure: dict[str, Any]) -> dict[str, Any]:
    """Return the child's words without what became a secret while it ran."""
    texts = ("message", "stack", "answer")
    return failure | {name: redacted(failure[name]) for name in texts if name in failure}


def _reply_of(event: Event | None) -> dict[str, Any]:
    match event:
        case Done():
            return {
                "kind": "done",
                "result": event.result,
                "messages": event.messages,
                "http_status": event.http_status,
            }
        case Failed():
            return {"kind": "failed", "failure": event.failure.to_document()}
        case Snoozed():
            return {"kind": "snoozed", "after_us": event.after_us, "reason": event.reason}
        case Suspended():
            return {
                "kind": "suspended",
                "until": event.until,
                "messages": event.messages,
                "asked": event.asked,
            }
        case _:
            raise AssertionError(f"no handler ends with {event!r}")


def _bound_stage(target: str) -> BoundStage:
    module_name, _, qualname = target.rpartition(":")
    found: Any = (
        _main_from(module_name)
        if module_name.endswith(".py")
        else (importlib.import_module(module_name))
    )
    for name in qualname.split("."):
        found = getattr(found, name)
    stage = getattr(found, STAGE_ATTRIBUTE, None)
    if not isinstance(stage, BoundStage):
        raise TypeError(f"{target} is no stage that runs in a process")
    return stage


def _main_from(path: str) -> ModuleType:
    """Import the program that the parent was started with, once, under another name."""
    if _MAIN not in sys.modules:
        spec = importlib.util.spec_from_file_location(_MAIN, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import {path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MAIN] = module
        spec.loader.exec_module(module)
    return sys.modules[_MAIN]


def _key_of(text: str | None) -> Callable[[], bytes] | None:
    if text is None:
        return None
    key = bytes.fromhex(text)
    return lambda: key


def _run(request: dict[str, Any], secrets: SecretsOfParent) -> dict[str, Any]:
    now = Instant(request["now"])
    keep_secret(request["secrets"], names=request["secret_names"])
    try:
        bound = _bound_stage(request["target"])
    except Exception as refused:  # noqa: BLE001 - importing runs any code
        return _reply_of(Failed(classify(refused, (), now=now)))
    job = Job._make(request["job"])._replace(state=JobState.PROCESSING)
    attempt = Attempt(
        job,
        plan=Plan.from_document(request["plan"]),
        bound=bound,
        checkpoints=request["checkpoints"],
        callback_key=_key_of(request["callback_key"]),
        secrets=secrets,
    )
    if request["time_left_s"] is not None:
        attempt.ends_at_s = monotonic_s() + request["time_left_s"]
    value, error = None, None
    try:
        value = Context().run(
            tracing.call_within, request["trace"], bound.call, JobContext(attempt)
        )
    except BaseException as raised:  # noqa: BLE001 - whatever ended the handler is reported
        error = raised
    return _reply_of(event_of(attempt, value, error, now=now))


def _die_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)


def _leave_signals_to_parent() -> None:
    """Survive signals to the whole group: the parent decides when a handler has to end.

    They are not set to be ignored, which programs that a handler starts would inherit. The
    parent blocks them while this process starts.
    """
    for number in GROUP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)


def main(channel: int, lifeline: int) -> None:
    """Serve requests until the parent closes the channel."""
    _leave_signals_to_parent()
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    connection = Connection(channel)
    while True:
        try:
            request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        secrets = SecretsOfParent(connection)
        reply = json.dumps(_run(request, secrets)).encode()
        secrets.end()
        connection.send_bytes(reply)
