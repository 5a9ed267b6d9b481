"""A gateway that plays a script, and a converter on it without HTTP."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from converter.callbacks import CallbackConfig
from converter.conversions import Conversions, Taken
from converter.pipeline import conversion_pipeline
from converter.storage.async_files import AsyncDraft, AsyncReading
from converter.storage.contract import Storage
from converter.webhooks import Webhooks
from holdfast import Breaker, Holdfast, Retry
from holdfast.testing import ManualClock, run_inline

PDF_BYTES = b"%PDF-1.7\n" + b"0123456789" * 20
QUICK = Retry(attempts=3, base=5, factor=2, cap=None, jitter="none")


@dataclass
class ScriptedGateway:
    """Writes XML, or plays what it was told to instead, one per call."""

    plays: list[bytes | Exception | Callable[[AsyncDraft], Awaitable[None]]] = field(
        default_factory=list
    )
    calls: list[tuple[str, bytes]] = field(default_factory=list)

    async def convert(
        self, source: AsyncReading, mapping: str, *, into: AsyncDraft, job: object
    ) -> None:
        received = b""
        while part := await source.read():
            received += part
        self.calls.append((mapping, received))
        play = self.plays.pop(0) if self.plays else b"<document/>"
        if isinstance(play, Exception):
            raise play
        if callable(play):
            await play(into)
        else:
            await into.write(play)

    def probe(self) -> None:
        return


@dataclass
class Sent:
    """A file that is sent in one piece."""

    body: bytes
    filename: str = "a.pdf"
    mapping: str = "text"
    callback_url: str = ""
    priority: str = ""

    def chunks(self) -> Iterator[bytes]:
        yield self.body


@dataclass
class Converter:
    app: Holdfast
    conversions: Conversions
    gateway: ScriptedGateway
    uploads: Storage
    results: Storage
    webhooks: Webhooks | None = None

    def take(
        self,
        body: bytes = PDF_BYTES,
        *,
        owner: str = "ada",
        mapping: str = "text",
        name: str = "a.pdf",
        callback_url: str = "",
        priority: str = "",
        may_hurry: bool = False,
    ) -> Taken:
        sent = Sent(
            body, filename=name, mapping=mapping, callback_url=callback_url, priority=priority
        )
        return self.conversions.take(sent, owner=owner, may_hurry=may_hurry)

    def run(self) -> None:
        run_inline(self.app)


def make_converter(
    url: str,
    uploads: Storage,
    results: Storage,
    *,
    max_bytes: int = 10_000,
    max_under_way: int = 100,
    max_per_minute: int = 0,
    callbacks: CallbackConfig | None = None,
) -> Iterator[Converter]:
    gateway = ScriptedGateway()
    pipeline = conversion_pipeline(
        uploads=uploads,
        results=results,
        gateway=gateway,
        timeout_s=10,
        retry=QUICK,
        breaker=Breaker(consecutive=100),
    )
    webhooks = None if callbacks is None else Webhooks(callbacks)
    pipelines = [pipeline] if webhooks is None else [pipeline, webhooks.pipeline]
    providers = [] if webhooks is None else [webhooks.provider]
    with Holdfast(url, pipelines=pipelines, providers=providers, clock=ManualClock()) as app:
        if webhooks is not None:
            webhooks.bind(app)
        conversions = Conversions(
            app,
            uploads=uploads,
            results=results,
            max_bytes=max_bytes,
            max_under_way=max_under_way,
            mappings=("text", "layout", "raw"),
            max_per_minute=max_per_minute,
            webhooks=webhooks,
        )
        yield Converter(app, conversions, gateway, uploads, results, webhooks)
