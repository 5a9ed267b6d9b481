"""Which failures have the same cause, as far as a program can tell."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.core.values.failure import Failure

LENGTH: Final = 16
_REMEMBERED: Final = 128
_REMEMBERED_FRAMES: Final = 2_048
_MESSAGE_LENGTH: Final = 500

# The lines that `Failure.stack` holds: frames as path:line:function, and causes by their type.
_FRAME: Final = re.compile(r"^  ([^\n]+):\d+:([^\n:]+)$", re.MULTILINE)
_CAUSE: Final = re.compile(r"^(?:caused by|member) ([\w.<>]+)(?::|$)", re.MULTILINE)
_PACKAGE_FILES: Final = frozenset({"__init__", "__main__"})

_VALUES: Final = re.compile(
    r"'[^'\n]{0,500}'|\"[^\"\n]{0,500}\"|`[^`\n]{0,500}`"  # what is quoted
    r"|\b[a-z][a-z0-9+.-]{0,20}://\S+"  # addresses
    r"|(?<![\w/])~?/[\w.@-]+(?:/[\w.@-]+)*/?|\b[A-Za-z]:\\\S+"  # paths
    r"|\b0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b"  # memory, hashes, ids
)
_DIGITS: Final = re.compile(r"\d+")


def fingerprint(failure: Failure, stage: str) -> str:
    """Return a short text that failures of the same cause in the same stage share.

    It is made of the error class, the stage, the exceptions' types and the functions they came
    through; where there is no stack, of the message without what differs from job to job.
    """
    places = _places(failure.stack) or _without_values(failure.message[:_MESSAGE_LENGTH])
    kind = _without_digits(failure.exception_type)
    parts = f"{failure.error_class}\n{stage}\n{kind}\n{places}"
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:LENGTH]


# Failures come in storms of the same stack.
@lru_cache(maxsize=_REMEMBERED)
def _places(stack: str) -> str:
    """Return the functions and the types of causes that a stack names; nothing without frames."""
    # Sets: a recursion's depth and the order of a group's members say nothing about the cause.
    frames = set(_FRAME.findall(stack))
    if not frames:
        return ""
    causes = map(_without_digits, _CAUSE.findall(stack))
    return "\n".join(sorted({*(_place(*frame) for frame in frames), *causes}))


# The same frames stand under messages that differ.
@lru_cache(maxsize=_REMEMBERED_FRAMES)
def _place(path: str, function: str) -> str:
    """Return the file's name, without where it was installed, and the function."""
    parts = path.replace("\\", "/").split("/")
    name = parts[-1].removesuffix(".py")
    if name in _PACKAGE_FILES and len(parts) > 1:
        name = f"{parts[-2]}/{name}"
    return _without_digits(f"{name}:{function}")


def _without_values(message: str) -> str:
    return " ".join(_without_digits(_VALUES.sub("?", message)).split())


def _without_digits(text: str) -> str:
    return _DIGITS.sub("0", text)
