"""How a handler's parameters are filled, and how what it takes and returns is checked.

The first parameter is the job. Every other is found by its name: the result of the earlier stage
of that name, the whole payload for `payload`, else the payload's field of that name. Annotations
are types to check against, whatever pydantic understands.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, Final

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from holdfast.core.values.document import Limits, encode
from holdfast.errors import GiveUp, InvalidDocument, UsageError
from holdfast.runtime.attempts.attempt import JobContext, Wait
from holdfast.runtime.attempts.notify import Notify

PAYLOAD: Final = "payload"
JOB: Final = "job"
_NEVER_STORED: Final = (Wait, Notify, typing.NoReturn, typing.Never)
_PLAIN: Final = (dict, list, tuple, str, int, float, bool, type(None))
_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})
"""What JSON has, so that nothing has to be made of it."""
_KINDS: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


class Calling(Enum):
    """How a function is called."""

    STAGE = auto()
    """With the job first, then with what it names: results of stages, the payload, its fields."""
    WITH_JOB = auto()
    """With the job first, then with the fields of the payload as its arguments."""
    PLAIN = auto()
    """With the fields of the payload as its arguments, and nothing else."""


class Source(Enum):
    """Where a parameter's value comes from."""

    PAYLOAD = auto()
    FIELD = auto()
    RESULT = auto()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter beyond the first: its source, its type and whether it may be left out."""

    name: str
    source: Source
    adapter: TypeAdapter[Any] | None
    optional: bool


def parameters_of(
    function: Callable[..., Any], *, earlier: Sequence[str], calling: Calling = Calling.STAGE
) -> tuple[Parameter, ...]:
    """Read the handler's signature; `earlier` names the stages before it."""
    name = getattr(function, "__qualname__", repr(function))
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"handler {name} yields; a stage has one result, and returns it")
    signature = inspect.signature(function)
    given = list(signature.parameters.values())
    takes_job = calling is not Calling.PLAIN
    if (takes_job and not given) or any(parameter.kind not in _KINDS for parameter in given):
        first = "the job as its first parameter, and every other" if takes_job else "its arguments"
        raise UsageError(
            f"handler {name} must take {first} by name; *args and **kwargs cannot be filled"
        )
    hints = _hints(function, name)
    parameters = []
    for parameter in given[takes_job:]:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise UsageError(f"handler {name}: parameter {parameter.name!r} must allow its name")
        if calling is not Calling.STAGE:
            source = Source.FIELD
        elif parameter.name in earlier:
            source = Source.RESULT
        elif parameter.name == PAYLOAD:
            source = Source.PAYLOAD
        else:
            source = Source.FIELD
        adapter = _adapter(hints.get(parameter.name), f"{name}({parameter.name})")
        optional = parameter.default is not inspect.Parameter.empty
        parameters.append(Parameter(parameter.name, source, adapter, optional))
    return tuple(parameters)


def caller_of(
    function: Callable[..., Any],
    parameters: Sequence[Parameter],
    *,
    calling: Calling = Calling.STAGE,
) -> Callable[[JobContext], Any]:
    """Return what calls the handler with the job and everything it asks for."""
    takes_job = calling is not Calling.PLAIN
    if takes_job and not parameters:
        return function
    readers = [(parameter.name, _reader(parameter)) for parameter in parameters]

    def call(context: JobContext) -> Any:  # noqa: ANN401 - whatever the handler returns
        arguments = {}
        for name, read in readers:
            value = read(context)
            if value is not _ABSENT:
                arguments[name] = value
        return function(context, **arguments) if takes_job else function(**arguments)

    return call


def encoder_of(function: Callable[..., Any], *, limits: Limits) -> Callable[[Any], str]:
    """Return what turns the handler's value into JSON text, checked by its return annotation."""
    name = getattr(function, "__qualname__", repr(function))
    returned = _hints(function, name).get("return")
    adapter = None if returned in _NEVER_STORED else _adapter(returned, f"{name} ->")
    if adapter is None:
        return lambda value: encode(value, what="result", limits=limits)

    def encode_checked(value: object) -> str:
        try:
            document = adapter.dump_python(adapter.validate_python(value), mode="json")
        except ValidationError as error:
            raise invalid(error, what="result", path="") from error
        return encode(document, what="result", limits=limits)

    return encode_checked


def decoder_of(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return what makes the declared type of a handler's value again of its JSON."""
    name = getattr(function, "__qualname__", repr(function))
    returned = _hints(function, name).get("return")
    adapter = None if returned in _NEVER_STORED else _adapter(returned, f"{name} ->")
    return _as_it_is if adapter is None else adapter.validate_python


def _as_it_is(value: object) -> object:
    return value


def takes_the_job(function: Callable[..., Any]) -> bool:
    """Return whether the first parameter is the job, by its type or, without one, by its name."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None:
        return False
    if first.annotation is inspect.Parameter.empty:
        return first.name == JOB
    name = getattr(function, "__qualname__", repr(function))
    return _hints(function, name).get(first.name) is JobContext


class PayloadCheck:
    """What a pipeline's stages and its payload type ask of a payload."""

    def __init__(
        self,
        pipeline: str,
        *,
        payload_type: Any,  # noqa: ANN401 - any type pydantic understands
        parameters: Sequence[Parameter],
        limits: Limits,
    ) -> None:
        self._adapter = _adapter(payload_type, f"payload of {pipeline}")
        self.encode: Final[Callable[[object], str]] = partial(encode, what=PAYLOAD, limits=limits)
        """Return the JSON text of a checked payload, within the limits."""
        self._wholes: list[TypeAdapter[Any]] = []
        self._fields: dict[str, list[Parameter]] = {}
        for parameter in parameters:
            if parameter.source is Source.FIELD:
                self._fields.setdefault(parameter.name, []).append(parameter)
            elif parameter.source is Source.PAYLOAD and parameter.adapter is not None:
                self._wholes.append(parameter.adapter)

    def document(self, payload: object) -> Any:  # noqa: ANN401 - JSON of any shape
        """Return the payload as plain JSON values, or raise `InvalidDocument` naming the field."""
        if self._adapter is not None:
            payload = _checked_whole(self._adapter, payload)
        for adapter in self._wholes:
            checked = _checked_whole(adapter, payload)
            # One stage may not know what another needs, so that plain values stay as they are.
            payload = payload if isinstance(payload, _PLAIN) else checked
        if not self._fields:
            return payload
        if type(payload) is not dict and not isinstance(payload, Mapping):
            raise InvalidDocument(
                PAYLOAD,
                path="",
                limit=f"an object with {', '.join(sorted(self._fields))}",
                found=type(payload).__name__,
            )
        document = dict(payload)
        for name, parameters in self._fields.items():
            self._check_field(document, name, parameters)
        return document

    def _check_field(
        self, document: dict[str, Any], name: str, parameters: Sequence[Parameter]
    ) -> None:
        if name not in document:
            if all(parameter.optional for parameter in parameters):
                return
            raise InvalidDocument(
                PAYLOAD, path=f"/{name}", limit="given: a stage needs it", found="nothing"
            )
        for parameter in parameters:
            if parameter.adapter is None:
                continue
            try:
                # The adapter's own method prepares for options that nobody gives here.
                checked = parameter.adapter.validator.validate_python(document[name])
            except ValidationError as error:
                raise invalid(error, what=PAYLOAD, path=f"/{name}") from error
            if type(checked) not in _AS_THEY_ARE:
                checked = parameter.adapter.dump_python(checked, mode="json")
            document[name] = checked


def _checked_whole(adapter: TypeAdapter[Any], payload: object) -> Any:  # noqa: ANN401
    try:
        return adapter.dump_python(adapter.validate_python(payload), mode="json")
    except ValidationError as error:
        raise invalid(error, what=PAYLOAD, path="") from error


def invalid(error: ValidationError, *, what: str, path: str) -> InvalidDocument:
    """Return pydantic's first complaint as an `InvalidDocument`; values are not quoted."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = path + "".join(f"/{part}" for part in first["loc"])
    return InvalidDocument(
        what, path=place, limit="of the declared type", found=f"{first['type']}: {first['msg']}"
    )


def _reader(parameter: Parameter) -> Callable[[JobContext], Any]:
    """Return what finds a parameter's value, or `_ABSENT` where it is left to its default."""
    find = _FINDERS[parameter.source](parameter.name)
    adapter = parameter.adapter
    # As in `PayloadCheck`: not by the adapter's own method.
    validate = None if adapter is None else adapter.validator.validate_python

    def read(context: JobContext) -> Any:  # noqa: ANN401 - whatever it is declared to be
        value = find(context)
        if value is _ABSENT:
            if not parameter.optional:
                raise GiveUp("PAYLOAD_INVALID", _MISSING[parameter.source].format(parameter.name))
            return value
        if validate is None:
            return value
        try:
            return validate(value)
        except ValidationError as error:
            flaw = invalid(error, what=parameter.name, path="")
            raise GiveUp("PAYLOAD_INVALID", str(flaw)) from error

    return read


def _result_finder(name: str) -> Callable[[JobContext], Any]:
    return lambda context: context.results.get(name, _ABSENT)


def _payload_finder(_: str) -> Callable[[JobContext], Any]:
    return lambda context: context.payload


def _field_finder(name: str) -> Callable[[JobContext], Any]:
    def find(context: JobContext) -> Any:  # noqa: ANN401 - JSON of any shape
        payload = context.payload
        return payload.get(name, _ABSENT) if isinstance(payload, dict) else _ABSENT

    return find


_ABSENT: Final = object()
_FINDERS: Final = {
    Source.RESULT: _result_finder,
    Source.PAYLOAD: _payload_finder,
    Source.FIELD: _field_finder,
}
_MISSING: Final = {
    Source.RESULT: "there is no result of stage {!r}: the plan of this job has none",
    Source.FIELD: "the payload has no field {!r}",
}


def _hints(function: Callable[..., Any], name: str) -> Mapping[str, Any]:
    while isinstance(function, partial):
        function = function.func
    if not hasattr(function, "__annotations__"):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"handler {name}: its annotations cannot be read ({error}); "
            "types must be importable where the handler is defined"
        ) from error


def _adapter(annotation: Any, where: str) -> TypeAdapter[Any] | None:  # noqa: ANN401
    if annotation is None or annotation is Any or annotation is type(None):
        return None
    try:
        return TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"{where}: {annotation!r} cannot be checked or stored as JSON; use a dataclass, "
            f"a TypedDict, a pydantic model or plain types ({reason})"
        ) from error
