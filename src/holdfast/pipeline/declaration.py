"""The user's declaration: pipelines, their stages, and the upstreams they call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, TypeVar, overload

from holdfast.classify.public import PublicCodes
from holdfast.classify.table import Rule
from holdfast.core.job.access import Access, RetryBy, SubmitBy
from holdfast.core.job.job import DEFAULT_QUEUE
from holdfast.core.job.plan import MAX_SNOOZES, Plan, StagePlan
from holdfast.core.values.document import DEFAULT_LIMITS, Limits
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidPolicy, InvalidValue, UsageError
from holdfast.pipeline.handlers import (
    Calling,
    Parameter,
    PayloadCheck,
    caller_of,
    encoder_of,
    parameters_of,
)
from holdfast.pipeline.names import Span, checked_name, span_us
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.events.decided import OnDecision
from holdfast.runtime.events.presentation import EVENTS, WORDS, Presentation
from holdfast.runtime.kernel.stage import BoundPipeline, BoundStage, LaneKind, UpstreamTerms
from holdfast.runtime.lanes.child import STAGE_ATTRIBUTE

MAX_PLACE_LENGTH: Final = 200
SNOOZE_LIMIT: Final = 1_000_000
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Pipeline:
    """Stages in order, each retried on its own; declared once, at import time.

    `deadline` is the time a job may take from its submission to its end. `payload` is the type
    of the payload, checked at submission and again before a handler gets it. `public_codes` are
    what the users of the system read of failures; failures are then counted by them.
    `events` says what events are called in histories, streams and logs, by the engine's word for
    them. `document` returns fields for the documents of its jobs, from a `JobView` that holds no
    more than its reader may see. With `log_attempts` every attempt is logged at the level info.
    `retry_refusal` is asked with the payload before a failed job is sent back, and returns why that
    would be no use, or None. `retry_by` says who may send one back: its owner, operators alone, or
    only the workflow of dead letters, with a triage and evidence on record. With
    `submit_by="system"` jobs are made by the program's own code alone, and everything that serves
    all pipelines alike refuses them, naming `submit_at` as the place to go.
    The keys of its jobs outlive them, so that no job is made twice, unless `keep_keys` is False:
    then a key is free again once its job is removed. `remembers` names fields of the payload that
    are kept with a key.
    E-mail addresses, phones and one-time codes are hidden in its failures and dead letters, unless
    it `keeps_personal_data` because people need them there.
    `secret_names` are names in its payloads and results whose values are shown to nobody, such as
    what people wrote; the names of other pipelines are not hidden by them.
    `on_decision` is called with a `Decided` before a decision about one of its jobs is written, and
    returns messages that are published if and only if that is; it has to be quick.
    """

    def __init__(
        self,
        name: str,
        *,
        queue: str = DEFAULT_QUEUE,
        deadline: Span | None = None,
        retry: Retry | None = None,
        payload: Any = None,  # noqa: ANN401 - any type pydantic understands
        limits: Limits = DEFAULT_LIMITS,
        public_codes: PublicCodes | None = None,
        events: Mapping[str, str] | None = None,
        document: Callable[[Any], Mapping[str, Any]] | None = None,
        log_attempts: bool = False,
        retry_refusal: Callable[[Any], str | None] | None = None,
        retry_by: Literal["owner", "operator", "workflow"] = "owner",
        submit_by: Literal["anyone", "system"] = "anyone",
        submit_at: str | None = None,
        keep_keys: bool = True,
        remembers: Sequence[str] = (),
        keeps_personal_data: bool = False,
        secret_names: Sequence[str] = (),
        on_decision: OnDecision | None = None,
    ) -> None:
        self.name = checked_name(name, what="pipeline")
        self.access = _access(
            f"pipeline {name}",
            retry_by=retry_by,
            submit_by=submit_by,
            submit_at=submit_at,
            refuses_retries=retry_refusal is not None,
        )
        self.public_codes = public_codes
        self.document = document
        self.presentation = Presentation(
            public_codes, _checked_words(events or {}, pipeline=name), log_attempts
        )
        """How its jobs appear in histories, streams and logs."""
        self.retry_refusal = retry_refusal
        self.queue = checked_name(queue, what="queue")
        self._deadline_us = span_us(deadline, owner=f"pipeline {name}", field="deadline")
        self._retry = retry or Retry()
        self._payload_type = payload
        self._limits = limits
        self._keeps_keys = keep_keys
        self._remembers = _checked_names("remembers", remembers, pipeline=name)
        self._secret_names = _checked_names("secret_names", secret_names, pipeline=name)
        self.keeps_personal_data = keeps_personal_data
        self.on_decision = on_decision
        self.calling = Calling.STAGE
        """How its handlers are called."""
        self._plans: list[StagePlan] = []
        self._stages: list[BoundStage] = []
        self._parameters: list[Parameter] = []
        self._bound: BoundPipeline | None = None

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, stages={[plan.name for plan in self._plans]})"

    @overload
    def stage(self, handler: Handler, /) -> Handler: ...

    @overload
    def stage(
        self,
        handler: None = None,
        /,
        *,
        name: str | None = None,
        calls: Upstream | None = None,
        retry: Retry | None = None,
        timeout: Span | None = None,
        runs: Literal["auto", "process"] = "auto",
        rules: Sequence[Rule] = (),
        max_snoozes: int = MAX_SNOOZES,
        progress_extends: Span | None = None,
        retired: bool = False,
    ) -> Callable[[Handler], Handler]: ...

    def stage(
        self,
        handler: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        calls: Upstream | None = None,
        retry: Retry | None = None,
        timeout: Span | None = None,
        runs: Literal["auto", "process"] = "auto",
        rules: Sequence[Rule] = (),
        max_snoozes: int = MAX_SNOOZES,
        progress_extends: Span | None = None,
        retired: bool = False,
    ) -> Any:
        """Make a function the next stage of this pipeline; the function stays as it is.

        `async def` runs on an event loop, a plain function in a thread, and with
        `runs="process"` in a child process that is killed when its time is up. A `retired` stage
        is none of new jobs; those that were made with it before are still run by it. With
        `progress_extends` a stage that waits does so for at least that long after every progress
        note.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            stage_name = checked_name(name or getattr(function, "__name__", None), what="stage")
            wait = timeout if timeout is not None or calls is None else calls.timeout
            plan = StagePlan(
                name=stage_name,
                retry=retry or (calls.retry if calls else None) or self._retry,
                timeout_us=span_us(wait, owner=f"stage {stage_name}", field="timeout"),
                upstream=calls.name if calls else None,
                max_snoozes=_checked_snoozes(max_snoozes, stage=stage_name),
                progress_extends_us=span_us(
                    progress_extends, owner=f"stage {stage_name}", field="progress_extends"
                ),
            )
            every_rule = (*rules, *(calls.rules if calls else ()))
            upstream = calls.terms() if calls else None
            self._add(plan, function, runs, every_rule, upstream, retired=retired)
            return function

        return register if handler is None else register(handler)

    def _add(
        self,
        plan: StagePlan,
        function: Callable[..., Any],
        runs: str,
        rules: Sequence[Rule],
        upstream: UpstreamTerms | None,
        *,
        retired: bool,
    ) -> None:
        if self._bound is not None:
            raise UsageError(
                f"pipeline {self.name!r} is in use; declare stage {plan.name!r} before that"
            )
        if any(stage.name == plan.name for stage in self._stages):
            raise UsageError(f"pipeline {self.name!r} already has a stage {plan.name!r}")
        earlier = [stage.name for stage in self._plans]
        parameters = parameters_of(function, earlier=earlier, calling=self.calling)
        lane = _lane_of(function, runs)
        stage = BoundStage(
            pipeline=self.name,
            name=plan.name,
            lane=lane,
            call=caller_of(function, parameters, calling=self.calling),
            encode=encoder_of(function, limits=self._limits),
            rules=tuple(rules),
            target=_target_of(function) if lane is LaneKind.PROCESS else None,
            upstream=upstream,
            keeps_personal_data=self.keeps_personal_data,
        )
        if lane is LaneKind.PROCESS:
            _mark(function, stage)
        self._stages.append(stage)
        if not retired:
            self._plans.append(plan)
            self._parameters.extend(parameters)

    def bound(self) -> BoundPipeline:
        """Return the finished declaration; from here on no stage can be added."""
        if self._bound is None:
            if not self._plans:
                raise UsageError(f"pipeline {self.name!r} has no stages; add one with .stage")
            plan = Plan(
                pipeline=self.name,
                stages=tuple(self._plans),
                deadline_us=self._deadline_us,
                access=self.access,
                keeps_keys=self._keeps_keys,
                remembers=self._remembers,
                keeps_personal_data=self.keeps_personal_data,
                secret_names=self._secret_names,
                on_decision=self.on_decision is not None,
            )
            self._bound = BoundPipeline(plan, self.queue, tuple(self._stages))
        return self._bound

    @property
    def upstreams(self) -> list[UpstreamTerms]:
        """On what terms its stages call upstreams."""
        return [stage.upstream for stage in self._stages if stage.upstream is not None]

    @property
    def limits(self) -> Limits:
        """How large and how deep payloads and results may be."""
        return self._limits

    @cached_property
    def payload_check(self) -> PayloadCheck:
        """What submissions are checked by."""
        return PayloadCheck(
            self.name,
            payload_type=self._payload_type,
            parameters=self._parameters,
            limits=self._limits,
        )


def _access(
    owner: str, *, retry_by: str, submit_by: str, submit_at: str | None, refuses_retries: bool
) -> Access:
    for field, given, kind in (("retry_by", retry_by, RetryBy), ("submit_by", submit_by, SubmitBy)):
        if given not in list(kind):
            limit = " or ".join(repr(each.value) for each in kind)
            raise InvalidPolicy(owner, field=field, value=given, limit=limit)
    if submit_at is not None and (
        submit_by != SubmitBy.SYSTEM or not 1 <= len(submit_at) <= MAX_PLACE_LENGTH
    ):
        limit = f"at most {MAX_PLACE_LENGTH} characters, and given with submit_by='system'"
        raise InvalidPolicy(owner, field="submit_at", value=submit_at, limit=limit)
    return Access(SubmitBy(submit_by), submit_at, RetryBy(retry_by), refuses_retries)


def _checked_words(words: Mapping[str, str], *, pipeline: str) -> dict[str, str]:
    """Return the words for events by the engine's own, or raise `InvalidPolicy`."""
    owner = f"pipeline {pipeline}"
    for event, word in words.items():
        if event not in EVENTS:
            limit = f"for one of {', '.join(sorted(EVENTS))}"
            raise InvalidPolicy(owner, field="events", value=event, limit=limit)
        if word not in WORDS:
            limit = f"one of {', '.join(sorted(WORDS))}"
            raise InvalidPolicy(owner, field="events", value=word, limit=limit)
    return {str(event): word for event, word in words.items()}


def _lane_of(function: Callable[..., Any], runs: str) -> LaneKind:
    if runs not in ("auto", "process"):
        raise InvalidValue("stage", field="runs", value=runs, limit="'auto' or 'process'")
    if _is_async(function):
        if runs == "process":
            raise UsageError("a stage that runs in a process must be a plain function")
        return LaneKind.LOOP
    return LaneKind.PROCESS if runs == "process" else LaneKind.THREAD


def _is_async(function: Callable[..., Any]) -> bool:
    """Return whether calling it gives a coroutine; an object may have an async `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is looked at
    )


def _checked_snoozes(count: object, *, stage: str) -> int:
    if type(count) is not int or not 0 <= count <= SNOOZE_LIMIT:
        raise InvalidPolicy(
            f"stage {stage}",
            field="max_snoozes",
            value=count,
            limit=f"a whole number from 0 to {SNOOZE_LIMIT}",
        )
    return count


def _checked_names(field: str, names: object, *, pipeline: str) -> tuple[str, ...]:
    """Return names that stand in payloads, or raise `InvalidPolicy`."""
    given = tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else None
    if given is None or not all(isinstance(name, str) and name for name in given):
        raise InvalidPolicy(
            f"pipeline {pipeline}", field=field, value=names, limit="a list of names"
        )
    return given


def _target_of(function: Callable[..., Any]) -> str:
    """Return the name by which a child process finds the function."""
    qualname = getattr(function, "__qualname__", "<no name>")
    if "<" in qualname:
        raise UsageError(
            f"{qualname} runs in a process, so it must be defined at the top level "
            "of a module, where a child process can import it"
        )
    module = function.__module__
    if module == "__main__":
        module = getattr(sys.modules["__main__"], "__file__", None) or module
    return f"{module}:{qualname}"


def _mark(function: Callable[..., Any], stage: BoundStage) -> None:
    if hasattr(function, STAGE_ATTRIBUTE):
        raise UsageError(
            f"{function.__qualname__} already is a stage; a handler that runs in a process "
            "belongs to one stage"
        )
    setattr(function, STAGE_ATTRIBUTE, stage)
