"""Changes from any place that serves diffs: `…/{changelist_id}.diff`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from criticizer.change import Change
from criticizer.diffs import parse_diff
from criticizer.sources.contract import Pinned
from criticizer.sources.errors import BadChangeId, NotADiff
from criticizer.sources.web import Web, text_of
from criticizer.wire import Deadline

_MAX_ID_LENGTH: Final = 250


class UrlSource:
    """The diffs under one address."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        max_bytes: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        hidden = {"authorization": f"Bearer {token}"} if token else {}
        self._url = url.rstrip("/")
        self._web = Web(hidden=hidden, max_bytes=max_bytes, tls=tls)

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        """Return a change; see the contract."""
        self.located(changelist_id)
        # Percent-encoded whole, so that no id leads out of the folder.
        body, _ = self._web.get(
            f"{self._url}/{quote(changelist_id, safe='')}.diff",
            deadline=Deadline(timeout_s),
            headers={"accept": "text/x-diff, text/plain", **headers},
            missing=f"no change {changelist_id} is served",
        )
        diff = text_of(body)
        if diff.strip() and not parse_diff(diff):
            raise NotADiff(f"what is served as change {changelist_id} is no unified diff")
        return Change(diff=diff, title=changelist_id)

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:  # noqa: ARG002 - nobody is asked
        """Return the change by its id, which is all that is known; see the contract."""
        return self.located(changelist_id)

    def located(self, changelist_id: str) -> Pinned:
        """Return the change by its id; see the contract."""
        if not (0 < len(changelist_id) <= _MAX_ID_LENGTH and changelist_id.isprintable()):
            raise BadChangeId("a changelist id is one line of at most 250 letters")
        return Pinned(changelist_id, urlsplit(self._url).hostname or "")

    def close(self) -> None:
        """Let go of connections, of which none is kept."""
