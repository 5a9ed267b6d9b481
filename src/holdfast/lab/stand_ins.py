"""The stand-ins of all systems that run here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Self

from holdfast.errors import InvalidValue, UnknownUpstream, UsageError
from holdfast.lab.behaviour import Behaviour
from holdfast.lab.stand_in_server import StandInServer
from holdfast.systems import System
from holdfast.variables import prefix_of


class StandIns:
    """Stand-in servers by the name of the upstream whose place they take.

    One is started for each that a system declares, but for those whose variable is set in the
    environment: then the real upstream, or another stand-in, is meant.
    """

    def __init__(self, systems: Iterable[System], environment: Mapping[str, str]) -> None:
        self._servers: dict[str, StandInServer] = {}
        self._variables: dict[str, str] = {}
        for system in systems:
            for stand_in in system.stand_ins:
                if not stand_in.is_needed(system.name, environment):
                    continue
                if stand_in.upstream in self._servers:
                    self.close()
                    raise UsageError(
                        f"two systems bring a stand-in for the upstream {stand_in.upstream!r}; "
                        f"leave one of them out with --systems, or set {stand_in.variable}"
                    )
                server = StandInServer(stand_in)
                self._servers[stand_in.upstream] = server
                # For its system alone: others may read a variable of the same name.
                self._variables[f"{prefix_of(system.name)}{stand_in.variable}"] = server.url

    def __iter__(self) -> Iterator[StandInServer]:
        return iter(self._servers.values())

    def __len__(self) -> int:
        return len(self._servers)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Let all of them take calls."""
        for server in self:
            server.start()

    def tell(self, environment: MutableMapping[str, str]) -> None:
        """Put their addresses where systems look for them."""
        environment.update(self._variables)

    def behave(self, upstream: str, behaviour: str) -> None:
        """Have one behave so from now on, or as a fault of its own says.

        Raises `UnknownUpstream`, or `InvalidValue` for what it cannot do.
        """
        server = self._servers.get(upstream)
        if server is None:
            raise UnknownUpstream(upstream, known=self._servers)
        faults = server.stand_in.faults
        if behaviour in faults:
            server.behave(Behaviour.HEALTHY, fault=behaviour)
        elif behaviour in set(Behaviour):
            server.behave(Behaviour(behaviour))
        else:
            limit = f"one of {', '.join([*Behaviour, *faults])}"
            raise InvalidValue("lab", field="behaviour", value=behaviour, limit=limit)

    def close(self) -> None:
        """End all of them."""
        for server in self:
            server.close()
