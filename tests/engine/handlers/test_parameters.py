"""How a handler gets its parameters, and what its annotations promise."""

import dataclasses
import functools
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal, NoReturn
from uuid import UUID

import pydantic
import pytest
from typing_extensions import TypedDict

from holdfast import JobContext, JobState, Pipeline, Retry, Wait
from holdfast.core.values.document import Limits
from holdfast.errors import InvalidDocument
from holdfast.testing import run_inline
from tests.runtime.crew import Crew


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Order(pydantic.BaseModel):
    sku: str
    count: Annotated[int, pydantic.Field(ge=1)] = 1


class Person(TypedDict):
    name: str


def ran(open_app, pipeline, payload=None):
    app = open_app(pipeline)
    job = app.submit(pipeline, payload)
    run_inline(app)
    return job.get()


def test_parameters_are_fields_of_the_payload_by_name(open_app, pipeline):
    @pipeline.stage
    def handler(job, left, *, right=10):
        return [left, right]

    assert ran(open_app, pipeline, {"left": 1, "more": 2}).result == [1, 10]
    assert ran(open_app, pipeline, {"left": 1, "right": 2}).result == [1, 2]


def test_the_payload_itself_can_be_asked_for(open_app, pipeline):
    @pipeline.stage
    def handler(job, payload):
        return payload == job.payload == [1, 2]

    assert ran(open_app, pipeline, [1, 2]).result is True


def test_earlier_results_go_before_fields_of_that_name(open_app, pipeline):
    @pipeline.stage
    def first(job):
        return "from the stage"

    @pipeline.stage
    def second(job, first):
        return first

    assert ran(open_app, pipeline, {"first": "from the payload"}).result == "from the stage"


def test_a_handler_may_take_the_job_alone(open_app, pipeline):
    @pipeline.stage
    async def handler(job: JobContext):
        return [job.pipeline, job.stage, job.attempt, job.last_attempt, job.key, job.owner]

    assert ran(open_app, pipeline).result == ["p", "handler", 1, True, None, ""]


@pytest.mark.parametrize(
    ("annotation", "given", "outcome"),
    [
        (int, "7", (7, 7)),
        (float, 1, (1.0, 1.0)),
        (datetime, datetime(2026, 1, 2, tzinfo=UTC), (datetime, "2026-01-02T00:00:00Z")),
        (UUID, UUID(int=5), (UUID, str(UUID(int=5)))),
        (Colour, Colour.RED, (Colour.RED, "red")),
        (Point, Point(1, 2), (Point(1, 2), {"x": 1, "y": 2})),
        (Point, {"x": 1}, (Point(1, 0), {"x": 1, "y": 0})),
        (Order, {"sku": "a"}, (Order(sku="a"), {"sku": "a", "count": 1})),
        (Person, {"name": "ada"}, ({"name": "ada"}, {"name": "ada"})),
        (list[Point], [{"x": 1}], ([Point(1)], [{"x": 1, "y": 0}])),
        (set[int], {3}, ({3}, [3])),
        (tuple[int, str], (1, "a"), ((1, "a"), [1, "a"])),
        (bytes, b"abc", (b"abc", "abc")),
        (dict[int, str], {1: "a"}, ({1: "a"}, {"1": "a"})),
        (int | None, None, (None, None)),
        (Literal["a", "b"], "b", ("b", "b")),
        (Any, [1], ([1], [1])),
    ],
    ids=str,
)
def test_a_field_is_checked_stored_as_json_and_given_as_its_type(
    open_app, pipeline, annotation, given, outcome
):
    """What the handler receives (or its type), and what is stored."""
    received, stored = outcome
    seen = []

    def handler(job, value):
        seen.append(value)

    handler.__annotations__ = {"value": annotation}
    pipeline.stage(handler)
    view = ran(open_app, pipeline, {"value": given})

    assert view.state is JobState.COMPLETE
    assert view.payload == {"value": stored}
    if isinstance(received, type):
        assert isinstance(seen[0], received)
    else:
        assert seen == [received]


@pytest.mark.parametrize(
    ("annotation", "given", "place"),
    [
        (int, "seven", "/value"),
        (Order, {"sku": "a", "count": 0}, "/value/count"),
        (list[Point], [{"x": 1}, {"y": 1}], "/value/1/x"),
        (Literal["a"], "b", "/value"),
    ],
)
def test_a_field_of_another_type_is_refused_at_submission_by_its_place(
    open_app, pipeline, annotation, given, place
):
    def handler(job, value): ...

    handler.__annotations__ = {"value": annotation}
    pipeline.stage(handler)
    app = open_app(pipeline)

    with pytest.raises(InvalidDocument) as caught:
        app.submit(pipeline, {"value": given})
    assert caught.value.path == place
    assert app.jobs() == []


def test_what_is_refused_is_not_quoted(open_app, pipeline):
    @pipeline.stage
    def handler(job, pin: int): ...

    with pytest.raises(InvalidDocument) as caught:
        open_app(pipeline).submit(pipeline, {"pin": "my secret"})
    assert "my secret" not in str(caught.value)


def test_a_field_that_a_stage_needs_must_be_given(open_app, pipeline):
    @pipeline.stage
    def first(job): ...

    @pipeline.stage
    def second(job, name: str): ...

    app = open_app(pipeline)

    with pytest.raises(InvalidDocument, match="/name"):
        app.submit(pipeline, {})
    with pytest.raises(InvalidDocument, match="an object with name"):
        app.submit(pipeline, [1])


def test_a_payload_taken_whole_is_checked_at_submission(open_app, pipeline):
    @pipeline.stage
    def handler(job, payload: Order):
        return payload.count

    app = open_app(pipeline)

    with pytest.raises(InvalidDocument, match="/sku"):
        app.submit(pipeline, {"count": 2})
    job = app.submit(pipeline, Order(sku="a", count=3))
    other = app.submit(pipeline, {"sku": "b", "note": "for another stage"})
    run_inline(app)
    assert job.get().result == 3
    assert other.get().payload == {"sku": "b", "note": "for another stage"}


def test_the_type_of_the_payload_can_be_declared_for_the_pipeline(open_app):
    pipeline = Pipeline("p", payload=Order)

    @pipeline.stage
    def handler(job, sku: str):
        return [sku, job.payload["count"]]

    app = open_app(pipeline)
    job = app.submit(pipeline, Order(sku="a"))
    run_inline(app)

    assert job.get().result == ["a", 1]
    with pytest.raises(InvalidDocument, match="/count"):
        app.submit(pipeline, {"sku": "a", "count": "many"})


def test_limits_of_the_pipeline_hold_for_payloads_and_results(open_app):
    pipeline = Pipeline("p", limits=Limits(max_bytes=100), retry=Retry(attempts=1))

    @pipeline.stage
    def handler(job):
        return "x" * 200

    app = open_app(pipeline)

    with pytest.raises(InvalidDocument, match="100 bytes"):
        app.submit(pipeline, "x" * 200)
    job = app.submit(pipeline)
    run_inline(app)
    assert job.get().error["error_class"] == "RESULT_INVALID"


def test_a_result_is_stored_by_its_declared_type_and_given_to_the_next_stage(open_app, pipeline):
    @pipeline.stage
    def locate(job) -> Point:
        return Point(3)

    @pipeline.stage
    def read(job, locate: Point) -> int:
        return locate.x

    app = open_app(pipeline)
    job = app.submit(pipeline)
    run_inline(app)

    assert app.results(job.id) == {"locate": {"x": 3, "y": 0}, "read": 3}


def test_a_result_of_another_type_is_a_failure(open_app, pipeline):
    @pipeline.stage
    def locate(job) -> Point:
        return {"y": 1}

    view = ran(open_app, pipeline)
    assert view.error["error_class"] == "RESULT_INVALID"
    assert "/x" in view.error["message"]


def test_a_result_that_does_not_fit_the_next_stage_is_a_failure_there(open_app, pipeline):
    @pipeline.stage
    def first(job):
        return "text"

    @pipeline.stage
    def second(job, first: int): ...

    view = ran(open_app, pipeline)
    assert (view.job.stage, view.error["error_class"]) == ("second", "PAYLOAD_INVALID")


def test_annotations_that_need_no_storing_are_allowed(open_app, pipeline):
    @pipeline.stage
    def ask(job) -> Wait:
        return Wait()

    @pipeline.stage
    def fail(job) -> NoReturn:
        raise TimeoutError

    assert ran(open_app, pipeline).state is JobState.WAITING


def test_a_stage_the_jobs_own_plan_lacks_has_no_result(open_app):
    """The declaration has changed since the job was made: a stage now asks for a new one."""
    older = Pipeline("p")
    older.stage(name="last")(lambda job: None)
    app = open_app(older)
    job, other = app.submit(older), app.submit(older, {"lenient": True})
    newer = Pipeline("p", retry=Retry(attempts=1))
    newer.stage(name="added")(lambda job: "new")

    @newer.stage
    def last(job, added):
        return added

    newer_app = open_app(newer)
    Crew(newer_app, limit=1).work()

    assert job.get().error["error_class"] == "PAYLOAD_INVALID"
    assert "added" in job.get().error["message"]

    newest = Pipeline("p")
    newest.stage(name="added")(lambda job: "new")

    @newest.stage(name="last")
    def optional(job, added="nothing"):
        return added

    Crew(open_app(newest), limit=1).work()
    assert other.get().result == "nothing"


def test_partials_and_callable_objects_are_handlers(open_app, pipeline):
    def add(job, *, left: int, right: int):
        return left + right

    class Doubler:
        async def __call__(self, job, left: int) -> int:
            return left * 2

    pipeline.stage(name="add")(functools.partial(add, right=5))
    pipeline.stage(name="double")(Doubler())
    app = open_app(pipeline)
    job = app.submit(pipeline, {"left": "1"})
    run_inline(app)

    assert app.results(job.id) == {"add": 6, "double": 2}


def test_a_method_is_a_handler(open_app, pipeline):
    class Service:
        prefix = "hello "

        def greet(self, job, name: str) -> str:
            return self.prefix + name

    pipeline.stage(Service().greet)

    assert ran(open_app, pipeline, {"name": "ada"}).result == "hello ada"
