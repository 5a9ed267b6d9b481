"""When an upstream held a job, as its history tells it."""

import pytest

from holdfast import Breaker, Holdfast, JobFilter, JobState, Pipeline, Upstream
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.engine.jobs.holding import Span, shut_spans
from holdfast.store.tables.audit import AuditEntry
from holdfast.testing import ManualClock, drain


def moves(*actions: tuple[int, str]) -> list[AuditEntry]:
    found = [
        AuditEntry(Instant(at), "holdfast", action, "upstream", "gateway", None, None, number)
        for number, (at, action) in enumerate(actions)
    ]
    return found[::-1]


@pytest.mark.parametrize(
    ("actions", "spans"),
    [
        ([], []),
        ([(5, "opened")], [Span(5, FAR_FUTURE)]),
        ([(5, "opened"), (7, "half-opened"), (9, "closed")], [Span(5, 9)]),
        ([(5, "opened"), (7, "half-opened"), (8, "opened"), (9, "closed")], [Span(5, 9)]),
        ([(5, "forced open"), (6, "probed"), (9, "reset")], [Span(5, 9)]),
        ([(9, "closed"), (12, "opened")], [Span(0, 9), Span(12, FAR_FUTURE)]),
        ([(3, "probed"), (9, "reset")], []),
        ([(5, "opened"), (6, "closed"), (7, "reset")], [Span(5, 6)]),
    ],
)
def test_when_a_breaker_was_shut_follows_from_its_moves(actions, spans):
    assert shut_spans(moves(*actions)) == spans


class Place:
    def __init__(self, url: str, mode: str = "hold") -> None:
        self.clock = ManualClock()
        made = Pipeline("p")

        @made.stage
        def fetch(job) -> int:
            return 1

        @made.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3, mode=mode)))
        def convert(job) -> int:
            return 2

        self.app = Holdfast(url, pipelines=[made], clock=self.clock)

    def told(self, job_id: str) -> list[tuple[str, str]]:
        return [(line.event, line.stage) for line in self.app.history(job_id)]


@pytest.fixture
def place(database_url: str):
    made = Place(database_url)
    yield made
    made.app.close()


def test_when_it_was_held_and_when_it_went_on_are_lines_of_its_history(place: Place):
    made = Pipeline("q")
    made.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3)))(nothing)
    place.app.add(made)
    job = place.app.submit("q")
    place.clock.advance(2)
    place.app.upstreams.force_open("gateway", by="ada", reason="maintenance")
    opened_at = place.clock.now()
    place.clock.advance(30)

    held = place.app.history(job.id)[-1]
    assert (held.event, held.at, held.meta["upstream"]) == ("held", opened_at, "gateway")
    assert job.get().label == "due"
    assert place.app.labelled([job.get()])[0].label == "held"

    place.app.upstreams.reset("gateway", by="ada")
    closed_at = place.clock.now()
    place.clock.advance(1)
    drain(place.app)

    lines = place.app.history(job.id)
    assert [line.event for line in lines] == [
        "queued",
        "held",
        "released",
        "processing",
        "completed",
    ]
    assert lines[2].at == closed_at


def test_a_job_that_came_while_the_breaker_was_open_is_held_from_the_start(place: Place):
    made = Pipeline("q")
    made.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3)))(nothing)
    place.app.add(made)
    place.app.upstreams.force_open("gateway", by="ada")
    place.clock.advance(5)
    job = place.app.submit("q", delay=10)
    place.clock.advance(4)
    assert [line.event for line in place.app.history(job.id)] == ["queued"]

    place.clock.advance(20)
    line = place.app.history(job.id)[-1]
    assert (line.event, line.at) == ("held", job.get().job.run_at)

    place.app.cancel(job.id, by="ada")
    assert [line.event for line in place.app.history(job.id)] == ["queued", "held", "cancelled"]


def test_a_stage_that_callsnothing_is_never_held(place: Place):
    place.app.upstreams.force_open("gateway", by="ada")
    place.clock.advance(1)
    job = place.app.submit("p")
    place.clock.advance(1)

    assert [event for event, _ in place.told(job.id)] == ["queued"]


def test_where_jobs_fail_fast_none_is_held(database_url: str):
    place = Place(database_url, mode="fail_fast")
    made = Pipeline("q")
    made.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3, mode="fail_fast")))(nothing)
    place.app.add(made)
    place.app.upstreams.force_open("gateway", by="ada")
    place.clock.advance(1)
    job = place.app.submit("q")
    place.clock.advance(1)

    assert [line.event for line in place.app.history(job.id)] == ["queued"]
    place.app.close()


def nothing(job) -> None: ...


def test_lists_can_be_asked_for_held_jobs_alone(place: Place):
    for name in ("q", "r"):
        made = Pipeline(name)
        made.stage(calls=Upstream("gateway", breaker=Breaker(consecutive=3)))(nothing)
        place.app.add(made)
    held = [place.app.submit(name, owner="ann").id for name in "qrqrq"]
    place.app.submit("p")
    place.app.submit("q", delay=60)
    assert place.app.held_jobs() == []
    place.app.upstreams.force_open("gateway", by="ada")

    first = place.app.held_jobs(limit=2)
    rest = place.app.held_jobs(before=first[-1].id)

    assert [view.id for view in [*first, *rest]] == sorted(held, reverse=True)
    assert {view.label for view in first} == {"held"}
    assert {view.job.pipeline for view in place.app.held_jobs(JobFilter(pipeline="r"))} == {"r"}
    assert len(place.app.held_jobs(JobFilter(owner="ann"))) == 5
    assert place.app.held_jobs(JobFilter(owner="ben")) == []
    assert place.app.held_jobs(JobFilter(states=(JobState.FAILED,))) == []
