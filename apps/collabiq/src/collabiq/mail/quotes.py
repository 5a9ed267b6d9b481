"""Which lines of a mail are its own, which are quoted, and which forwarded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from collabiq.mail.phrases import FIELD, FORWARDED, FROM_FIELDS, ORIGINAL, RULE, WROTE

_MAX_LINE: Final = 400
_MAX_WRAPPED: Final = 3
"""Over how many lines mailers break the one before a quote."""
_FEW_FIELDS: Final = 3
_MAX_FIELDS: Final = 12
_FORWARDS: Final = frozenset("-bB전")
"""What a line that announces a forward begins with."""


SegmentKind = Literal["quote", "forward_header"] | None


@dataclass(slots=True)
class Segment:
    """Lines that belong together; those of the mail itself are of no kind."""

    kind: SegmentKind
    lines: list[str] = field(default_factory=list)


def split_quotes(lines: Sequence[str], *, is_forward: bool) -> list[Segment]:
    """Return the lines in segments.

    A history under its usual heading is quoted to the end, unless the mail is there to forward it;
    lines with `>` are quoted wherever they stand.
    """
    return list(_merged(_marked(lines, is_forward=is_forward)))


def _marked(lines: Sequence[str], *, is_forward: bool) -> Iterator[tuple[SegmentKind, str]]:
    """Yield every line with what it is."""
    at, count, forwarded = 0, len(lines), not is_forward
    while at < count:
        line = lines[at]
        begins = line.lstrip()[:1]
        if begins == ">":
            yield "quote", line
            at += 1
            continue
        if begins in _FORWARDS and FORWARDED.match(line[:_MAX_LINE]):
            forwarded = True
            end = _behind_fields(lines, at + 1)
            yield from (("forward_header", each) for each in lines[at:end])
            at = end
            continue
        end = _heading_end(lines, at)
        if end == at:
            yield None, line
            at += 1
        elif not forwarded and _has_fields(lines, at, end):
            forwarded = True
            yield from (("forward_header", each) for each in lines[at:end])
            at = end
        elif _quotes_follow(lines, end):
            yield from (("quote", each) for each in lines[at:end])
            at = end
        else:
            yield from (("quote", each) for each in lines[at:])
            return


def _heading_end(lines: Sequence[str], at: int) -> int:
    """Return the line behind a heading of quoted history that begins here, or the line itself."""
    line = lines[at]
    if not line or len(line) > _MAX_LINE:
        return at
    if "--" in line and ORIGINAL.match(line):
        return max(_behind_fields(lines, at + 1), at + 1)
    is_rule = not line[-1].isalnum() and RULE.match(line) is not None
    if is_rule or (":" in line and FIELD.match(line)):
        start = at + 1 if is_rule else at
        end = _behind_fields(lines, start)
        return end if _is_block_of_fields(lines[start:end]) else at
    return _wrote_end(lines, at)


def _wrote_end(lines: Sequence[str], at: int) -> int:
    """Return the line behind `On … wrote:`, which may be broken over several."""
    if not any(line.endswith(":") for line in lines[at : at + _MAX_WRAPPED]):
        return at
    joined = ""
    for more in range(_MAX_WRAPPED):
        if at + more >= len(lines):
            break
        line = lines[at + more].strip()
        if not line or len(line) > _MAX_LINE:
            break
        joined = f"{joined} {line}".strip()
        if line.endswith(":") and _is_wrote(joined):
            return at + more + 1
    return at


def _is_wrote(line: str) -> bool:
    """Return whether a line says who wrote when; it has a date or an address."""
    if len(line) > _MAX_LINE or WROTE.match(line) is None:
        return False
    return "@" in line or any(character.isdigit() for character in line)


def _behind_fields(lines: Sequence[str], start: int) -> int:
    """Return the line behind `From: …`, `Date: …` and so on, and the empty ones among them."""
    at, last = start, start
    while at < min(len(lines), start + _MAX_FIELDS):
        line = lines[at]
        if FIELD.match(line[:_MAX_LINE]):
            last = at + 1
        elif line.strip() and at > last:
            break
        at += 1
    return last


def _is_block_of_fields(lines: Sequence[str]) -> bool:
    names = [
        found[1].lower().replace(" ", "")
        for line in lines
        if (found := FIELD.match(line[:_MAX_LINE])) is not None
    ]
    return len(names) >= _FEW_FIELDS and bool(FROM_FIELDS & set(names))


def _has_fields(lines: Sequence[str], at: int, end: int) -> bool:
    return any(FIELD.match(line[:_MAX_LINE]) for line in lines[at:end])


def _quotes_follow(lines: Sequence[str], at: int) -> bool:
    """Return whether the history is marked line by line, so that answers may stand in it."""
    following = (line for line in lines[at : at + 5] if line.strip())
    return next(following, "").lstrip().startswith(">")


def _merged(marked: Iterator[tuple[SegmentKind, str]]) -> Iterator[Segment]:
    current: Segment | None = None
    for kind, line in marked:
        if current is None or current.kind != kind:
            if current is not None:
                yield current
            current = Segment(kind)
        current.lines.append(line)
    if current is not None:
        yield current
