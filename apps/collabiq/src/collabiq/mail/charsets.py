"""From bytes to text: as declared, else as it looks, and never an exception."""

from __future__ import annotations

import codecs
from typing import Final

import charset_normalizer

_ALIASES: Final = {
    # What is called EUC-KR is CP949 as often as not, which has all of it and 8,822 syllables more.
    **dict.fromkeys(
        ("euc-kr", "euckr", "ks_c_5601-1987", "ks_c_5601", "ksc5601", "ksc_5601", "korean"), "cp949"
    ),
    **dict.fromkeys(("ks_c_5601-1989", "windows-949", "ms949", "uhc", "x-windows-949"), "cp949"),
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis"), "cp932"),
    **dict.fromkeys(("utf8", "unicode-1-1-utf-8"), "utf-8"),
}
_ONE_BYTE: Final = frozenset({"ascii", "cp1252", "iso8859-1", "iso8859-15"})
"""They take any bytes or none above 127: being valid says nothing."""
_NOT_FOR_MAIL: Final = frozenset(
    {"utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined"}
)
_ISO_2022_KR: Final = b"\x1b$)C"
_UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SAMPLE_BYTES: Final = 32 * 1024
_BROKEN_SHARE: Final = 0.02
"""Of characters that may be lost before a text is taken for another charset's."""
_KOREAN_SHARE: Final = 0.8


def decoded(raw: bytes, *, declared: str | None = None) -> str:
    """Return bytes as text.

    A declared charset is believed unless the bytes contradict it; without one it is UTF-8, then
    CP949, then what the statistics of the bytes say.
    """
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
        declared = "utf-8"
    elif raw.startswith(_UTF_16_MARKS):
        return raw.decode("utf-16", "replace")
    codec = _codec(declared)
    if codec is None or codec in _ONE_BYTE:
        return _guessed(raw, fallback=codec)
    text = _strictly(raw, codec)
    if text is not None:
        return text
    lenient = raw.decode(codec, "replace")
    if lenient.count("\ufffd") <= _BROKEN_SHARE * len(lenient):
        return lenient
    return _guessed(raw, fallback=codec)


def _codec(declared: str | None) -> str | None:
    """Return the name of a text codec for a charset, or None when there is none."""
    name = (declared or "").strip().strip("\"'").lower()
    try:
        found = codecs.lookup(_ALIASES.get(name, name))
    except (LookupError, ValueError):
        return None
    # Codecs such as `hex` do not make text; utf-7 and escapes make text of what is none.
    if not found._is_text_encoding or found.name.replace("_", "-") in _NOT_FOR_MAIL:  # noqa: SLF001 - the only way to tell
        return None
    return found.name


def _guessed(raw: bytes, *, fallback: str | None) -> str:
    """Return text of bytes about which nothing reliable is declared."""
    if _ISO_2022_KR in raw[:_SAMPLE_BYTES]:
        found = _strictly(raw, "iso2022_kr")
        if found is not None:
            return found
    found = _strictly(raw, "utf-8")
    if found is not None:
        return found
    korean = _strictly(raw, "cp949")
    if korean is not None and (fallback is None or _is_korean(korean)):
        return korean
    lenient = raw.decode("utf-8", "replace")
    if lenient.count("\ufffd") <= _BROKEN_SHARE * len(lenient):
        return lenient
    return _by_statistics(raw, fallback=fallback)


def _by_statistics(raw: bytes, *, fallback: str | None) -> str:
    if fallback in _ONE_BYTE:
        return raw.decode("cp1252", "replace")
    best = charset_normalizer.from_bytes(raw[:_SAMPLE_BYTES]).best()
    # The sample may end within a character, so that the whole is decoded leniently.
    return raw.decode(best.encoding if best is not None else "utf-8", "replace")


def _is_korean(text: str) -> bool:
    beyond = [character for character in text[:_SAMPLE_BYTES] if character > "\x7f"]
    syllables = sum("가" <= character <= "힣" for character in beyond)
    return bool(beyond) and syllables >= _KOREAN_SHARE * len(beyond)


def _strictly(raw: bytes, codec: str) -> str | None:
    try:
        return raw.decode(codec)
    except (UnicodeDecodeError, UnicodeError):
        return None
