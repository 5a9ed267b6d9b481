"""What a pipeline's stages and policies were when a job was made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.core.job.access import OPEN, Access
from holdfast.core.job.job import PlanDigest
from holdfast.core.values.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SNOOZES = 1_000
_DIGEST_CHARACTERS = 16


class Route(NamedTuple):
    """Where a due job waits: a worker claims by the routes it can run."""

    queue: str
    pipeline: str
    stage: str


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage's name and policies."""

    name: str
    retry: Retry
    timeout_us: int | None = None
    upstream: str | None = None
    max_snoozes: int = MAX_SNOOZES
    progress_extends_us: int | None = None
    """How long the stage waits on after a progress note; None when a note changes nothing."""

    def to_document(self) -> dict[str, Any]:
        """Return the form that is stored."""
        document = {
            "name": self.name,
            "retry": self.retry.to_document(),
            "timeout_us": self.timeout_us,
            "upstream": self.upstream,
            "max_snoozes": self.max_snoozes,
        }
        if self.progress_extends_us is not None:
            # Only then, so that the digests of all other plans stay what they were.
            document["progress_extends_us"] = self.progress_extends_us
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> StagePlan:
        """Read the form that is stored."""
        return cls(
            name=document["name"],
            retry=Retry.from_document(document["retry"]),
            timeout_us=document["timeout_us"],
            upstream=document["upstream"],
            max_snoozes=document["max_snoozes"],
            progress_extends_us=document.get("progress_extends_us"),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline frozen: stages in order, their policies, the time a job may take, who may what.

    Plans are stored by pipeline and digest, so that a sweeper, a command or an older worker
    decides exactly as the worker that knows the code.
    """

    pipeline: str
    stages: tuple[StagePlan, ...]
    deadline_us: int | None = None
    access: Access = OPEN
    keeps_keys: bool = True
    """Whether the key of a job is kept when the job is removed."""
    remembers: tuple[str, ...] = ()
    """Fields of the payload that are kept with the key."""
    keeps_personal_data: bool = False
    """Whether addresses, phones and codes stay in what is shown of its failures."""
    secret_names: tuple[str, ...] = ()
    """Names in its payloads and results whose values are shown to nobody."""
    on_decision: bool = False
    """Whether its code adds messages to decisions, so that only a process that has it decides."""
    digest: PlanDigest = field(init=False, compare=False)
    _by_name: dict[str, StagePlan] = field(init=False, compare=False, repr=False)
    _next: dict[str, StagePlan | None] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        following: list[StagePlan | None] = [*self.stages[1:], None]
        object.__setattr__(self, "_by_name", {stage.name: stage for stage in self.stages})
        object.__setattr__(
            self,
            "_next",
            {stage.name: after for stage, after in zip(self.stages, following, strict=True)},
        )
        canonical = json.dumps(self.to_document(), sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode()).hexdigest()[:_DIGEST_CHARACTERS]
        object.__setattr__(self, "digest", PlanDigest(digest))

    @property
    def first(self) -> StagePlan:
        """The stage a new job starts with."""
        return self.stages[0]

    def stage(self, name: str) -> StagePlan | None:
        """Return the stage of that name, or None when this plan has none."""
        return self._by_name.get(name)

    def after(self, name: str) -> StagePlan | None:
        """Return the stage that follows, or None after the last."""
        return self._next[name]

    def to_document(self) -> dict[str, Any]:
        """Return the form that is stored."""
        document: dict[str, Any] = {
            "pipeline": self.pipeline,
            "stages": [stage.to_document() for stage in self.stages],
            "deadline_us": self.deadline_us,
        }
        # Left out where there are no rules: so it was before there were any, and the digest stays.
        if self.access != OPEN:
            document["access"] = self.access.to_document()
        # Left out where they are as usual, so that plans of earlier versions keep their digests.
        if not self.keeps_keys:
            document["keeps_keys"] = False
        if self.remembers:
            document["remembers"] = list(self.remembers)
        if self.keeps_personal_data:
            document["keeps_personal_data"] = True
        if self.secret_names:
            document["secret_names"] = list(self.secret_names)
        if self.on_decision:
            document["on_decision"] = True
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Plan:
        """Read the form that is stored."""
        return cls(
            pipeline=document["pipeline"],
            stages=tuple(StagePlan.from_document(stage) for stage in document["stages"]),
            deadline_us=document["deadline_us"],
            access=Access.from_document(document["access"]) if "access" in document else OPEN,
            keeps_keys=document.get("keeps_keys", True),
            remembers=tuple(document.get("remembers", ())),
            keeps_personal_data=bool(document.get("keeps_personal_data", False)),
            secret_names=tuple(document.get("secret_names", ())),
            on_decision=bool(document.get("on_decision", False)),
        )
