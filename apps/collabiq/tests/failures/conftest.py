"""Mails whose stages fail on request, on an engine with the tables of this system."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from collabiq.failures.dlq import DeadLetterQueue
from collabiq.failures.payloads import replacement_of
from collabiq.settings.config import Config
from holdfast import Holdfast, Pipeline, Retry, Upstream
from holdfast.presets import FIVE_IN_A_ROW
from holdfast.testing import ManualClock, drain

DATABASE = "rows-1"


@dataclass
class World:
    """What fails, what Notion was sent, and the engine."""

    engine: Holdfast
    config: Config
    failing: dict[str, Exception] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def mail(self, email_id: str = "19a3f3f856f0b4d4") -> str:
        """Have a mail processed as far as it gets, and return its job."""
        job = self.engine.submit(
            "email", {"email_id": email_id}, key=email_id, owner="collab@example.com"
        )
        drain(self.engine)
        self.engine.clock.advance(1)
        return job.id


def email_pipeline(world: Callable[[], World]) -> Pipeline:
    made = Pipeline("email", retry=Retry(attempts=2, base=1, jitter="none"))

    def fail(stage: str) -> None:
        if stage in world().failing:
            raise world().failing[stage]

    @made.stage
    def gmail_fetch(job, email_id: str) -> dict[str, Any]:
        fail("gmail_fetch")
        return {"subject": "Breeze × Shinsegae", "from": {"name": "Kim"}, "date": None}

    @made.stage
    def clean(job) -> dict[str, Any]:
        return {"text": "We met."}

    @made.stage
    def gemini_extract(job) -> dict[str, Any]:
        fail("gemini_extract")
        return {"startup_name": "Breeze"}

    @made.stage
    def match(job) -> dict[str, Any]:
        fail("match")
        return {"database_id": DATABASE, "properties": {"Title": "Breeze-Shinsegae"}}

    @made.stage(calls=Upstream("notion", breaker=FIVE_IN_A_ROW, retry=Retry(attempts=2, base=1)))
    def notion_write(job, match: dict[str, Any]) -> dict[str, Any]:
        fail("notion_write")
        sent = replacement_of(world().engine, job.id) or match
        world().rows.append(sent["properties"])
        return {"page_id": f"page-{len(world().rows)}"}

    return made


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    made: list[World] = []
    pipeline = email_pipeline(lambda: made[0])
    with Holdfast(
        database_url,
        pipelines=[pipeline],
        tables={"collabiq": "collabiq.tables"},
        clock=ManualClock(),
    ) as engine:
        made.append(World(engine, Config(data_dir=tmp_path / "data")))
        yield made[0]


@pytest.fixture
def queue(world: World) -> Iterator[DeadLetterQueue]:
    made = DeadLetterQueue(world.engine, world.config, database_id=lambda: DATABASE)
    yield made
    made.mirror.close()
