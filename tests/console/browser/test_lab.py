"""The fault lab as somebody watches it: what changes is seen without loading the page again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from holdfast import Holdfast
from holdfast.cli.processes.site import server_of
from holdfast.config.settings import Settings
from holdfast.lab import postcards
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import build
from holdfast.workers import WorkerOptions

OPTIONS = WorkerOptions(concurrency=4, lease=10, grace=5)


class LabStage:
    """The lab over a socket, and a worker that calls the stand-ins."""

    def __init__(self, database_url: str) -> None:
        self._stand_ins = StandIns([postcards.SYSTEM], {})
        self._stand_ins.start()
        environment: dict[str, str] = {}
        self._stand_ins.tell(environment)
        built = build([postcards.SYSTEM], environment)
        pipelines = [each for one in built for each in one.parts.pipelines]
        self.app = Holdfast(database_url, pipelines=pipelines)
        settings = Settings(port=0, worker=OPTIONS)
        self._server = server_of(self.app, settings, built=built, stand_ins=self._stand_ins)
        self._server.start()
        self._worker = self.app.worker(options=OPTIONS)
        self._worker.start()

    @property
    def address(self) -> str:
        return self._server.address

    def close(self) -> None:
        self._server.request_stop()
        self._worker.request_stop()
        self._worker.drain()
        self._server.wait(10)
        self._stand_ins.close()
        self.app.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[LabStage]:
    made = LabStage(f"sqlite:///{tmp_path / 'lab.db'}")
    yield made
    made.close()


@pytest.mark.slow
def test_the_breaker_is_seen_to_hold_the_queue_and_to_let_go(
    look: Callable[..., Page], stage: LabStage
):
    page = look()
    page.goto("/lab")
    page.get_by_role("group", name="How printer behaves").get_by_text("Down").click()
    page.get_by_label("How many").fill("20")
    page.get_by_role("button", name="Send", exact=True).click()
    page.evaluate("window.here = true")
    printer = page.locator("#live-printer")

    expect(printer).to_contain_text("Nothing passes")
    expect(printer).to_contain_text("open")
    expect(page.locator("#lab-queues")).to_contain_text("postcards")

    page.get_by_role("group", name="How printer behaves").get_by_text("Healthy").click()
    expect(
        page.get_by_role("group", name="How printer behaves").get_by_text("Healthy")
    ).to_have_attribute("aria-pressed", "true")
    page.evaluate("window.here = true")
    stage.app.upstreams.reset("printer", by="the test")  # or its trial is waited for

    expect(page.locator("#lab-queues")).to_contain_text("20 complete")
    expect(printer).to_contain_text("closed")
    assert page.evaluate("window.here")  # nothing has loaded the page again
