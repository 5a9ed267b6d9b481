"""What is known of a recording: when it is stored, and when it is decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

MEBIBYTE: Final = 1024 * 1024
SAMPLE_RATE_HZ: Final = 16_000
MIN_SECONDS: Final = 1.0
MAX_SECONDS: Final = 600.0


class StoredAudio(NamedTuple):
    """A recording in an `AudioStore`."""

    sha256: str
    bytes: int
    media_type: str
    """By content, such as `audio/webm`."""
    seconds: float
    """As decoded. A recording is decoded to a second past the longest that is graded."""


class Decoded(NamedTuple):
    """A recording as a WAV file: mono, 16 kHz, 16 bits."""

    path: Path
    seconds: float
    flags: list[str]
    """Of `truncated`, `damaged`, `silent`, `quiet` and `clipped`, those that apply."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing can be heard in it, so that there is nothing to transcribe."""
        return "silent" in self.flags

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON, for a checkpoint."""
        return {"path": str(self.path), "seconds": self.seconds, "flags": list(self.flags)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Decoded:
        """Return what `to_document` made a document of."""
        return cls(
            Path(document["path"]), float(document["seconds"]), [*map(str, document["flags"])]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLimits:
    """What a recording may be, and what decoding it may cost."""

    min_seconds: float = MIN_SECONDS
    max_seconds: float = MAX_SECONDS
    cpu_s: int = 60
    wall_s: float = 120.0
    memory_bytes: int = 1024 * MEBIBYTE
    """Of addresses, of which a program uses far less; the program itself takes a part."""
