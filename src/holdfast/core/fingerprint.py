"""Which failures have the same cause, as far as a program can tell."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.core.failure import Failure

LENGTH: Final = 16
_REMEMBERED: Final = 128
_MESSAGE_LENGTH: Final = 500

# The lines that `Failure.stack` holds: frames as path:line:function, and causes by their type.
_FRAME: Final = re.compile(r"  (?P<path>[^\n]+):\d+:(?P<function>[^\n:]+)")
_CAUSE: Final = re.compile(r"(?:caused by|member) (?P<type>[\w.<>]+)(?::|$)")
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
    return _fingerprint(
        failure.error_class, stage, failure.exception_type, failure.stack, failure.message
    )


# Failures come in storms of the same stack.
@lru_cache(maxsize=_REMEMBERED)
def _fingerprint(
    error_class: str, stage: str, exception_type: str, stack: str, message: str
) -> str:
    # A set: a recursion's depth and the order of a group's members say nothing about the cause.
    places = sorted(_places(stack)) or [_without_values(message[:_MESSAGE_LENGTH])]
    parts = "\n".join((error_class, stage, _without_digits(exception_type), *places))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:LENGTH]


def _places(stack: str) -> set[str]:
    """Return modules with functions, and types of causes, that a stack names."""
    found: set[str] = set()
    frames = False
    for line in stack.split("\n"):
        frame = _FRAME.fullmatch(line)
        if frame is not None:
            frames = True
            function = _without_digits(frame["function"])
            found.add(f"{_module(frame['path'])}:{function}")
        elif (cause := _CAUSE.match(line)) is not None:
            found.add(_without_digits(cause["type"]))
    return found if frames else set()


def _module(path: str) -> str:
    """Return the file's name without where it was installed."""
    parts = path.replace("\\", "/").split("/")
    name = parts[-1].removesuffix(".py")
    if name in _PACKAGE_FILES and len(parts) > 1:
        name = f"{parts[-2]}/{name}"
    return _without_digits(name)


def _without_values(message: str) -> str:
    return " ".join(_without_digits(_VALUES.sub("?", message)).split())


def _without_digits(text: str) -> str:
    return _DIGITS.sub("0", text)
