"""Workers, the leases they hold, and having one end."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from holdfast.console import words
from holdfast.console.rendering.rendering import ACT_ON_ALL, LOOK_AT_ALL, Console
from holdfast.console.requests.ask import Ask, Done
from holdfast.console.requests.visit import Visit
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant
from holdfast.errors import UnknownWorker
from holdfast.store.contract import JobFilter, Leases, WorkerRow
from holdfast.views.worker import queues_of, standing

MAX_LEASES: Final = 200
_TONES: Final = {"running": words.GOOD, "stopped": words.OVER}
_PROCESSING: Final = JobFilter(states=(JobState.PROCESSING,))


class WorkerLine(NamedTuple):
    """A worker as a row shows it."""

    row: WorkerRow
    standing: str
    tone: str
    queues: list[str]
    leases: int
    ended: int
    """Leases that have ended: the worker runs these jobs no more."""
    can_drain: bool


def add_to(console: Console) -> None:
    """Route to the page and to draining."""
    console.page("/workers", LOOK_AT_ALL, lambda visit: workers(console, visit))
    console.action("/workers/{worker_id}/drain", ACT_ON_ALL, Drain(console))


def workers(console: Console, visit: Visit) -> Response:
    """Return the workers on record, and what is leased."""
    engine = console.engine
    now = engine.clock.now()
    held = engine.store.leased(now=now)
    return console.render(
        visit,
        "workers.html",
        screen="workers",
        workers=[_line(row, held.get(row.id, Leases(0)), now) for row in engine.workers()],
        leases=engine.jobs(_PROCESSING, limit=MAX_LEASES),
    )


class Drain(NamedTuple):
    """Have a worker finish what it runs, and end."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of jobs that it runs."""
        engine, worker_id = self.console.engine, visit.part("worker_id")
        row = next((each for each in engine.workers() if each.id == worker_id), None)
        if row is None:
            raise UnknownWorker(worker_id)
        running = engine.store.leased(now=engine.clock.now()).get(worker_id, Leases(0)).held
        return Ask(
            title=f"Drain worker {worker_id}?",
            sentences=[
                "It takes no more jobs, finishes those it runs, and ends.",
                "What is not finished in time goes back to the queue, and costs no attempt.",
            ],
            touches=f"This touches 1 worker, which runs {words.plural(running, 'job')}.",
            notes=["Whoever started it may start it again."],
            verb="Drain it",
            back="/workers",
            dangerous=True,
        )

    def do(self, visit: Visit) -> Done:
        """Tell the worker; it hears of it when it next reports itself."""
        self.console.engine.drain_worker(
            visit.part("worker_id"), by=visit.who.name, reason=visit.reason()
        )
        return Done("/workers", "draining")


def _line(row: WorkerRow, leases: Leases, now: Instant) -> WorkerLine:
    told = row.drain_asked_at is not None
    stands = standing(row, now)
    if told and stands == "running":
        stands = "draining"
    return WorkerLine(
        row,
        stands,
        _TONES.get(stands, words.tone(stands)),
        queues_of(row),
        *leases,
        can_drain=stands == "running",
    )
