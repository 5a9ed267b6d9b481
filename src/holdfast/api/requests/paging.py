"""Lists come in pages: a limit, and an opaque cursor that says where the next page begins."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.problems import Problem, instance_of

PAGE: Final = 50
LONGEST_PAGE: Final = 200
LONGEST_CURSOR: Final = 512

Limit = Annotated[
    int, Query(ge=1, le=LONGEST_PAGE, description="How many at most are on the page.")
]
Cursor = Annotated[
    str | None,
    Query(max_length=LONGEST_CURSOR, description="`next_cursor` of the page before."),
]


class PageQuery(BaseModel):
    """The part of a list's query that is about pages; any other parameter is refused."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=PAGE, ge=1, le=LONGEST_PAGE, description="How many at most.")
    cursor: str | None = Field(
        default=None, max_length=LONGEST_CURSOR, description="`next_cursor` of the page before."
    )


def cursor_of(kind: str, position: Any) -> str:  # noqa: ANN401 - JSON of any shape
    """Return the cursor of a position in a list of that kind."""
    text = json.dumps([kind, position], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def position_of(kind: str, cursor: str | None) -> Any:  # noqa: ANN401 - what was given
    """Return the position of a cursor, None for None, or raise the problem that it is no cursor.

    The position is what a client sent: it has the shape of JSON, and nothing else is sure.
    """
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != 2 or found[0] != kind:  # noqa: PLR2004
        raise bad_cursor()
    return found[1]


def text_position(kind: str, cursor: str | None) -> str | None:
    """Return the position of a cursor where positions are texts; see `position_of`."""
    position = position_of(kind, cursor)
    if position is not None and not isinstance(position, str):
        raise bad_cursor()
    return position


def bad_cursor() -> Problem:
    """Return the problem of a cursor that is not one of the list it was sent to."""
    return Problem(
        "invalid_cursor",
        "send next_cursor of the page before, as it is, or leave the cursor out to begin anew",
    )


def link_next(request: Request, response: Response, cursor: str | None) -> None:
    """Say in the header `Link` where the next page is, if there is one."""
    if cursor is None:
        return
    query = [
        (name, value) for name, value in request.query_params.multi_items() if name != "cursor"
    ]
    target = f"{instance_of(request.scope['path'])}?{urlencode([*query, ('cursor', cursor)])}"
    response.headers["Link"] = f'<{target}>; rel="next"'
