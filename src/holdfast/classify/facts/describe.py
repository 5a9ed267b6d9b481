"""An exception in words: safe, bounded, and never a reason for losing the failure.

Handlers raise things whose `str` fails, whose message is ten megabytes, or whose causes run in a
circle; a dead letter must still say what happened. This is where an exception's words enter: its
secrets are taken out here, before anything is cut, so that nobody after has to think of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, NamedTuple

from holdfast.classify.facts.places import places_along
from holdfast.core.values.failure import (
    MAX_EXCEPTION_TYPE_LENGTH,
    MAX_MESSAGE_LENGTH,
    MAX_STACK_LENGTH,
    clean_text,
)
from holdfast.secrecy import safe_name, safe_text

MAX_CHAIN: Final = 16
"""How many causes are followed."""
MAX_LEAVES: Final = 64
"""How many members of an exception group are looked at."""

_SHOWN_MEMBERS: Final = 8
_SHOWN_COMPLAINTS: Final = 20
_MAX_FRAMES_WALKED: Final = 10_000
_FIRST_FRAMES: Final = 8
_LAST_FRAMES: Final = 24
_INNER_MESSAGE_LENGTH: Final = 500


class Description(NamedTuple):
    """What a failure keeps of an exception."""

    exception_type: str
    message: str
    stack: str


def describe(exception: BaseException) -> Description:
    """Return the exception's type, message and stack, whatever its own methods do.

    The stack names file, line and function of each frame and no values, for the exception, its
    causes and the members of exception groups.
    """
    kind, message = type_name(exception), message_of(exception)
    return Description(kind, message or kind, stack_of(exception, kind, message))


def stack_of(exception: BaseException, kind: str, message: str) -> str:
    """Return the exception's stack, below its type and message as they were found before."""
    lines = [_headline(kind, message), *_frame_lines(exception.__traceback__)]
    if isinstance(exception, BaseExceptionGroup):
        lines += _member_lines(exception)
    if exception.__cause__ is not None or exception.__context__ is not None:
        lines += _cause_lines(exception)
    stack = "\n".join(lines)
    # All it is made of is safe by now, so that only its length has to be seen to.
    return stack if len(stack) <= MAX_STACK_LENGTH else clean_text(stack, MAX_STACK_LENGTH)


def type_name(exception: BaseException) -> str:
    """Return the dotted name of the exception's class, without `builtins`."""
    kind = type(exception)
    try:
        module, name = str(kind.__module__), str(kind.__qualname__)
    except Exception:  # noqa: BLE001 - a metaclass may raise anything
        module, name = "", type.__dict__["__name__"].__get__(kind)
    full_name = name if module in {"builtins", ""} else f"{module}.{name}"
    return safe_name(full_name, MAX_EXCEPTION_TYPE_LENGTH)


def message_of(exception: BaseException, limit: int = MAX_MESSAGE_LENGTH) -> str:
    """What the exception says of itself, or why it cannot."""
    try:
        said = None
        if type(exception).__name__ == "ValidationError":
            said = complaints_of(exception)
        text = said or str(exception)
    except Exception as error:  # noqa: BLE001 - an exception's own str may raise anything
        text = f"<str() of this exception raised {type_name(error)}>"
    return safe_text(text, limit)


def complaints_of(exception: BaseException) -> str | None:
    """What pydantic found wrong, if this is its `ValidationError`, without the values.

    It shows the ends of long ones itself.
    """
    if not type(exception).__module__.startswith("pydantic"):
        return None
    found = exception.errors(include_url=False, include_input=False)  # type: ignore[attr-defined]
    lines = [
        f"{'.'.join(map(str, each['loc']))}: {each['msg']} [{each['type']}]"
        for each in islice(found, _SHOWN_COMPLAINTS)
    ]
    return "\n".join((str(exception).partition("\n")[0], *lines))


def causes_of(exception: BaseException) -> Sequence[BaseException]:
    """The exception, then what it came from, as a traceback would show; never in a circle."""
    if exception.__cause__ is None and exception.__context__ is None:
        return (exception,)
    found: dict[int, BaseException] = {}
    current: BaseException | None = exception
    while current is not None and id(current) not in found and len(found) < MAX_CHAIN:
        found[id(current)] = current
        if current.__cause__ is not None:
            current = current.__cause__
        else:
            current = None if current.__suppress_context__ else current.__context__
    return tuple(found.values())


def leaves_of(group: BaseException) -> Iterator[BaseException]:
    """The exceptions inside a group, however nested; an exception that is no group is its own."""
    return islice(_leaves_of(group), MAX_LEAVES)


def _leaves_of(group: BaseException) -> Iterator[BaseException]:
    pending = [iter((group,))]
    while pending:
        exception = next(pending[-1], None)
        if exception is None:
            pending.pop()
        elif isinstance(exception, BaseExceptionGroup):
            pending.append(iter(exception.exceptions))
        else:
            yield exception


def _cause_lines(exception: BaseException) -> list[str]:
    lines: list[str] = []
    for cause in causes_of(exception)[1:]:
        lines.append(f"caused by {_headline(type_name(cause), message_of(cause))}")
        lines += _frame_lines(cause.__traceback__)
        if isinstance(cause, BaseExceptionGroup):
            lines += _member_lines(cause)
    return lines


def _member_lines(group: BaseException) -> list[str]:
    lines: list[str] = []
    for member in islice(leaves_of(group), _SHOWN_MEMBERS):
        lines.append(f"member {_headline(type_name(member), message_of(member))}")
        lines += _frame_lines(member.__traceback__)
    return lines


def _headline(kind: str, message: str) -> str:
    """What an exception says inside a stack, where its message is one among several."""
    if len(message) > _INNER_MESSAGE_LENGTH:
        message = clean_text(message, _INNER_MESSAGE_LENGTH)
    return f"{kind}: {message}"


def _frame_lines(traceback: TracebackType | None) -> list[str]:
    """File, line and function of each frame; read from the code objects, never from files."""
    lines = places_along(traceback, most=_MAX_FRAMES_WALKED)
    left_out = len(lines) - _FIRST_FRAMES - _LAST_FRAMES
    if left_out > 0:
        lines[_FIRST_FRAMES:-_LAST_FRAMES] = [f"  … {left_out} frames …"]
    return lines
