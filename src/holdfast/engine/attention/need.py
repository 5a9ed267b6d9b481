"""What needs a person in a system, as the system says it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.core.values.instant import from_datetime
from holdfast.engine.attention.entry import Action, Attention, Kind, Urgency
from holdfast.errors import InvalidValue
from holdfast.views.explain.advice import Mover


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that needs a person.

    `subject` tells it from others, such as `grading: reviews`. `sentence` says what it is, `advice`
    what to do, and `label` names the one action, which is done at `path` or by `command`.
    """

    subject: str
    sentence: str
    advice: str
    label: str
    path: str
    command: str = ""
    urgency: Urgency | str = Urgency.WARNING
    whose: Mover | str = Mover.OPERATOR
    count: int = 1
    since: datetime | None = None

    def __post_init__(self) -> None:
        for name, kind in (("urgency", Urgency), ("whose", Mover)):
            given = getattr(self, name)
            if given not in list(kind):
                limit = " or ".join(kind)
                raise InvalidValue("Need", field=name, value=given, limit=limit)
        if not self.path.startswith("/"):
            raise InvalidValue("Need", field="path", value=self.path, limit="begin with /")

    def entry(self) -> Attention:
        """Return the entry of the list of what needs a person."""
        return Attention(
            kind=Kind.SYSTEM,
            urgency=Urgency(self.urgency),
            subject=self.subject,
            sentence=self.sentence,
            whose=Mover(self.whose),
            advice=self.advice,
            action=Action(self.label, self.path, self.command),
            page=self.path,
            count=self.count,
            since=None if self.since is None else from_datetime(self.since),
        )
