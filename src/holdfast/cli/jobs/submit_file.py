"""Submissions from a file, one JSON object a line, made in bulk."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final, NamedTuple, get_args, get_type_hints

from holdfast.cli.shell.complaint import document_of
from holdfast.cli.shell.exit_codes import ExitCode, code_of
from holdfast.cli.shell.options import MOMENT_FORM
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.progress import Progress
from holdfast.config.values import DURATION_FORM, seconds_of
from holdfast.core.values.document import Limits, parse
from holdfast.core.values.json_flaws import MAX_BYTES, MAX_DEPTH
from holdfast.engine.app import Holdfast
from holdfast.engine.submit.submission import Submit, Submitted
from holdfast.errors import HoldfastError, InvalidDocument, InvalidValue, UnavailableError

CHUNK: Final = 1_000
ROOM_BYTES: Final = 64 * 1024
FIELDS: Final = Submit._fields
_LIMITS: Final = {str: "text", bool: "true or false", int: "a whole number"}
_TYPES: Final = {
    name: kind
    for name, hint in get_type_hints(Submit).items()
    for kind in get_args(hint) or (hint,)
    if kind in _LIMITS
}
"""The fields that are what JSON has; the others are spans and times."""


class Line(NamedTuple):
    """A line of the file: what to submit, or what is wrong with it."""

    number: int
    submit: Submit | None
    error: HoldfastError | None


class Tally:
    """How many lines came to what."""

    def __init__(self) -> None:
        self.created = 0
        self.known = 0
        self.refused = 0

    def count(self, result: Submitted) -> None:
        """Add a result."""
        if result.error is not None:
            self.refused += 1
        elif result.created:
            self.created += 1
        else:
            self.known += 1

    def __str__(self) -> str:
        return f"{self.created} created, {self.known} known already, {self.refused} refused"


def submit_file(
    engine: Holdfast, output: Output, pipeline: str, file: BinaryIO, *, defaults: Submit
) -> ExitCode:
    """Submit every line and print what became of each; 1 when some were refused."""
    # A database that cannot be used is said once, not once a line.
    engine.store.check_schema()
    tally = Tally()
    lines = read_lines(file, defaults, limits=_limits_of_a_line(engine.pipelines[pipeline].limits))
    with Progress(output, "Submitting", total=None) as progress:
        while chunk := list(itertools.islice(lines, CHUNK)):
            good = [line.submit for line in chunk if line.submit is not None]
            try:
                made = iter(engine.submit_many(pipeline, good))
            except UnavailableError:
                output.remark(
                    f"Stopped at line {chunk[0].number} ({tally}). Lines with a key may be "
                    "submitted again: they are not made twice."
                )
                raise
            results = [
                (line.number, _refused(line.error) if line.submit is None else next(made))
                for line in chunk
            ]
            progress.advance(len(chunk))
            told = [pair for pair in results if _is_told(output, pair[1])]
            with progress.out_of_the_way() if told else nullcontext():
                for number, result in told:
                    _tell(output, number, result)
            for _, result in results:
                tally.count(result)
    output.remark(f"{tally}.")
    return ExitCode.FAILED if tally.refused else ExitCode.OK


def read_lines(file: BinaryIO, defaults: Submit, *, limits: Limits) -> Iterator[Line]:
    """Yield the submissions of a file of JSON lines; empty lines are passed over.

    Of a line that is too long only its beginning is ever held.
    """
    longest = limits.max_bytes + 1
    for number in itertools.count(1):
        text = rest = file.readline(longest)
        if not text:
            return
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        if not text.strip():
            continue
        try:
            yield Line(number, _submit_of(text, number, defaults, limits), None)
        except HoldfastError as error:
            yield Line(number, None, error)


def _limits_of_a_line(payload: Limits) -> Limits:
    """Return limits that leave room around a payload; its own are checked when it is submitted."""
    return Limits(
        max_bytes=min(payload.max_bytes + ROOM_BYTES, MAX_BYTES),
        max_depth=min(payload.max_depth + 1, MAX_DEPTH),
    )


def _submit_of(text: bytes, number: int, defaults: Submit, limits: Limits) -> Submit:
    what = f"line {number}"
    document = parse(text, what=what, limits=limits)
    if not isinstance(document, dict):
        raise InvalidDocument(
            what, path="", limit='an object such as {"payload": …}', found=type(document).__name__
        )
    for name in document:
        if name not in FIELDS:
            raise InvalidDocument(
                what, path=f"/{name}", limit=f"one of {', '.join(FIELDS)}", found="another field"
            )
    given: dict[str, Any] = {
        name: value if name == "payload" else _value(what, name, value)
        for name, value in document.items()
        if name == "payload" or value is not None
    }
    return defaults._replace(**given)


def _value(what: str, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a field as `Submit` takes it: spans in seconds, times aware."""
    expected = _TYPES.get(name)
    if expected is not None:
        if type(value) is not expected:
            raise InvalidValue(what, field=name, value=value, limit=_LIMITS[expected])
        return value
    if name != "run_at":
        try:
            return seconds_of(value)
        except ValueError:
            if name == "delay":
                raise InvalidValue(what, field=name, value=value, limit=DURATION_FORM) from None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidValue(what, field=name, value=value, limit=MOMENT_FORM) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _refused(error: HoldfastError | None) -> Submitted:
    return Submitted(None, created=False, error=error)


def _is_told(output: Output, result: Submitted) -> bool:
    """Return whether a result is printed: on a terminal only what needs a person is."""
    return not output.live or result.error is not None


def _tell(output: Output, number: int, result: Submitted) -> None:
    error = result.error
    if output.as_json:
        output.document(
            {
                "line": number,
                "id": result.job_id,
                "created": result.created,
                "error": None if error is None else document_of(error, code_of(error)),
            }
        )
    elif error is not None:
        output.line(f"line {number}  refused  {error}")
    else:
        output.line(f"line {number}  {'created' if result.created else 'known'}  {result.job_id}")
