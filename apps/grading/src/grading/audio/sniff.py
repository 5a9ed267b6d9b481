"""What kind of file a recording is, by its content alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

_HEAD_BYTES: Final = 4096
_ID3_HEADER_BYTES: Final = 10
_ID3_FOOTER: Final = 0x10
_MPEG_SYNC_BITS: Final = 0xE0


class Container(NamedTuple):
    """A kind of file: how ffmpeg calls it, and its media type without and with a picture."""

    demuxer: str
    audio_type: str
    video_type: str


WEBM: Final = Container("matroska", "audio/webm", "video/webm")
MATROSKA: Final = Container("matroska", "audio/x-matroska", "video/x-matroska")
MP4: Final = Container("mov", "audio/mp4", "video/mp4")
QUICKTIME: Final = Container("mov", "audio/mp4", "video/quicktime")
THREE_GP: Final = Container("mov", "audio/3gpp", "video/3gpp")
WAV: Final = Container("wav", "audio/wav", "audio/wav")
AVI: Final = Container("avi", "video/x-msvideo", "video/x-msvideo")
OGG: Final = Container("ogg", "audio/ogg", "video/ogg")
FLAC: Final = Container("flac", "audio/flac", "audio/flac")
MP3: Final = Container("mp3", "audio/mpeg", "audio/mpeg")
AAC: Final = Container("aac", "audio/aac", "audio/aac")
AMR: Final = Container("amr", "audio/amr", "audio/amr")
AIFF: Final = Container("aiff", "audio/aiff", "audio/aiff")
CAF: Final = Container("caf", "audio/x-caf", "audio/x-caf")
AU: Final = Container("au", "audio/basic", "audio/basic")
ASF: Final = Container("asf", "audio/x-ms-wma", "video/x-ms-asf")

_BY_START: Final = (
    (b"OggS", OGG),
    (b"fLaC", FLAC),
    (b"#!AMR", AMR),
    (b"caff", CAF),
    (b".snd", AU),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", ASF),
)
_BY_FORM: Final = {
    (b"RIFF", b"WAVE"): WAV,
    (b"RF64", b"WAVE"): WAV,
    (b"RIFF", b"AVI "): AVI,
    (b"FORM", b"AIFF"): AIFF,
    (b"FORM", b"AIFC"): AIFF,
}
_ATOMS_WITHOUT_TYPE: Final = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip"})


def container_of(path: Path) -> Container | None:
    """Return the kind of a file, None where it is none that holds audio."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if head.startswith(b"ID3"):
            file.seek(_id3_bytes(head))
            # Tags may be before other formats as well; what is not known is left to the decoder.
            return _kind_of(file.read(_HEAD_BYTES)) or MP3
    return _kind_of(head)


def _kind_of(head: bytes) -> Container | None:
    found = next((kind for start, kind in _BY_START if head.startswith(start)), None)
    found = found or _BY_FORM.get((head[:4], head[8:12]))
    if found is not None:
        return found
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return WEBM if b"webm" in head[:64] else MATROSKA
    if head[4:8] == b"ftyp":
        return _mp4_kind(head[8:12])
    if head[4:8] in _ATOMS_WITHOUT_TYPE:
        return QUICKTIME
    return _mpeg_kind(head)


def _mp4_kind(brand: bytes) -> Container:
    if brand.startswith((b"3gp", b"3g2")):
        return THREE_GP
    return QUICKTIME if brand == b"qt  " else MP4


def _mpeg_kind(head: bytes) -> Container | None:
    """Return the kind of a file that begins with a frame of MPEG audio."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & _MPEG_SYNC_BITS != _MPEG_SYNC_BITS:  # noqa: PLR2004 - a frame's header
        return None
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    if layer == 0:
        # ADTS says layer 0, and has four bits of sync more.
        return AAC if head[1] & 0xF0 == 0xF0 else None  # noqa: PLR2004 - as above
    bitrate, rate = head[2] >> 4, head[2] >> 2 & 3
    # Of layer I there are no recordings, and its header is how text in UTF-16 begins.
    is_frame = layer != 3 and version != 1 and bitrate != 0xF and rate != 3  # noqa: PLR2004 - reserved values
    return MP3 if is_frame else None


def _id3_bytes(head: bytes) -> int:
    """Return how long an ID3 tag at the start of a file is."""
    size = 0
    for byte in head[6:_ID3_HEADER_BYTES]:
        size = size << 7 | byte & 0x7F
    has_footer = len(head) >= _ID3_HEADER_BYTES and bool(head[5] & _ID3_FOOTER)
    return size + _ID3_HEADER_BYTES * (2 if has_footer else 1)
