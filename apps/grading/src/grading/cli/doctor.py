"""`grading doctor`: whether everything that grading needs is there, and whose move it is if not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

import click

from grading.audio import DecoderFailed, ffmpeg_program
from grading.cli.broker import topology_flaw
from grading.cli.opening import opened
from grading.cli.output import ExitCode, document, exit_with, json_option, line, reports_errors
from grading.config import SYSTEM_NAME, GradingConfig
from grading.llm import LlmConfig
from grading.messages.topology import Topology
from grading.speech import SttConfig
from holdfast.errors import HoldfastError
from holdfast.variables import Variables

_STYLES: Final = {"ok": "green", "note": "yellow", "fault": "red"}
_RECOGNISER: Final = "moonshine-voice"


class Finding(NamedTuple):
    """What was looked at, and how it is: `ok`, `note` or `fault`."""

    what: str
    level: str
    text: str


@click.command()
@json_option
@reports_errors
def doctor(*, as_json: bool) -> None:
    """Check database, broker, queues, decoder, models and keys.

    Ends with 6 where something has to be done.
    """
    findings = [finding for look in _LOOKS for finding in _looked(look)]
    if as_json:
        document([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            text = f"{finding.level:<6} {finding.what:<10} {finding.text}"
            line(text, style=_STYLES[finding.level])
    if any(finding.level == "fault" for finding in findings):
        exit_with(ExitCode.ATTENTION)


def _looked(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    name = look.__name__.strip("_")
    try:
        return list(look())
    except HoldfastError as error:
        return [Finding(name, "fault", str(error))]


def _database() -> Iterator[Finding]:
    with opened() as system:
        state = system.submissions.operations()
        yield Finding("database", "ok", "can be read and has the schema")
        waiting = f"{state.outbox_pending} messages wait to be published"
        stale = (state.outbox_oldest_s or 0.0) > system.config.outbox_stale_s
        yield Finding("outbox", "fault" if stale else "ok", waiting)
        letters = "note" if state.dlq_open else "ok"
        yield Finding("dlq", letters, f"{state.dlq_open} requests wait for a person")
        for breaker in state.breakers:
            if breaker.get("state") != "closed":
                yield Finding("breaker", "fault", f"{breaker['name']} is {breaker['state']}")


def _broker() -> Iterator[Finding]:
    config = GradingConfig.from_environment(os.environ)
    if config.broker_url is None:
        yield Finding("broker", "note", "none: both sides run in one process (AMQP_URL)")
        return
    flaw = topology_flaw(replace(Topology.of(config), declares=False))
    if flaw is None:
        yield Finding("broker", "ok", "can be reached, and has the exchange and the queues")
    else:
        yield Finding("broker", "fault", f"{flaw}; grading topology declare makes what is missing")


def _decoder() -> Iterator[Finding]:
    try:
        program = ffmpeg_program()
    except DecoderFailed as error:
        yield Finding("ffmpeg", "fault", str(error))
    else:
        own = program.parent.name == "bin"
        yield Finding("ffmpeg", "ok", "the system's" if own else "the one of imageio-ffmpeg")


def _models() -> Iterator[Finding]:
    given = Variables.of(os.environ, system=SYSTEM_NAME)
    llm, stt = LlmConfig.from_variables(given), SttConfig.from_variables(given)
    if not llm.base_url:
        yield Finding("llm", "note", "none: the rules grade (LLM_BASE_URL)")
    elif llm.api_key is None:
        yield Finding("llm", "note", f"{llm.model}, without a key (LLM_API_KEY)")
    else:
        yield Finding("llm", "ok", llm.model)
    if stt.base_url:
        yield Finding("stt", "ok", stt.model)
        return
    try:
        yield Finding("stt", "ok", f"the packaged recogniser, {_RECOGNISER} {version(_RECOGNISER)}")
    except PackageNotFoundError:
        yield Finding("stt", "fault", f"no recogniser: pip install {_RECOGNISER}==0.1.0")


def _folder() -> Iterator[Finding]:
    folder = GradingConfig.from_environment(os.environ).audio_dir
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if os.access(nearest, os.W_OK):
        yield Finding("recordings", "ok", f"are kept in {Path(folder)}")
    else:
        yield Finding("recordings", "fault", f"{Path(folder)} cannot be written to (AUDIO_DIR)")


_LOOKS: Final = (_database, _broker, _decoder, _models, _folder)
