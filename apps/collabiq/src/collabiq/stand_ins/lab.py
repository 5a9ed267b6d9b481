"""The stand-ins in the lab of `holdfast dev`: one world for a process, and its switches."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from collabiq.notion.schema import DEFAULT_FIELDS
from collabiq.samples import ALERT_SENDER
from collabiq.stand_ins.arrivals import BURST, EVERY_S, Arrivals, Post
from collabiq.stand_ins.serving import Answers
from collabiq.stand_ins.world import SERVICES, StandInWorld
from holdfast.systems import LAB_VARIABLE, Service, StandIn, Switch, Table
from holdfast.variables import Variables

if TYPE_CHECKING:
    from holdfast import Holdfast

VARIABLES: Final = {
    "gmail": "GMAIL_API_URL",
    "gemini": "GEMINI_API_URL",
    "notion": "NOTION_API_URL",
    "infisical": "INFISICAL_HOST",
}
"""Where a system reads the address of each service."""
LAG_S: Final = 3.0
MAX_ROWS: Final = 200
"""How many rows the page of the table has."""
_MAX_BODY_BYTES: Final = 32 * 1024 * 1024
_POLL_MS: Final = 2_000
_LOSABLE: Final = DEFAULT_FIELDS["intensity"]


class Lab:
    """A world whose mails arrive one by one, and whose servers fail on request.

    `run` sets this run apart from others on the same database: its mails have ids of their own, so
    that they are not taken for those of the last run.
    """

    def __init__(self, *, run: int = 0) -> None:
        self.world = StandInWorld(run=run)
        self.post = Post(self.world, run=run)

    def stand_ins(self) -> list[StandIn]:
        """Return the four, for a system to bring."""
        world = self.world
        made: Sequence[Answers] = (world.gmail, world.gemini, world.notion, world.infisical)
        return [
            StandIn(
                upstream=name,
                variable=VARIABLES[name],
                answer=each,
                faults=each.faults,
                max_body_bytes=_MAX_BODY_BYTES,
                table=self.table if name == "notion" else None,
            )
            for name, each in zip(SERVICES, made, strict=True)
        ]

    def table(self) -> Table:
        """Return the rows of Notion that have come about, newest first."""
        notion, columns = self.world.notion, list(self.world.notion.columns_of(self.world.rows_id))
        newest = notion.rows_of(self.world.rows_id)[: -MAX_ROWS - 1 : -1]
        return Table("Rows at Notion", columns, [notion.texts_of(page, columns) for page in newest])

    def switches(self) -> list[Switch]:
        """Return what the page of the lab can switch, besides the stand-ins."""
        world = self.world
        return [
            Switch(
                "collabiq-mails",
                "Mails for collabiq",
                {
                    "arriving": f"One of the sample mails arrives every {EVERY_S:g} seconds.",
                    "paused": "No mail arrives.",
                    "burst": f"{BURST} mails arrive at once.",
                },
                get=lambda: self.post.mode,
                set=self.post.set_mode,
            ),
            Switch(
                "notion-index",
                "Queries of Notion",
                {
                    "current": "Queries find a row as soon as it is made.",
                    "lagging": f"Queries find a row {LAG_S:g} seconds after it was made.",
                },
                get=lambda: "lagging" if world.notion.index_lag_s else "current",
                set=lambda value: setattr(
                    world.notion, "index_lag_s", LAG_S if value == "lagging" else 0.0
                ),
            ),
            Switch(
                "notion-columns",
                "Columns of Notion",
                {
                    "complete": "The table has every column.",
                    "one_missing": f"The column {_LOSABLE} is gone.",
                },
                get=lambda: "complete" if self._has_column() else "one_missing",
                set=self._set_column,
            ),
            Switch(
                "gmail-token",
                "Credentials of Gmail",
                {
                    "granted": "The mailbox may be read.",
                    "revoked": "The user has taken the access back.",
                },
                get=lambda: "revoked" if world.gmail.revoked else "granted",
                set=lambda value: world.gmail.revoke(revoked=value == "revoked"),
            ),
        ]

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variables of a system in the lab: what nobody set is as the stand-ins want it.

        Where one of the four is another than the stand-in, they are returned as they are.
        """
        urls = {name: environment.get(variable) for name, variable in VARIABLES.items()}
        known = {name: url for name, url in urls.items() if url}
        if len(known) < len(VARIABLES):
            return environment
        wanted = self.world.variables(known) | {
            "ALERT_SENDERS": ALERT_SENDER,
            "POLL_INTERVAL_MS": str(_POLL_MS),
        }
        missing = {name: value for name, value in wanted.items() if name not in environment}
        if not isinstance(environment, Variables):
            return {**environment, **missing}
        return Variables({**environment, **missing}, system=environment.system)

    def arrivals(self, engine: Holdfast) -> Service:
        """Return the service that has mails arrive, for as long as the process runs."""
        del engine
        return Arrivals(self.post.arrive)

    def _has_column(self) -> bool:
        return _LOSABLE in self.world.notion.columns_of(self.world.rows_id)

    def _set_column(self, value: str) -> None:
        notion, rows = self.world.notion, self.world.rows_id
        if value == "complete":
            notion.add_column(rows, _LOSABLE, "select")
        else:
            notion.remove_column(rows, _LOSABLE)


@functools.cache
def lab() -> Lab:
    """Return the lab of this process; its stand-ins share one world."""
    return Lab(run=int(time.time()))  # noqa: TID251 - sets runs apart, as a mailbox's own ids do


def stand_ins() -> Sequence[StandIn]:
    """Return the stand-ins that a system brings to `holdfast dev`."""
    return lab().stand_ins()


def switches(environment: Mapping[str, str]) -> Sequence[Switch]:
    """Return the switches that a system brings to the lab; none outside of it."""
    return lab().switches() if is_lab(environment) else ()


def services(environment: Mapping[str, str]) -> dict[str, Callable[[Holdfast], Service]]:
    """Return what runs in the lab beside the worker: the arrival of mails."""
    return {"arrivals": lab().arrivals} if is_lab(environment) else {}


def lab_environment(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables to read settings from: in the lab, with those of the stand-ins."""
    return lab().environment(environment) if is_lab(environment) else environment


def is_lab(environment: Mapping[str, str]) -> bool:
    """Return whether the stand-ins of this process are what is called."""
    return environment.get(LAB_VARIABLE) == "1" and not environment.get("EMAIL_ADDRESS")
