"""What a system brings for development: stand-ins for its upstreams, and switches of the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.errors import InvalidValue
from holdfast.pipeline.names import checked_name
from holdfast.variables import prefix_of

BEHAVIOURS: Final = ("healthy", "slow", "failing", "limiting", "hanging", "down")
"""What every stand-in can do; its own faults need other names."""
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Call(NamedTuple):
    """A request that a stand-in got."""

    method: str
    path: str
    """With its query, as it was sent."""
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes


class Answer(NamedTuple):
    """What a stand-in answers.

    A body that is an iterable is sent piece by piece as it comes, and its end is the end of the
    connection; what it raises breaks the answer off.
    """

    status: int = 200
    body: bytes | Iterable[bytes] = b"{}"
    content_type: str = "application/json"
    headers: Mapping[str, str] = _NO_HEADERS


class Table(NamedTuple):
    """What a stand-in holds, as the lab shows it: names of columns, and texts of rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What takes the place of an upstream over HTTP on a developer's machine.

    `upstream` is the name of the `Upstream` that is called there. The stand-in's address is put
    into the environment variable `variable`, unless it is set already. `answer` is what
    it does while it is well; it gets bodies of `max_body_bytes` at most. `faults` by name are what
    it answers while the lab has that one switched on; the first line of a docstring explains it.
    One that raises `ConnectionError` leaves the call without an answer. `table` returns what the
    lab shows of what the stand-in holds.
    """

    upstream: str
    variable: str
    answer: Callable[[Call], Answer]
    max_body_bytes: int = 1024 * 1024
    faults: Mapping[str, Callable[[Call], Answer]] = field(default_factory=dict)
    table: Callable[[], Table] | None = None

    def __post_init__(self) -> None:
        checked_name(self.upstream, what="upstream")
        for name in self.faults:
            checked_name(name, what="fault")
            if name in BEHAVIOURS:
                limit = f"another name than {', '.join(BEHAVIOURS)}, which every stand-in has"
                raise InvalidValue("StandIn", field="faults", value=name, limit=limit)

    def is_needed(self, system: str, environment: Mapping[str, str]) -> bool:
        """Return whether nobody has said where the upstream of a system is."""
        own = f"{prefix_of(system)}{self.variable}"
        return not any(environment.get(name, "").strip() for name in (self.variable, own))


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch on the page of the lab for something of the system's own.

    `options` are the values it can have, each with what it means in a sentence; the first one is
    how it should be. `get` returns the present value, `set` changes it. Both are called in threads
    of the server.
    """

    name: str
    title: str
    options: Mapping[str, str]
    get: Callable[[], str]
    set: Callable[[str], None]

    def __post_init__(self) -> None:
        checked_name(self.name, what="switch")
        if not self.options:
            limit = "at least one value with its explanation"
            raise InvalidValue("Switch", field="options", value=dict(self.options), limit=limit)
