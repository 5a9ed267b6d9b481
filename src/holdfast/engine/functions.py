"""Functions as jobs: `@app.job` makes a pipeline of one stage, submitted by its own arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import update_wrapper
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from holdfast.classify.public import PublicCodes
from holdfast.classify.table import Rule
from holdfast.core.values.retry import Retry
from holdfast.engine.connections.awaited import lent
from holdfast.engine.handles.handle import JobHandle
from holdfast.engine.submit.submission import Submit, Submitted
from holdfast.engine.submit.submissions import Submissions
from holdfast.engine.threads import CallThreads
from holdfast.errors import UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.handlers import Calling, decoder_of, takes_the_job
from holdfast.pipeline.names import Span
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.attempts.attempt import JobContext
from holdfast.views.job import JobView

P = ParamSpec("P")
R = TypeVar("R")


class FunctionOptions(TypedDict, total=False):
    """What may be said where a function is made a job."""

    name: str
    queue: str
    retry: Retry
    calls: Upstream
    timeout: Span
    deadline: Span
    runs: Literal["auto", "process"]
    rules: Sequence[Rule]
    max_snoozes: int
    public_codes: PublicCodes
    log_attempts: bool
    keep_keys: bool
    keeps_personal_data: bool
    secret_names: Sequence[str]


class SubmitOptions(TypedDict, total=False):
    """What may be said of one job besides its arguments; see `Submit`."""

    key: str
    key_alone: bool
    owner: str
    version: int
    rerun: bool
    queue: str
    priority: int
    delay: Span
    run_at: datetime
    deadline: Span | datetime
    trace: str


class JobFunction(Generic[P, R]):
    """A function that is run as a job: `function.submit(…)` takes what the function takes.

    Called like the function it is the function, and nothing is stored.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        pipeline: Pipeline,
        signature: inspect.Signature,
        decode: Callable[[Any], R],
        functions: Functions,
        options: SubmitOptions | None = None,
        connection: object = None,
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.pipeline = pipeline
        self._signature = signature
        self._decode = decode
        self._functions = functions
        self._options: SubmitOptions = options or {}
        self._connection = connection

    def __repr__(self) -> str:
        return f"JobFunction({self.pipeline.name!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - what the function takes
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def using(
        self, *, connection: object = None, **options: Unpack[SubmitOptions]
    ) -> JobFunction[P, R]:
        """Return the same for jobs with a key, a delay, an owner …, or of one's own transaction."""
        return JobFunction(
            self.function,
            pipeline=self.pipeline,
            signature=self._signature,
            decode=self._decode,
            functions=self._functions,
            options=cast("SubmitOptions", {**self._options, **options}),
            connection=self._connection if connection is None else connection,
        )

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Make a job that calls the function with these arguments, or find the one of the key."""
        submit = self.call(*args, **kwargs)
        handle = self._functions.submissions.submit(
            self.pipeline, **submit._asdict(), connection=self._connection
        )
        return handle.decoded_by(self._decode)

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Do as `submit` does, without blocking the event loop."""
        if self._connection is None:
            return await self._functions.threads.run(lambda: self.submit(*args, **kwargs))
        own = self.using(connection=await lent(self._connection))
        return await self._functions.threads.run_in_transaction(lambda: own.submit(*args, **kwargs))

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Submit:
        """Return the job that these arguments would make, for `submit_many`."""
        return Submit(self._arguments(args, kwargs), **self._options)

    def submit_many(self, calls: Iterable[Submit]) -> list[Submitted]:
        """Make many jobs in few statements: `send.submit_many(send.call(to=to) for to in all)`."""
        return self._functions.submissions.submit_many(
            self.pipeline, calls, connection=self._connection
        )

    async def asubmit_many(self, calls: Iterable[Submit]) -> list[Submitted]:
        """Do as `submit_many` does, without blocking the event loop."""
        if self._connection is None:
            return await self._functions.threads.run(lambda: self.submit_many(calls))
        own = self.using(connection=await lent(self._connection))
        return await self._functions.threads.run_in_transaction(lambda: own.submit_many(calls))

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise UsageError(f"{self.pipeline.name}{self._signature}: {error}") from None


class Declare(Protocol):
    """What `@app.job(…)` is applied to, and what becomes of it."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, R]], /
    ) -> JobFunction[P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], R], /
    ) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...

    def __call__(self, function: Callable[..., Any], /) -> JobFunction[..., Any]:
        """Make a function a job."""
        ...


class Functions:
    """Makes jobs of functions: what `Holdfast.job` is."""

    def __init__(
        self,
        add: Callable[[Pipeline], None],
        *,
        read: Callable[..., JobView],
        submissions: Submissions,
        threads: CallThreads,
    ) -> None:
        self._add = add
        self._read = read
        self.submissions = submissions
        self.threads = threads

    @contextmanager
    def submitting_to(self, other: Functions) -> Generator[None]:
        """Have the functions that were made here submit to another application meanwhile."""
        own = self.submissions, self.threads
        self.submissions, self.threads = other.submissions, other.threads
        try:
            yield
        finally:
            self.submissions, self.threads = own

    @overload
    def __call__(self, job_id: str, /, *, owner: str | None = None) -> JobView: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, R]], /
    ) -> JobFunction[P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], R], /
    ) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...

    @overload
    def __call__(self, **options: Unpack[FunctionOptions]) -> Declare: ...

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Make a function a job: `@app.job`, or `@app.job(retry=…, calls=…)`.

        The function may be plain or `async`; a first parameter of type `JobContext` is given the
        job. What it takes and returns is checked by its types, and kept as JSON. Given the id of a
        job instead, return that job as it stands, or raise `UnknownJob`.
        """
        if given:
            (what,) = given
            return self._made_of(what, {}) if callable(what) else self._read(what, **options)
        return lambda function: self._made_of(function, cast("FunctionOptions", options))

    def _made_of(
        self, function: Callable[..., Any], options: FunctionOptions
    ) -> JobFunction[..., Any]:
        given: dict[str, Any] = {**options}
        stage = {name: given.pop(name) for name in _OF_THE_STAGE if name in given}
        name = given.pop("name", None) or getattr(function, "__name__", "")
        pipeline = Pipeline(name, **given)
        signature = inspect.signature(function)
        takes_job = takes_the_job(function)
        pipeline.calling = Calling.WITH_JOB if takes_job else Calling.PLAIN
        pipeline.stage(name=name, **stage)(function)
        self._add(pipeline)
        own = list(signature.parameters.values())[takes_job:]
        return JobFunction(
            function,
            pipeline=pipeline,
            signature=inspect.Signature(own),
            decode=decoder_of(function),
            functions=self,
        )


_OF_THE_STAGE: Final = ("calls", "timeout", "runs", "rules", "max_snoozes")
