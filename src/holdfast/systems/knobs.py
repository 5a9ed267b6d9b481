"""What the systems of a process are set to, and what an operator should know about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from holdfast.config.sources import Origin
from holdfast.redaction import secrets_in_environment
from holdfast.systems.contract import System
from holdfast.variables import OF_PROCESS, Reading, Variables, prefix_of

HIDDEN: Final = "***"
_DEFAULT: Final = Origin("default", "")
_NEAR: Final = 0.6
"""How like a known name one must be to be taken for a slip of it."""
_VERY_NEAR: Final = 0.8
"""The same, of a system that may read more than is known."""

Read = tuple[System, Variables]
"""A system, and the variables as it has looked at them."""


class Knob(NamedTuple):
    """What one system uses for one name, and where that comes from."""

    system: str
    name: str
    value: str | None
    origin: Origin


class Remark(NamedTuple):
    """Something about variables that an operator should know."""

    event: str
    message: str


def read_by(systems: Sequence[System], environment: Mapping[str, str]) -> list[Read]:
    """Return the variables as each system reads them, without building any.

    A system that does not say how its settings are read is left out.
    """
    read: list[Read] = []
    for system in systems:
        if system.read_settings is not None:
            given = Variables.of(environment, system=system.name)
            system.read_settings(given)
            read.append((system, given))
    return read


def knobs(read: Sequence[Read], *, secret_variables: Collection[str] = ()) -> Iterator[Knob]:
    """Yield what each system uses, without secrets; what belongs to the process is left out."""
    for system, given in read:
        for name, reading in sorted(given.readings.items()):
            if not _is_of_process(name):
                origin = Origin("environment", reading.variable) if reading.variable else _DEFAULT
                yield Knob(system.name, name, _shown(reading, secret_variables), origin)


def remarks_on(read: Sequence[Read], environment: Mapping[str, str]) -> list[Remark]:
    """Return what is set for all systems and moves one off its default, or has no effect."""
    return [*_shared(read), *_without_effect(read, environment)]


def _shared(read: Sequence[Read]) -> Iterator[Remark]:
    """Yield a remark for each plain name that several systems read and that moves one of them."""
    names = {name for _, given in read for name in given.readings}
    for name in sorted(name for name in names if not _is_of_process(name)):
        readers = [
            (system, given.readings[name]) for system, given in read if name in given.readings
        ]
        moved = [(system, found) for system, found in readers if _is_moved(found)]
        if len(readers) > 1 and moved:
            value = _shown(moved[0][1], ())
            instead = " and ".join(
                f"{system.name} uses {value} instead of {found.default}" for system, found in moved
            )
            own = f"{prefix_of(moved[0][0].name)}{name}"
            yield Remark(
                "shared_variable",
                f"{name}={value} counts for every system that runs: {instead}; "
                f"set it for one alone with its name before it, such as {own}",
            )


def _is_of_process(name: str) -> bool:
    """Return whether a variable sets the process: systems may read it as well."""
    return name in OF_PROCESS or name.startswith("HOLDFAST_")


def _is_moved(reading: Reading) -> bool:
    """Return whether a plain variable gives another value than the system's default."""
    if reading.variable != reading.name or reading.default is None:
        return False
    return _comparable(reading.value) != _comparable(reading.default)


def _comparable(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _without_effect(read: Sequence[Read], environment: Mapping[str, str]) -> Iterator[Remark]:
    """Yield a remark for each variable with a system's prefix that the system does not know."""
    prefixes = {prefix_of(system.name): (system, given) for system, given in read}
    for variable in sorted(name for name, text in environment.items() if text.strip()):
        prefix = max((each for each in prefixes if variable.startswith(each)), key=len, default="")
        if prefix:
            system, given = prefixes[prefix]
            why = _why_unknown(variable, prefix, system, given)
            if why is not None:
                yield Remark("unknown_variable", f"{variable} {why}")


def _why_unknown(variable: str, prefix: str, system: System, given: Variables) -> str | None:
    """Return why a variable sets nothing; None for one that is known, or may be."""
    name = variable.removeprefix(prefix)
    if variable in given.readings:
        return None
    if name in OF_PROCESS:
        return f"sets nothing: all systems of a process share it; set {name}"
    known = {each.removeprefix(prefix) for each in given.readings} - OF_PROCESS
    if name in known or variable in system.other_variables:
        return None
    all_known = system.read_settings is not None
    near = get_close_matches(name, known, n=1, cutoff=_NEAR if all_known else _VERY_NEAR)
    if near:
        return f"names nothing that {system.name} reads; did you mean {prefix}{near[0]}?"
    if not all_known:
        return None
    return f"names nothing that {system.name} reads; see: holdfast config show"


def _shown(reading: Reading, secret_variables: Collection[str]) -> str | None:
    """Return a value without the secrets in it."""
    value = reading.value
    if value is None or reading.variable is None:
        return value
    for secret in secrets_in_environment({reading.variable: value}, secret_variables):
        value = value.replace(secret, HIDDEN)
    return value
