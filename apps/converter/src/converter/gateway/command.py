"""The command `converter gateway`: serves the gateway until stopped."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Final

import click

from converter.gateway.conversion import Engine, pdftohtml
from converter.gateway.limits import MEBIBYTE, Limits
from converter.gateway.options import GatewayOptions

_DEFAULTS: Final = GatewayOptions()
_LIMITS: Final = _DEFAULTS.limits
_SOME: Final = click.IntRange(min=1)


@click.command(context_settings={"show_default": True})
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", default=8091, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--engine",
    default=_DEFAULTS.engine.value,
    type=click.Choice([engine.value for engine in Engine]),
    help="What reads PDFs; auto is poppler where it is installed.",
)
@click.option("--concurrency", type=_SOME, help="Conversions at a time; unset, one a core.")
@click.option(
    "--waiting", default=_DEFAULTS.waiting, type=click.IntRange(min=0), help="Requests that wait."
)
@click.option("--body-s", default=_DEFAULTS.body_s, help="Seconds a file may take to arrive.")
@click.option("--max-pdf-bytes", default=_LIMITS.max_pdf_bytes, type=_SOME)
@click.option("--max-pages", default=_LIMITS.max_pages, type=_SOME)
@click.option("--max-xml-bytes", default=_LIMITS.max_xml_bytes, type=_SOME)
@click.option("--cpu-s", default=_LIMITS.cpu_s, type=_SOME, help="Seconds of computing.")
@click.option("--wall-s", default=_LIMITS.wall_s, type=_SOME, help="Seconds till it is killed.")
@click.option(
    "--memory-mib",
    default=_LIMITS.memory_bytes // MEBIBYTE,
    type=click.IntRange(min=128),
    help="Memory of one process.",
)
def gateway(
    *,
    host: str,
    port: int,
    engine: str,
    concurrency: int | None,
    waiting: int,
    body_s: float,
    max_pdf_bytes: int,
    max_pages: int,
    max_xml_bytes: int,
    cpu_s: int,
    wall_s: int,
    memory_mib: int,
) -> None:
    """Serve POST /convert?mapping=NAME and GET /health.

    It asks nobody who they are: keep it on this machine or in a network of its own. Every option is
    also read from the environment: CONVERTER_GATEWAY_MAX_PAGES is --max-pages.
    """
    if engine == Engine.POPPLER and pdftohtml() is None:
        raise click.UsageError("pdftohtml is not installed (Debian: apt-get install poppler-utils)")
    options = GatewayOptions(
        engine=Engine(engine),
        concurrency=concurrency or _DEFAULTS.concurrency,
        waiting=waiting,
        body_s=body_s,
        limits=Limits(
            max_pdf_bytes=max_pdf_bytes,
            max_pages=max_pages,
            max_xml_bytes=max_xml_bytes,
            cpu_s=cpu_s,
            wall_s=wall_s,
            memory_bytes=memory_mib * MEBIBYTE,
        ),
    )
    _serve(options, host, port)


def _serve(options: GatewayOptions, host: str, port: int) -> None:
    # They take long to import, and the help does without.
    from converter.gateway.app import create_gateway  # noqa: PLC0415
    from holdfast.api import Server  # noqa: PLC0415
    from holdfast.errors import UsageError  # noqa: PLC0415

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    server = Server(create_gateway(options), host, port)
    try:
        server.start()
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    click.echo(f"The gateway is at {server.address} and reads with {options.engine.resolved()}.")
    stop.wait()
    server.request_stop()
    server.wait()
