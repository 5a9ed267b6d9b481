"""Opens what the stages work with, by the settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from grading.audio import (
    AUDIO_RULES,
    AudioStore,
    DecodeLimits,
    OwnLinks,
    decode,
    fetch,
    speech_facts,
)
from grading.audio.records import Decoded
from grading.config import GradingConfig
from grading.grader.tools import SpeechTools, TextTools, Tools
from grading.grader.work_files import WorkFiles
from grading.llm import LLM_RULES, evidence_of, open_assessor
from grading.scoring.score import score_speaking, score_writing
from grading.speech import STT_RULES, open_transcriber

FETCH_TIMEOUT_S: Final = 60.0


def open_tools(config: GradingConfig) -> Tools:
    """Return the tools of a grader; nothing is called."""
    llm = config.llm
    text = TextTools(
        assessor=open_assessor(llm),
        evidence_of=evidence_of,
        score_writing=score_writing,
        score_speaking=score_speaking,
        rules=LLM_RULES,
        timeout_s=llm.timeout_s,
        runs=llm.runs,
        is_paid=bool(llm.base_url),
        max_cost_usd_per_day=llm.max_cost_usd_per_day,
    )
    return Tools(text=text, speech=_speech(config))


def open_audio(config: GradingConfig) -> AudioStore:
    """Return the store of recordings."""
    return AudioStore(
        config.audio_dir, max_bytes=config.audio_max_bytes, max_seconds=config.audio_max_s
    )


def _speech(config: GradingConfig) -> SpeechTools:
    limits = DecodeLimits(max_seconds=config.audio_max_s)
    files = open_audio(config)
    own = OwnLinks(config.public_url)

    def fetched(url: str, sha256: str, target: Path) -> None:
        fetch(
            url,
            sha256=sha256,
            target=target,
            own=own,
            hosts=config.audio_hosts,
            max_bytes=config.audio_max_bytes,
            timeout_s=FETCH_TIMEOUT_S,
        )

    return SpeechTools(
        transcriber=open_transcriber(config.stt),
        fetch=fetched,
        stored=files.checked_path_of,
        decode=partial(_decoded, limits=limits),
        facts=speech_facts,
        work=WorkFiles(config.audio_dir / "work"),
        rules=STT_RULES,
        fetch_rules=AUDIO_RULES,
        timeout_s=config.stt.timeout_s,
        decode_timeout_s=FETCH_TIMEOUT_S + limits.wall_s + 30.0,
        is_paid=bool(config.stt.base_url),
    )


def _decoded(source: Path, folder: Path, *, limits: DecodeLimits) -> Decoded:
    return decode(source, folder, limits=limits)
