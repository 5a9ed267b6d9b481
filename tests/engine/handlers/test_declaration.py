"""What may be declared as a stage, and what is refused."""

import functools

import pytest

from holdfast import Pipeline, UsageError
from holdfast.errors import InvalidPolicy, InvalidValue


@pytest.mark.parametrize(
    ("handler", "complaint"),
    [
        (lambda: None, "first parameter"),
        (lambda job, *args: None, r"\*args"),
        (lambda job, **kwargs: None, r"\*\*kwargs"),
        (lambda job, name, /: None, "must allow its name"),
    ],
)
def test_a_signature_that_cannot_be_filled_is_refused(pipeline, handler, complaint):
    with pytest.raises(UsageError, match=complaint):
        pipeline.stage(name="one")(handler)


def test_an_annotation_that_cannot_be_checked_is_refused(pipeline):
    class Opaque: ...

    def takes(job, thing: Opaque): ...

    def returns(job) -> Opaque: ...

    def unknown(job, thing: "NoSuchType"): ...  # noqa: F821 - that is the point

    for handler in (takes, returns):
        with pytest.raises(UsageError, match="Opaque"):
            pipeline.stage(handler)
    with pytest.raises(UsageError, match="NoSuchType"):
        pipeline.stage(unknown)


def test_a_handler_that_yields_is_refused(pipeline):
    def generator(job):
        yield 1

    async def stream(job):
        yield 1

    for handler in (generator, stream):
        with pytest.raises(UsageError, match="yields"):
            pipeline.stage(handler)


@pytest.mark.parametrize("name", ["", "a b", "1st", "x" * 65, "é", 7])
def test_names_follow_one_rule(pipeline, name):
    with pytest.raises(InvalidValue, match="name"):
        Pipeline(name)
    with pytest.raises(InvalidValue, match="name"):
        Pipeline("p", queue=name)
    if name:
        with pytest.raises(InvalidValue, match="name"):
            pipeline.stage(name=name)(lambda job: None)


def test_a_handler_without_a_name_needs_one(pipeline):
    with pytest.raises(InvalidValue, match="name"):
        pipeline.stage(lambda job: None)
    with pytest.raises(InvalidValue, match="name"):
        pipeline.stage(functools.partial(lambda job: None))


def test_two_stages_of_one_name_are_refused(pipeline):
    pipeline.stage(name="one")(lambda job: None)

    with pytest.raises(UsageError, match="already has a stage 'one'"):
        pipeline.stage(name="one")(lambda job: None)


def test_a_pipeline_in_use_takes_no_more_stages(pipeline):
    pipeline.stage(name="one")(lambda job: None)
    pipeline.bound()

    with pytest.raises(UsageError, match="in use"):
        pipeline.stage(name="two")(lambda job: None)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": "1"}, "timeout"),
        ({"max_snoozes": -1}, "max_snoozes"),
        ({"max_snoozes": 1.5}, "max_snoozes"),
        ({"max_snoozes": True}, "max_snoozes"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(pipeline, options, field):
    with pytest.raises(InvalidPolicy, match=field):
        pipeline.stage(name="one", **options)(lambda job: None)


def test_a_place_to_run_that_does_not_exist_is_refused(pipeline):
    with pytest.raises(InvalidValue, match="runs"):
        pipeline.stage(name="one", runs="gpu")(lambda job: None)


def test_what_runs_in_a_process_must_be_found_there(pipeline):
    async def coroutine(job): ...

    with pytest.raises(UsageError, match="top level"):
        pipeline.stage(name="one", runs="process")(lambda job: None)
    with pytest.raises(UsageError, match="plain function"):
        pipeline.stage(name="one", runs="process")(coroutine)


def test_a_declared_function_stays_what_it_was(pipeline):
    @pipeline.stage
    def handler(job, n: int = 2):
        return n

    assert handler(None, n=5) == 5
    assert repr(pipeline) == "Pipeline('p', stages=['handler'])"
