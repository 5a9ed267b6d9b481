"""A real SDK of OpenTelemetry that keeps its spans in memory, and workers of a real clock."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast import Holdfast
from holdfast.runtime import tracing
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.workers import WorkerOptions

PATIENCE_S = 30


class Spans:
    """The spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Iterator[Spans]:
    """Records spans while the test runs."""
    recorded = Spans()
    leave = tracing.use_provider(recorded.provider)
    yield recorded
    leave()
    recorded.provider.shutdown()


@pytest.fixture
def app_options() -> dict[str, Any]:
    """Apps by the real clock, as their workers are."""
    return {}


@pytest.fixture
def working() -> Callable[[Holdfast], AbstractContextManager]:
    """Runs a worker meanwhile."""

    @contextmanager
    def work(app: Holdfast):
        worker = app.worker(options=WorkerOptions(poll=0.05, sweep=60, grace=PATIENCE_S))
        worker.start()
        try:
            yield worker
        finally:
            worker.request_stop()
            worker.drain()

    return work


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    def wait(condition: Callable[[], bool]) -> None:
        until_s = monotonic_s() + PATIENCE_S
        while not condition():
            assert monotonic_s() < until_s
            sleep_s(0.005)

    return wait
