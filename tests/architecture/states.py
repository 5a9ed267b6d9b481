"""Writes docs/reference/states.md from the code: `python -m tests.architecture.states`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import JobState
from holdfast.core.job.lifecycle import ACCEPTS, decide
from tests.core.job.lifecycle_table import EVENTS, NOW, PLAN, SITUATIONS, Situation, a_job

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "states.md"

MEANINGS = {
    JobState.QUEUED: "due now or later; no worker has it",
    JobState.PROCESSING: "a worker runs its stage under a lease",
    JobState.WAITING: "its stage is done when somebody answers",
    JobState.COMPLETE: "the last stage returned; the result is kept",
    JobState.FAILED: (
        "no attempt is left, none can succeed, the time is up, or it was refused; the error is kept"
    ),
    JobState.CANCELLED: "somebody ended it",
}
EVENT_MEANINGS = {
    "Done": "the stage returned",
    "Failed": "the attempt failed, or what it waits for will not come",
    "Exhausted": "the sends of its deliveries are used up, or cannot be found out about",
    "LeaseExpired": "the worker stopped renewing its lease",
    "Snoozed": "the handler raised `RetryLater`",
    "Interrupted": "the attempt was broken off and handed back",
    "Held": "the attempt did not begin: its upstream lets nothing through",
    "Suspended": "the handler returned `Wait` or `Notify`",
    "Answered": "the answer to the stage arrived",
    "AnsweredFailure": "the answer is that what it waits for has failed",
    "ProgressNoted": "the answer is that what it waits for is under way",
    "WaitExpired": "nobody answered in time",
    "CancelRequested": "somebody asked that the job end",
    "DeadlinePassed": "the job's time is up",
    "Refused": "the job is turned away as it comes",
    "RetryRequested": "somebody sends the job back",
    "ResultRemoved": "what the job made is not kept any more",
}

HEAD = """\
# States and events

<!-- Written by `python -m tests.architecture.states`; a test fails when it is out of date. -->

A job is in one of six states.

"""
AFTER_STATES = """
A lease exists only while `processing`, a result only when `complete`, an error only when `failed`.
`complete` and `cancelled` never change, whatever their history still notes. \
`failed` changes only when somebody sends the job back; \
a result that comes after the deadline is kept as a late result beside it.

What time makes of a job is a label, worked out when it is read and never stored: a queued job \
is `due`, `scheduled` (its time is to come) or `retrying` (to come, after a failed attempt), and a \
job that has not ended is `overdue` after its deadline.

"""
BEFORE_EVENTS = """
## What follows from an event

One function decides all of it, `decide` in `core/job/lifecycle.py`; the words in the last column \
are those of the [history](history.md). An event that a state does not list changes nothing there.

"""


class Move(NamedTuple):
    before: JobState
    event: str
    kind: Kind
    after: JobState


def moves() -> Iterator[Move]:
    """Yield every move that `decide` makes in any of the situations that the table test knows."""
    for changes, events in (Situation({}, {}), *SITUATIONS.values()):
        for state in JobState:
            for name, event in {**EVENTS, **events}.items():
                decision = decide(a_job(state, **changes), event, PLAN, NOW, 0.5)
                if isinstance(decision, Decision):
                    yield Move(state, name, decision.entry.kind, decision.change.state)


def rendered() -> str:
    """Return the page as the code has it now."""
    found = sorted(set(moves()), key=_order)
    states = "\n".join(f"| `{state}` | {MEANINGS[state]} |" for state in JobState)
    lines = [f"| state | |\n| --- | --- |\n{states}\n"]
    return "".join([HEAD, *lines, AFTER_STATES, _diagram(found), BEFORE_EVENTS, _table(found)])


def _order(move: Move) -> tuple[int, ...]:
    states, events, kinds = list(JobState), list(EVENTS), list(Kind)
    return (
        states.index(move.before),
        events.index(move.event),
        kinds.index(move.kind),
        states.index(move.after),
    )


def _diagram(found: list[Move]) -> str:
    edges: dict[tuple[JobState, JobState], list[str]] = {
        (JobState.QUEUED, JobState.PROCESSING): ["claimed"]
    }
    for move in found:
        if move.kind in {Kind.LATE, Kind.RESULT_REMOVED}:
            continue
        words = edges.setdefault((move.before, move.after), [])
        if move.kind.value not in words:
            words.append(move.kind.value)
    lines = ["stateDiagram-v2", "    [*] --> queued: submitted"]
    lines += [
        f"    {before} --> {after}: {', '.join(words)}" for (before, after), words in edges.items()
    ]
    ended = [state for state in JobState if not any(before is state for before, _ in edges)]
    lines += [f"    {state} --> [*]" for state in ended]
    body = "\n".join(lines)
    return f"```mermaid\n{body}\n```\n"


def _table(found: list[Move]) -> str:
    lines = ["| state | event | what it means | what follows |", "| --- | --- | --- | --- |"]
    for state in JobState:
        for name in EVENTS:
            outcomes = [move for move in found if move[:2] == (state, name)]
            accepted = type(EVENTS[name]) in ACCEPTS[state]
            if accepted != bool(outcomes):
                raise AssertionError(f"{state} and {name}: accepted, but nothing follows")
            if outcomes:
                follows = ", ".join(f"{move.kind} → `{move.after}`" for move in outcomes)
                lines.append(f"| `{state}` | {name} | {EVENT_MEANINGS[name]} | {follows} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(rendered(), "utf-8")
