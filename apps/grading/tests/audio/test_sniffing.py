import pytest

from grading.audio import sniff
from grading.audio.sniff import container_of

EBML = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84"
MP3_FRAME = b"\xff\xfb\x90\x64" + bytes(100)
ADTS_FRAME = b"\xff\xf1\x50\x80" + bytes(100)


def tagged(content: bytes, *, size: int = 300, flags: int = 0) -> bytes:
    """Content after an ID3 tag."""
    header = b"ID3\x04\x00" + bytes([flags, 0, 0, size >> 7, size & 0x7F])
    footer = bytes(10) if flags else b""
    return header + bytes(size) + footer + content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (EBML + b"webm" + bytes(50), sniff.WEBM),
        (EBML + b"matroska" + bytes(50), sniff.MATROSKA),
        (b"RIFF\0\0\0\0WAVEfmt ", sniff.WAV),
        (b"RIFF\0\0\0\0AVI LIST", sniff.AVI),
        (b"OggS\0\2", sniff.OGG),
        (b"fLaC\0\0", sniff.FLAC),
        (b"\0\0\0\x20ftypM4A ", sniff.MP4),
        (b"\0\0\0\x20ftypqt  ", sniff.QUICKTIME),
        (b"\0\0\0\x20ftyp3gp4", sniff.THREE_GP),
        (b"\0\0\0\x08wide\0\0\0\0mdat", sniff.QUICKTIME),
        (b"#!AMR-WB\n", sniff.AMR),
        (b"FORM\0\0\0\0AIFC", sniff.AIFF),
        (MP3_FRAME, sniff.MP3),
        (ADTS_FRAME, sniff.AAC),
        (tagged(MP3_FRAME), sniff.MP3),
        (tagged(ADTS_FRAME), sniff.AAC),
        (tagged(b"fLaC", flags=0x10), sniff.FLAC),
        (tagged(b"fLaC", size=10_000), sniff.FLAC),
    ],
)
def test_a_recording_is_known_by_its_first_bytes(tmp_path, content, expected):
    (tmp_path / "a").write_bytes(content)

    assert container_of(tmp_path / "a") is expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a",
        b"RIFF",
        b"RIFF\0\0\0\0WEBP",
        b"<html><audio></html>",
        b"%PDF-1.7\n",
        b"\x89PNG\r\n\x1a\n",
        b"PK\x03\x04",
        b"#EXTM3U\n#EXT-X-VERSION:3\n",
        b"ffconcat version 1.0\n",
        b"\xff\xfe" + "text".encode("utf-16-le"),
        b"\xff\xff\xff\xff",
        "Thưa ông".encode(),
    ],
)
def test_other_files_are_no_recordings(tmp_path, content):
    (tmp_path / "a.webm").write_bytes(content)

    assert container_of(tmp_path / "a.webm") is None
