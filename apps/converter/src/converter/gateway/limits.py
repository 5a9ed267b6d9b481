"""What a conversion may cost: one frozen record, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

MEBIBYTE: Final = 1024 * 1024
_LEAST: Final = {"memory_bytes": 128 * MEBIBYTE}
"""What the interpreter and its libraries need before they have read a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a conversion may cost.

    `cpu_s` and `memory_bytes` are each process's; there is one, and pdftohtml where that is used.
    `wall_s` is longer than `cpu_s`, so that a file is blamed for the time it took and not for the
    time others took.
    """

    max_pdf_bytes: int = 50 * MEBIBYTE
    max_pages: int = 2_000
    max_xml_bytes: int = 64 * MEBIBYTE
    cpu_s: int = 30
    wall_s: int = 90
    memory_bytes: int = 1024 * MEBIBYTE

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = _LEAST.get(field.name, 1)
            if value < least:
                raise ValueError(f"{field.name} is {value}; it must be at least {least}")
