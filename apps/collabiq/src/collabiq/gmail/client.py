"""Calls of Gmail over Google's client: each is one request, and says what its failure means."""

from __future__ import annotations

import base64
import binascii
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from collabiq.gmail.credentials import GmailCredentials
from collabiq.gmail.errors import (
    GmailFailure,
    GmailInvalid,
    GmailUnauthorized,
    GmailUnavailable,
    failure_of,
)

if TYPE_CHECKING:
    import httplib2

T = TypeVar("T")
TIMEOUT_S: Final = 30.0
ME: Final = "me"
PAGE_SIZE: Final = 500
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A mail as Gmail hands it out."""

    id: str
    thread_id: str
    raw: bytes
    received_ms: int
    size_estimate: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some ids of mails, and how to get more; `history_id` is where the history stands."""

    ids: Sequence[str]
    next_page: str | None
    history_id: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A mailbox, and where its history stands."""

    address: str
    history_id: str


class GmailApi:
    """The mailbox of the user whose credentials these are. Any number of threads may use it.

    What fails raises a `GmailFailure`. A token that is refused in the middle is replaced once.
    """

    def __init__(
        self,
        credentials: GmailCredentials,
        *,
        now: Callable[[], datetime],
        base_url: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        # Google's SDK is slow to import, and what reads no mail needs none of it.
        import httplib2  # noqa: PLC0415
        from googleapiclient.discovery import build  # noqa: PLC0415

        self._credentials, self._now, self._timeout_s = credentials, now, timeout_s
        self._lock = threading.Lock()
        self._idle: list[httplib2.Http] = []
        options = {"api_endpoint": f"{base_url.rstrip('/')}/"} if base_url else {}
        self._users = build(
            "gmail",
            "v1",
            http=httplib2.Http(timeout=timeout_s),
            client_options=options,
            cache_discovery=False,
            static_discovery=True,
        ).users()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for http in idle:
            http.close()

    def profile(self) -> Profile:
        """Return whose mailbox it is, and where its history stands now."""
        found = self._call(self._users.getProfile(userId=ME))
        return _read(lambda: Profile(str(found["emailAddress"]), _history_id(found)))

    def message(self, message_id: str) -> RawMessage:
        """Return a mail with its bytes."""
        if _ID.fullmatch(message_id) is None:
            raise GmailInvalid("this is no id of a mail")
        messages = self._users.messages()
        found = self._call(messages.get(userId=ME, id=message_id, format="raw"))
        try:
            raw = base64.urlsafe_b64decode(found["raw"])
            return RawMessage(
                message_id,
                str(found.get("threadId", "")),
                raw,
                int(found.get("internalDate", 0)),
                int(found.get("sizeEstimate", len(raw))),
            )
        except (KeyError, ValueError, TypeError, binascii.Error):
            raise GmailUnavailable("Gmail answered with a mail that cannot be read") from None

    def history_page(self, start_history_id: str, *, page: str | None = None) -> Page:
        """Return the mails that came after a point of the history, oldest first.

        Raises `GmailNotFound` where Gmail has forgotten it.
        """
        found = self._call(
            self._users.history().list(
                userId=ME,
                startHistoryId=start_history_id,
                historyTypes="messageAdded",
                maxResults=PAGE_SIZE,
                pageToken=page,
            )
        )

        def page_in() -> Page:
            added = [
                each["message"]["id"]
                for entry in found.get("history", ())
                for each in entry.get("messagesAdded", ())
            ]
            return Page(_ids(added), found.get("nextPageToken"), _history_id(found))

        return _read(page_in)

    def list_page(self, query: str, *, page: str | None = None) -> Page:
        """Return the mails of a query, newest first."""
        found = self._call(
            self._users.messages().list(userId=ME, q=query, maxResults=PAGE_SIZE, pageToken=page)
        )
        if "messages" not in found and "resultSizeEstimate" not in found:
            # Taken for a list without a mail, it would lose those that there are.
            raise GmailUnavailable("Gmail answered with another document than it has to")
        ids = _read(lambda: [each["id"] for each in found.get("messages", ())])
        return Page(_ids(ids), found.get("nextPageToken"))

    def watch(self, topic: str) -> Mapping[str, Any]:
        """Have Gmail tell a topic of Pub/Sub of new mails, for seven days."""
        return self._call(self._users.watch(userId=ME, body={"topicName": topic}))

    def _call(self, request: Any) -> dict[str, Any]:  # noqa: ANN401 - of the SDK
        token = self._credentials.token(self._now())
        try:
            return self._once(request, token)
        except GmailUnauthorized:
            fresh = self._credentials.token(self._now(), refused=token)
            return self._once(request, fresh)

    def _once(self, request: Any, token: str) -> dict[str, Any]:  # noqa: ANN401 - of the SDK
        from googleapiclient.errors import HttpError  # noqa: PLC0415 - as above

        request.headers["authorization"] = f"Bearer {token}"
        with self._connection() as http:
            try:
                found = request.execute(http=http, num_retries=0)
            except HttpError as error:
                raise failure_of(error) from None
            except (ValueError, RecursionError):
                raise GmailUnavailable("Gmail answered with something that is no JSON") from None
        if not isinstance(found, dict):
            raise GmailUnavailable("Gmail answered with something that is no object")
        return found

    @contextmanager
    def _connection(self) -> Iterator[httplib2.Http]:
        """Lend a connection for one call: httplib2 is for one thread at a time."""
        import httplib2  # noqa: PLC0415 - as above

        with self._lock:
            http = self._idle.pop() if self._idle else None
        if http is None:
            http = httplib2.Http(timeout=self._timeout_s)
            http.follow_redirects = False
        try:
            yield http
        except (httplib2.HttpLib2Error, OSError) as error:
            http.close()
            raise GmailUnavailable(f"no answer of Gmail: {type(error).__name__}") from None
        except GmailFailure:
            self._give_back(http)
            raise
        self._give_back(http)

    def _give_back(self, http: httplib2.Http) -> None:
        with self._lock:
            self._idle.append(http)


def _read(read: Callable[[], T]) -> T:
    """Return what is read of an answer; one of another form is none."""
    try:
        return read()
    except (KeyError, TypeError, AttributeError, ValueError):
        raise GmailUnavailable("Gmail answered with another document than it has to") from None


def _history_id(document: Mapping[str, Any]) -> str:
    found = str(document["historyId"])
    if not (found.isascii() and found.isdecimal()):
        raise ValueError(found)
    return found


def _ids(found: Sequence[object]) -> list[str]:
    """Return ids without repetitions; what is no id is left out."""
    return list(dict.fromkeys(str(each) for each in found if _ID.fullmatch(str(each))))


__all__ = ["GmailApi", "GmailFailure", "Page", "Profile", "RawMessage"]
