"""Whether a file breaks off before its end, for kinds of files whose decoder does not notice."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

from grading.audio.sniff import OGG, WAV, Container

_OGG_PAGE_BYTES: Final = 65_307
"""The largest page there can be, so that the last one begins within so many bytes of the end."""
_OGG_LAST_PAGE: Final = 0x04
_UNKNOWN_SIZES: Final = frozenset({0, 0xFFFF_FFFF})
_CHUNKS: Final = 64


def breaks_off(path: Path, container: Container) -> bool:
    """Return whether a file is shorter than it says, or lacks its last page."""
    if container is WAV:
        return _wav_breaks_off(path)
    return container is OGG and _ogg_breaks_off(path)


def _wav_breaks_off(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != b"RIFF":
            return False
        file.seek(12)
        for _ in range(_CHUNKS):
            header = file.read(8)
            if len(header) < 8:  # noqa: PLR2004 - a chunk's header
                return True
            name, length = struct.unpack("<4sI", header)
            if name == b"data":
                # Those who write into a pipe do not know the length.
                return length not in _UNKNOWN_SIZES and file.tell() + length > size
            file.seek(length + length % 2, os.SEEK_CUR)
    return False


def _ogg_breaks_off(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _OGG_PAGE_BYTES))
        tail = file.read()
    start = tail.rfind(b"OggS")
    page = tail[start:]
    if start < 0 or len(page) < 27:  # noqa: PLR2004 - a page's header
        return True
    table = page[27 : 27 + page[26]]
    return not page[5] & _OGG_LAST_PAGE or len(page) < 27 + page[26] + sum(table)
