"""Main and a grader on databases of their own, with a broker between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel

from apps.grading.tests.running import Embedded, running
from grading.config import GradingConfig
from grading.grader.side import GraderSide
from grading.grader.tools import Tools
from grading.messages.contract import REQUEST
from grading.service import TABLES, grader_services
from grading.system import Sides, parts_of, sides_of
from holdfast import Holdfast
from holdfast.workers import WorkerOptions
from tests.bridges.broker import on_channel, own


def broker_config(amqp_url: str, folder: Path, **given: Any) -> GradingConfig:
    name = own("grading")
    usual = {
        "audio_dir": folder / "audio",
        "broker_url": amqp_url,
        "exchange": name,
        "queue_prefix": f"{name}.",
        "outbox_poll_s": 0.2,
        "runner": "worker",
        "lease_s": 5.0,
    }
    return GradingConfig(**{**usual, **given})


@contextmanager
def main_running(url: str, config: GradingConfig) -> Iterator[Embedded]:
    """Run main: its worker, its relay and its consumer."""
    sides: Sides = sides_of(config)
    parts = parts_of(sides)
    with ExitStack() as opened:
        app = opened.enter_context(Holdfast(url, pipelines=parts.pipelines, tables=TABLES))
        parts.bind(app)
        services = [make(app) for make in parts.services.values()]
        worker = app.worker(options=WorkerOptions(lease=5.0))
        opened.enter_context(running(worker, *services))
        yield Embedded(app, sides)


@contextmanager
def grader_running(url: str, config: GradingConfig, tools: Tools) -> Iterator[Holdfast]:
    """Run a grader as `grading service` does."""
    with grader_opened(url, config, tools) as (app, grader):
        services = grader_services(app, grader)
        with running(*services.values()):
            yield app


@contextmanager
def grader_opened(
    url: str, config: GradingConfig, tools: Tools
) -> Iterator[tuple[Holdfast, GraderSide]]:
    grader = GraderSide(replace(config, database_url=url), tools)
    with Holdfast(url, pipelines=grader.pipelines, tables=TABLES) as app:
        grader.bind(app)
        yield app, grader


def publish(
    amqp_url: str,
    config: GradingConfig,
    body: bytes,
    *,
    message_type: str = REQUEST,
    **properties: Any,
) -> None:
    """Publish a message of somebody else's."""

    async def send(channel: AbstractChannel) -> None:
        exchange = await channel.get_exchange(config.exchange)
        message = aio_pika.Message(body, type=message_type, **properties)
        await exchange.publish(message, routing_key=message_type)

    on_channel(amqp_url, send)
