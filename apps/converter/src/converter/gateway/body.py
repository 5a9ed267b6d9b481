"""The body of a request, written to a file as it arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from converter.gateway.errors import Reason, Refused
from converter.gateway.limits import Limits
from converter.gateway.problems import Problem, problem_of


async def save_body(request: Request, to: Path, *, limits: Limits, body_s: float) -> None:
    """Write the body to a file, or raise `Problem` as soon as it is too large or too slow."""
    if _declared(request) > limits.max_pdf_bytes:
        raise problem_of(Refused(Reason.TOO_LARGE, limits))
    try:
        async with asyncio.timeout(body_s):
            await _save(request, to, limits)
    except TimeoutError:
        raise Problem(408, "body_too_slow", f"The file did not arrive in {body_s:g} s.") from None
    except ClientDisconnect:
        raise Problem(400, "body_incomplete", "The file did not arrive completely.") from None


async def _save(request: Request, to: Path, limits: Limits) -> None:
    got = 0
    # Written to the page cache: shorter than handing each piece to a thread.
    with to.open("wb") as file:
        async for piece in request.stream():
            got += len(piece)
            if got > limits.max_pdf_bytes:
                raise problem_of(Refused(Reason.TOO_LARGE, limits))
            file.write(piece)


def _declared(request: Request) -> int:
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() else 0
