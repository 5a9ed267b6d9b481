"""Systems: complete applications on holdfast that `holdfast up` finds, runs and mounts.

A package brings one with an entry point of the group `holdfast.systems` whose value is a `System`.
The engine knows none of them. A system reads where its upstreams are from the environment and
nowhere else, so that the stand-ins of development can take their place without its knowing.
"""

from holdfast.engine.attention import Need
from holdfast.engine.figures import Figure
from holdfast.systems.contract import LAB_VARIABLE, Asgi, Built, Parts, Service, System
from holdfast.systems.finding import (
    InstalledPipelines,
    build,
    find,
    installed,
    installed_tables,
    observe,
    observe_installed,
    tables_of,
)
from holdfast.systems.stand_in import Answer, Call, StandIn, Switch, Table

__all__ = [
    "LAB_VARIABLE",
    "Answer",
    "Asgi",
    "Built",
    "Call",
    "Figure",
    "InstalledPipelines",
    "Need",
    "Parts",
    "Service",
    "StandIn",
    "Switch",
    "System",
    "Table",
    "build",
    "find",
    "installed",
    "installed_tables",
    "observe",
    "observe_installed",
    "tables_of",
]
