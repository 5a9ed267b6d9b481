"""One job: how it stands, what happened to it, and what it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from starlette.responses import Response

from holdfast.api.problems import Problem
from holdfast.console import words
from holdfast.console.rendering.filters import short_id, shown, whole
from holdfast.console.rendering.rendering import ACT, LOOK, Console
from holdfast.console.requests.ask import REASON, Ask, Done, Field
from holdfast.console.requests.visit import Visit
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.plan import Plan
from holdfast.engine.app import Holdfast
from holdfast.errors import UnknownLetter
from holdfast.secrecy import kept_value, private_value
from holdfast.views.disclosure import PublicError
from holdfast.views.durations import span
from holdfast.views.explain.job import situation
from holdfast.views.explain.sentence import facts
from holdfast.views.job import HistoryLine, JobView

_FACTS: Final = ("category", "http_status", "exception_type", "retryable")
_MAX_LINES: Final = 200


class Stage(NamedTuple):
    """A stage of a job's plan, and how far the job is with it."""

    name: str
    says: str
    tone: str


class Line(NamedTuple):
    """One thing that happened, for the timeline."""

    at: int
    event: str
    word: str
    stage: str
    attempt: int
    error: str
    detail: str
    message: str


def add_to(console: Console) -> None:
    """Route to the page of a job, its documents and its actions."""
    console.action("/jobs/{job_id}/retry", ACT, JobAction(console, "retry"))
    console.action("/jobs/{job_id}/cancel", ACT, JobAction(console, "cancel"))
    console.page("/jobs/{job_id}/payload.json", LOOK, lambda visit: payload(console, visit))
    console.page("/jobs/{job_id}/result.json", LOOK, lambda visit: result(console, visit))
    console.page("/jobs/{job_id}", LOOK, lambda visit: job_page(console, visit))


def job_page(console: Console, visit: Visit) -> Response:
    """Return all that is known of a job."""
    engine, disclosed = console.engine, console.shown_to(visit)
    (found,) = engine.labelled([engine.job(visit.part("job_id"), owner=visit.owner)])
    view = disclosed.job(found)
    job = view.job
    history = disclosed.history(engine.history(job.id, owner=visit.owner))
    plan = engine.store.load_plan(job.pipeline, job.plan)
    waiting = disclosed.waiting(engine.waiting(view, history=history))
    stage = None if plan is None else plan.stage(job.stage)
    results = engine.results(job.id, owner=visit.owner)
    keeps = plan is not None and plan.keeps_personal_data
    names = () if plan is None else plan.secret_names
    hide = kept_value if keeps else private_value
    return console.render(
        visit,
        "job.html",
        screen="jobs",
        view=view,
        job=job,
        upstream=None if stage is None else stage.upstream,
        situation=facts(situation(view, history=history, plan=plan, waiting=waiting)),
        stages=_stages(job, plan, results),
        history=[_line(line, hide) for line in history[-_MAX_LINES:]],
        attempts=disclosed.attempts(engine.attempts(job.id, owner=visit.owner))[-_MAX_LINES:],
        error=_error(view, disclosed.public_error(found), hide),
        keeps=keeps,
        payload=shown(view.payload, keeps=keeps, without=names),
        results=[
            (name, shown(value, keeps=keeps, without=names)) for name, value in results.items()
        ],
        late_result=(
            None
            if view.late_result is None
            else shown(view.late_result, keeps=keeps, without=names)
        ),
        deliveries=[
            disclosed.delivery(each) for each in engine.deliveries.of_job(job.id, owner=visit.owner)
        ],
        letter=_has_letter(console, visit, job),
        retry_obstacle=_retry_obstacle(console, visit, view),
        trace=console.traces.of(job.trace),
    )


def payload(console: Console, visit: Visit) -> Response:
    """Return the payload as a file."""
    view = console.engine.job(visit.part("job_id"), owner=visit.owner)
    return _download(_whole(console.engine, view, view.payload), f"{view.id}-payload.json")


def result(console: Console, visit: Visit) -> Response:
    """Return the result of a complete job as a file."""
    view = console.engine.job(visit.part("job_id"), owner=visit.owner)
    if view.state is not JobState.COMPLETE:
        raise Problem("not_found", "only a complete job has a result; look at the job")
    return _download(_whole(console.engine, view, view.result), f"{view.id}-result.json")


def _whole(engine: Holdfast, view: JobView, value: Any) -> str:  # noqa: ANN401 - JSON of any shape
    """Return a document of a job as its pipeline lets people see it."""
    keeps = engine.keeps_personal_data(view.job)
    return whole(value, keeps=keeps, without=engine.secret_names(view.job))


class JobAction(NamedTuple):
    """Retry or cancel one job."""

    console: Console
    word: Literal["retry", "cancel"]

    def ask(self, visit: Visit) -> Ask:
        """Ask about the job as it stands."""
        view = self.console.engine.job(visit.part("job_id"), owner=visit.owner)
        retry = self.word == "retry"
        job = view.job
        obstacle = _retry_obstacle(self.console, visit, view) if retry else ""
        state = job.state.value
        return Ask(
            title=f"{self.word.capitalize()} job {short_id(view.id)}?",
            sentences=[
                f"It is {state} in stage {job.stage} of pipeline {job.pipeline}.",
                obstacle or "It goes on with the stage that failed, with a new budget of attempts."
                if retry
                else "It ends now. A handler that runs is stopped, and its result refused.",
            ],
            touches="This touches 1 job.",
            verb=f"{self.word.capitalize()} it",
            back=f"/jobs/{view.id}",
            fields=[REASON, *([_FROM_START] if retry else [])],
            dangerous=not retry,
            blocked=bool(obstacle),
        )

    def do(self, visit: Visit) -> Done:
        """Do it, unless the job's state no longer allows it."""
        job_id, reason, by = visit.part("job_id"), visit.reason(), visit.who.name
        engine = self.console.engine
        if self.word == "cancel":
            view = engine.cancel(job_id, by=by, reason=reason, owner=visit.owner)
            return Done(f"/jobs/{view.id}", "job-cancelled")
        view = engine.retry(
            job_id,
            by=by,
            reason=reason,
            from_start=visit.ticked("from_start"),
            owner=visit.owner,
            operator=True,
        )
        return Done(f"/jobs/{view.id}", "job-retried")


_FROM_START: Final = Field(
    name="from_start",
    label="From the start",
    kind="check",
    hint="Instead of from the stage that failed. What earlier stages did is done again.",
)


def _retry_obstacle(console: Console, visit: Visit, view: JobView) -> str:
    """Return why a failed job cannot be retried here, as a sentence; empty where it can."""
    found = console.engine.retry_obstacle(view, owner=visit.owner, operator=visit.operator)
    return "" if found is None else words.sentence(str(found))


def _download(text: str, name: str) -> Response:
    # Never shown by the browser itself: what a job holds may be anything.
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="application/json")


def _stages(job: Job, plan: Plan | None, results: dict[str, Any]) -> list[Stage]:
    if plan is None:
        return []
    stages = []
    for stage in plan.stages:
        calls = "" if stage.upstream is None else f", calls {stage.upstream}"
        allowed = stage.retry.attempts
        if stage.name in results:
            stages.append(Stage(stage.name, f"done{calls}", words.GOOD))
        elif stage.name == job.stage:
            attempts = _attempts(job, stage.retry.allowed_at(job.attempt))
            stages.append(Stage(stage.name, f"{attempts}{calls}", words.tone(job.state.value)))
        else:
            attempts = f"up to {words.plural(allowed, 'attempt')}"
            stages.append(Stage(stage.name, f"{attempts}{calls}", words.OVER))
    return stages


def _attempts(job: Job, allowed: int) -> str:
    """Return how far the stage has come where a job stands."""
    if job.attempt == 0:
        return f"up to {words.plural(allowed, 'attempt')}"
    if job.state is JobState.QUEUED:
        return f"{job.attempt} of {words.plural(allowed, 'attempt')} made"
    return f"attempt {job.attempt} of {allowed}"


def _line(line: HistoryLine, hide: Callable[[object], Any]) -> Line:
    meta = dict(hide(line.meta))
    error = str(meta.pop("error_code", "") or "")
    error_class = meta.pop("error_class", error)
    if error_class != error:
        error += f" ({error_class})"
    if status := meta.pop("gateway_http_status", None):
        error += f", HTTP {status}"
    line_for_users = meta.pop("error_message", None)
    message = str(meta.pop("message", None) or line_for_users or "")
    told = []
    if (took := meta.pop("duration_ms", None)) is not None:
        told.append(f"took {span(int(took * 1000))}")
    if (worker := meta.pop("worker", None)) is not None:
        told.append(f"on {worker}")
    if by := meta.pop("by", None):
        told.append(f"by {by}")
    if reason := meta.pop("reason", None):
        told.append(f"because: {reason}")
    meta.pop("state", None)
    told += [_fact(name, value) for name, value in meta.items() if value is not None]
    return Line(
        at=line.at,
        event=line.event,
        word=line.word or line.event,
        stage=line.stage,
        attempt=line.attempt,
        error=error,
        detail=", ".join(told),
        message=message,
    )


def _fact(name: str, value: object) -> str:
    if name.endswith("_us") and isinstance(value, int):
        return f"{words.spoken(name[:-3])} {span(value)}"
    return f"{words.spoken(name)} {value}"


def _error(
    view: JobView, public: PublicError | None, hide: Callable[[object], Any]
) -> dict[str, Any] | None:
    if view.error is None or public is None:
        return None
    error = dict(hide(view.error))
    error_class = str(error.get("error_class", "UNKNOWN"))
    facts = [(name, _said(error[name])) for name in _FACTS if error.get(name) is not None]
    if error_class != public.error_code:
        facts = [("error_class", error_class), ("users_read", public.error_message), *facts]
    return {
        "error_code": public.error_code,
        "message": str(error.get("message", "")),
        "stack": str(error.get("stack") or ""),
        "answer": str(error.get("answer") or ""),
        "facts": facts,
    }


def _said(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _has_letter(console: Console, visit: Visit, job: Job) -> bool:
    if job.state is not JobState.FAILED and not job.retries:
        return False
    try:
        console.engine.dead.get(job.id, owner=visit.owner)
    except UnknownLetter:
        return False
    return True
