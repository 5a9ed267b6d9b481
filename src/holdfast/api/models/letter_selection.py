"""Which dead letters are meant: in the query of a list, and in the body of a replay."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from holdfast.api.models.values.acting import Request
from holdfast.api.models.values.moment import When, instant
from holdfast.api.models.values.texts import Plain
from holdfast.api.requests.paging import PageQuery
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.store.tables.dead_letters import LetterFilter


class LetterSelection(Request):
    """Which dead letters; what is left out matches everything."""

    state: list[Annotated[LetterState, Field(strict=False)]] = Field(
        default=[], max_length=len(LetterState)
    )
    pipeline: Plain | None = None
    stage: Plain | None = None
    queue: Plain | None = None
    owner: Plain | None = None
    error_class: Plain | None = None
    fingerprint: Plain | None = None
    """The cause, as `/api/dead-letters/groups` names it."""
    escalated: bool | None = None
    failed_since: When | None = None
    failed_until: When | None = None

    def filter(self) -> LetterFilter:
        """Return the engine's filter."""
        return LetterFilter(
            states=tuple(dict.fromkeys(self.state)),
            pipeline=self.pipeline,
            stage=self.stage,
            queue=self.queue,
            owner=self.owner,
            error_class=self.error_class,
            fingerprint=self.fingerprint,
            escalated=self.escalated,
            failed_since=instant(self.failed_since),
            failed_until=instant(self.failed_until),
        )


class LetterQuery(PageQuery, LetterSelection):
    """Which dead letters to list, and which page of them."""

    model_config = ConfigDict(extra="forbid", strict=False)
