"""The pipelines `grade`, for essays, and `grade-speaking`: their stages, and on which terms.

Two, so that an essay never waits for the breaker of a recogniser that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from grading.config import GradingConfig
from grading.failures import GradingFailure
from grading.grader.decisions import Decisions
from grading.grader.stages import ASSESS, Stages
from grading.grader.tools import Tools
from grading.llm.config import MAX_RUNS
from grading.messages.contract import SECRET_NAMES
from grading.states import Skill
from holdfast import Holdfast, JobContext, Pipeline, Upstream
from holdfast.classify import Rule, Verdict, classify

WRITING: Final = "grade"
SPEAKING: Final = "grade-speaking"
QUEUE: Final = "grading"
LLM: Final = "grading-llm"
"""Not plain `llm`: upstreams of all systems of a database share their breakers by name."""
STT: Final = "grading-stt"
MARGIN_S: Final = 15.0
"""How much longer a stage may take than the calls it makes."""
_CALLS: Final = 3


def _verdict(failure: Any, _now: Any) -> Verdict:  # noqa: ANN401 - as rules are called
    return Verdict(failure.reason.value, retryable=False, blames_upstream=False)


FAILURE_RULES: Final = (Rule(GradingFailure, _verdict),)


def _discreet(error: BaseException, now: Any) -> Verdict:  # noqa: ANN401 - as rules are called
    """Return what an exception means anyway, without its words: they may hold some of an answer."""
    failure = classify(error, now=now)
    words = getattr(error, "strerror", None)
    name = type(error).__name__
    return Verdict(
        failure.error_class,
        retryable=failure.retryable,
        category=failure.category,
        severity=failure.severity,
        outcome_known=failure.outcome_known,
        message=f"{name}: {words}" if isinstance(words, str) else name,
        retry_after_us=failure.retry_after_us,
        blames_upstream=failure.blames_upstream,
    )


OTHER_RULES: Final = (Rule(Exception, _discreet),)
"""They come last: failures that are not foreseen are logged and stored as well."""


class Grading(NamedTuple):
    """The pipelines of a grader by skill, and what their stages do."""

    pipelines: dict[Skill, Pipeline]
    stages: Stages


def grading_pipelines(app: Callable[[], Holdfast], tools: Tools, config: GradingConfig) -> Grading:
    """Return the pipelines; `app` is called when a stage runs."""
    stages = Stages(app, tools)
    decisions = Decisions(app, cooldown_s=config.breaker.cooldown, redact_dlq=config.redacts_dlq)
    llm = Upstream(
        LLM,
        timeout=_CALLS * tools.text.timeout_s + MARGIN_S,
        retry=config.retry,
        rules=(*FAILURE_RULES, *tools.text.rules, *OTHER_RULES),
        breaker=config.breaker,
    )
    writing = _pipeline(WRITING, config, decisions)
    _add_assessments(writing, stages, llm, runs=tools.text.runs)
    _add_end(writing, stages)
    speaking = _pipeline(SPEAKING, config, decisions)
    _add_speech(speaking, stages, tools, config)
    _add_assessments(speaking, stages, llm, runs=tools.text.runs)
    _add_end(speaking, stages)
    return Grading({Skill.WRITING: writing, Skill.SPEAKING: speaking}, stages)


def _pipeline(name: str, config: GradingConfig, decisions: Decisions) -> Pipeline:
    return Pipeline(
        name,
        queue=QUEUE,
        retry=config.retry,
        submit_by="system",
        submit_at="/api/submissions",
        retry_by="operator",
        secret_names=SECRET_NAMES,
        on_decision=decisions,
    )


def _add_speech(pipeline: Pipeline, stages: Stages, tools: Tools, config: GradingConfig) -> None:
    speech = tools.speech
    timeout_s = 120.0 if speech is None else speech.timeout_s
    fetch_rules = () if speech is None else speech.fetch_rules
    stt = Upstream(
        STT,
        timeout=timeout_s + MARGIN_S,
        retry=config.retry,
        rules=(*FAILURE_RULES, *(() if speech is None else speech.rules), *OTHER_RULES),
        breaker=config.breaker,
    )
    decode_timeout_s = 240.0 if speech is None else speech.decode_timeout_s
    rules = (*fetch_rules, *FAILURE_RULES, *OTHER_RULES)
    pipeline.stage(name="decode", timeout=decode_timeout_s, rules=rules)(_stage(stages.decode))
    pipeline.stage(name="transcribe", calls=stt)(_stage(stages.transcribe))


def _add_assessments(pipeline: Pipeline, stages: Stages, llm: Upstream, *, runs: int) -> None:
    # Jobs of a time with more runs find their stages as well.
    for number in range(1, MAX_RUNS + 1):
        handler = partial(stages.assess, is_first=number == 1, is_last=number == runs)
        name = f"{ASSESS}{number}"
        pipeline.stage(name=name, calls=llm, retired=number > runs)(_stage(handler))


def _add_end(pipeline: Pipeline, stages: Stages) -> None:
    pipeline.stage(name="score", rules=(*FAILURE_RULES, *OTHER_RULES))(_stage(stages.score))


def _stage(work: Callable[[JobContext], dict[str, Any]]) -> Callable[[JobContext], dict[str, Any]]:
    """Return a plain function, whose parameters the engine reads."""

    def run(job: JobContext) -> dict[str, Any]:
        return work(job)

    return run
