import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from apps.converter.tests.scripted_gateway import ScriptedGateway
from converter.gateway_client import GatewayClient
from converter.storage.async_files import AsyncDraft, AsyncReading
from converter.storage.contract import Storage
from converter.storage.disk import DiskStorage
from converter.storage.thread_pool import ThreadPool

PDF = b"%PDF-1.4\n" + b"x" * 5000 + b"\n%%EOF\n"


@dataclass
class Job:
    """The little that the client asks of a job."""

    trace_headers: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with ScriptedGateway() as serving:
        yield serving


@pytest.fixture
def client(gateway: ScriptedGateway) -> GatewayClient:
    return GatewayClient(gateway.url, timeout_s=20.0, idle_s=10.0, max_answer_bytes=1_000_000)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    made = DiskStorage(tmp_path / "kept", label="files", min_free_bytes=0)
    made.put("source.pdf", [PDF])
    return made


@pytest.fixture
def convert(storage: Storage) -> Callable[..., bytes]:
    """Convert a PDF as the pipeline does, and return the XML that was kept."""
    threads = ThreadPool(2)

    async def converted(client: GatewayClient, mapping: str, source: str, job: Job) -> None:
        async with (
            AsyncReading.open(storage, source, threads=threads) as reading,
            AsyncDraft(storage, "result.xml", threads=threads) as draft,
        ):
            await client.convert(reading, mapping, into=draft, job=job)
            await draft.commit()

    def convert(
        client: GatewayClient,
        mapping: str = "text",
        *,
        job: Job | None = None,
        source: str = "source.pdf",
    ) -> bytes:
        asyncio.run(converted(client, mapping, source, job or Job()))
        with storage.open("result.xml") as reading:
            return b"".join(reading)

    return convert
