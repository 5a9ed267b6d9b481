"""What a message to the fleet looks like: a task of Celery's that names jobs, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.runtime.dispatcher.dispatcher import MAX_JOBS, DueMessage

TASK: Final = "holdfast.run"
VERSION: Final = 1
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FIELDS: Final = ("queue", "pipeline", "stage")


class PoisonMessage(Exception):
    """A message that no worker can make anything of, however often it is delivered."""


def broker_queue(exchange: str, queue: str) -> str:
    """Return the broker's queue for the workers of a queue of jobs."""
    return f"{exchange}.{queue}"


def headers_of(message_id: str) -> dict[str, Any]:
    """Return the headers by which Celery, by its protocol 2, knows a task."""
    return {
        "lang": "py",
        "task": TASK,
        "id": message_id,
        "root_id": message_id,
        "parent_id": None,
        "group": None,
        "retries": 0,
        "eta": None,
        "expires": None,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{…}",
        "origin": "holdfast",
    }


def body_of(message: DueMessage) -> str:
    """Return the body of a message."""
    due = {"version": VERSION, **message.route._asdict(), "jobs": message.job_ids}
    embedded = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    return json.dumps([[], {"due": due}, embedded], separators=(",", ":"))


def due_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> DueMessage:
    """Return what a message says, or raise `PoisonMessage`."""
    due = kwargs.get("due")
    if args or set(kwargs) != {"due"} or not isinstance(due, dict):
        raise PoisonMessage("it does not say which jobs are due")
    version = due.get("version")
    if version != VERSION:
        raise PoisonMessage(f"its version is {str(version)[:20]!r}, and {VERSION} is known here")
    route = [due.get(field) for field in _FIELDS]
    jobs = due.get("jobs")
    if not all(isinstance(name, str) for name in route) or not isinstance(jobs, list):
        raise PoisonMessage("it names no route, or no jobs")
    if not 0 < len(jobs) <= MAX_JOBS or not all(_is_id(job) for job in jobs):
        raise PoisonMessage("what it names are no jobs")
    return DueMessage(Route(*map(str, route)), tuple(map(JobId, jobs)))


def _is_id(text: object) -> bool:
    return isinstance(text, str) and _ID.fullmatch(text) is not None
