"""`collabiq run`: poll the mailbox and process what came, once or forever."""

from __future__ import annotations

import getpass
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click

from collabiq.cli.opening import Opened, opened
from collabiq.cli.output import (
    CommandFailed,
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    remark,
    reports_errors,
)
from collabiq.cli.together import Together
from collabiq.records.circuit_breaker import CircuitState
from collabiq.rows import count_by_status
from holdfast import JobState
from holdfast.config.logs import configure
from holdfast.variables import invalid

MAX_WAIT_S: Final = 3_600
_UNDER_WAY: Final = ("pending", "processing")
_POLL_ENDED: Final = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})
_STEADY_S: Final = 0.5
"""For which nothing must be under way: a mail that was noticed has a job a moment later."""


@click.command()
@click.option("--daemon", is_flag=True, help="Go on until stopped.")
@click.option(
    "--interval",
    "interval_s",
    type=click.IntRange(1, 86_400),
    metavar="SECONDS",
    help="How often a daemon polls. [default: POLL_INTERVAL_MS, 15 seconds]",
)
@click.option(
    "--max-wait",
    "max_wait_s",
    type=click.IntRange(1),
    default=MAX_WAIT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to go on at most, without --daemon.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="[default: info with --daemon, else error]",
)
@json_option
@reports_errors
def run(
    *,
    daemon: bool,
    interval_s: int | None,
    max_wait_s: int,
    log_level: str | None,
    as_json: bool,
) -> None:
    """Poll the mailbox, and work off everything that came: once, or with --daemon forever.

    What a daemon does, `holdfast up --systems collabiq` does as well, with the HTTP API and the
    pages; both may run on one database, and no mail is taken twice. Without --daemon it ends when
    nothing is left to do: with 1 where mails failed (collabiq errors list), and with 3 where a
    service is away, so that mails were left at Gmail for later.

    Example: collabiq run

    Or: collabiq run --daemon --interval 15
    """
    level = log_level or ("info" if daemon else "error")
    configure(level=level, log_format="auto", stream=sys.stderr)
    environment = dict(os.environ)
    if interval_s is not None:
        environment["COLLABIQ_POLL_INTERVAL_MS"] = str(interval_s * 1_000)
    with opened(environment) as system:
        if system.config.email_address is None:
            raise invalid("EMAIL_ADDRESS", "", "the mailbox to watch")
        system.require_secrets()
        if daemon:
            sys.exit(_run_on(system, as_json=as_json))
        done = _run_once(system, max_wait_s)
    _report(done, as_json=as_json)


def _run_on(system: Opened, *, as_json: bool) -> int:
    with system.working(takes_mail=True) as together:
        interval = f"{system.config.poll_interval_s:g} seconds"
        if as_json:
            document(
                {"mailbox": system.config.mailbox, "interval_s": system.config.poll_interval_s}
            )
        remark(f"watching {system.config.mailbox} every {interval}; Ctrl-C ends it")
        return together.wait()


def _run_once(system: Opened, max_wait_s: float) -> dict[str, Any]:
    before = _counts(system)
    poll_id = system.collabiq.inbox.fetch(by=getpass.getuser())["poll_id"]
    with system.working(takes_mail=True) as together:
        finished = system.wait_for(_worked_off(system, together, poll_id), within_s=max_wait_s)
    after = _counts(system)
    poll = system.collabiq.inbox.last_poll() or {}
    left = sum(after[status] for status in _UNDER_WAY)
    return {
        "poll": {name: poll.get(name) for name in ("poll_id", "state", "kind", "error")},
        "new": system.new_of_poll(poll_id),
        "ended": {
            status: max(after[status] - before[status], 0)
            for status in after
            if status not in _UNDER_WAY
        },
        "left": left,
        "away": _away(system),
        "credentials_refused": bool(poll.get("credentials_refused")),
        "timed_out": not finished,
    }


def _worked_off(system: Opened, together: Together, poll_id: str) -> Callable[[], bool]:
    """Return a function that returns whether all work is done, or none can be done now."""
    quiet_since_s: list[float] = []

    def done() -> bool:
        if together.has_failed:
            raise CommandFailed(ExitCode.ERROR, "a service has failed; see the log")
        if system.engine.job(poll_id).state not in _POLL_ENDED:
            quiet_since_s.clear()
            return False
        counts = _counts(system)
        idle = counts["processing"] == 0 and (counts["pending"] == 0 or bool(_away(system)))
        if not idle:
            quiet_since_s.clear()
            return False
        if not quiet_since_s:
            quiet_since_s.append(time.monotonic())
        return time.monotonic() - quiet_since_s[0] >= _STEADY_S

    return done


def _counts(system: Opened) -> dict[str, int]:
    with system.engine.transaction() as tx:
        return count_by_status(tx)


def _away(system: Opened) -> list[str]:
    """Return the services that are left alone at present."""
    return [
        service
        for service in ("gmail", "gemini", "notion")
        if system.collabiq.circuits.state_of(service).state is not CircuitState.CLOSED
    ]


def _report(done: dict[str, Any], *, as_json: bool) -> None:
    ended = done["ended"]
    if as_json:
        document(done)
    else:
        said = ", ".join(f"{count} {status}" for status, count in ended.items() if count)
        line(f"{done['new']} new; {said or 'nothing to do'}")
    if done["credentials_refused"]:
        exit_with(
            ExitCode.CONFIGURATION, "Google refuses the credentials; run collabiq gmail login"
        )
    if done["poll"]["state"] != JobState.COMPLETE.value:
        exit_with(ExitCode.API, f"the mailbox could not be polled: {_why(done['poll'])}")
    if done["left"]:
        why = f"{', '.join(done['away'])} is away" if done["away"] else "the time is over"
        exit_with(ExitCode.API, f"{done['left']} mails are left for later: {why}")
    if ended["failed"]:
        exit_with(ExitCode.ERROR, "some mails failed; collabiq errors list has them")


def _why(poll: dict[str, Any]) -> str:
    error = poll.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or poll.get("state"))
