"""Letters over HTTP: routes make jobs and read them, and a worker in the same process runs them.

    python examples/fastapi/letters.py

or under uvicorn itself: uvicorn letters:web --app-dir examples/fastapi
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Response
from fastapi.responses import StreamingResponse

from holdfast import Holdfast, JobHandle, JobState
from holdfast.errors import ResultTimeout, UnknownJob
from holdfast.workers import WorkerOptions

GRACE_S = float(os.environ.get("GRACE_S", "20"))
"""How long running letters may take after SIGTERM; less than what the platform waits."""
LOOK_EVERY_S = 0.5

app = Holdfast(os.environ.get("DATABASE_URL", "sqlite:///letters.db"))
web = FastAPI(title="Letters", lifespan=app.lifespan(worker=WorkerOptions(grace=GRACE_S)))


@app.job(timeout=300)
async def write(to: str, takes_s: float = 0.0) -> str:
    """Write a letter."""
    await asyncio.sleep(takes_s)  # an upstream, awaited
    return f"Dear {to}"


@web.post("/letters", status_code=202)
async def post_letter(
    response: Response,
    to: str,
    takes_s: float = 0.0,
    wait_s: float = 0.0,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> dict[str, object]:
    """Have a letter written; with `wait_s`, answer with its text if it is done by then."""
    handle = await write.using(key=idempotency_key).asubmit(to, takes_s=takes_s)
    if wait_s and (text := await text_of(handle, wait_s)) is not None:
        response.status_code = 200
        return {"id": handle.id, "text": text}
    return {"id": handle.id}


async def text_of(handle: JobHandle[str], wait_s: float) -> str | None:
    """Return the text of a letter, or None where that takes longer."""
    try:
        return await handle.aresult(timeout=wait_s)
    except ResultTimeout:
        return None


@web.get("/letters/{job_id}")
async def get_letter(job_id: str) -> dict[str, object]:
    """Return the state of a letter, and its text once it is written."""
    try:
        view = await app.aio.job(job_id)
    except UnknownJob:
        raise HTTPException(404) from None
    return {"state": view.state, "text": view.result}


@web.get("/letters/{job_id}/events")
async def get_events(job_id: str) -> StreamingResponse:
    """Send the state of a letter whenever it changes, until it has ended."""
    await get_letter(job_id)  # or 404
    return StreamingResponse(changes(job_id), media_type="text/event-stream")


async def changes(job_id: str) -> AsyncIterator[str]:
    """Yield the events of a letter."""
    before: JobState | None = None
    while True:
        view = await app.aio.job(job_id)
        if view.state != before:
            yield f"data: {json.dumps({'state': view.state, 'text': view.result})}\n\n"
        if view.finished_at is not None:
            return
        before = view.state
        await asyncio.sleep(LOOK_EVERY_S)


if __name__ == "__main__":
    # uvicorn ends everything in order and then raises the signal again, which would be the
    # status of the process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(web, port=int(os.environ.get("PORT", "8000")))
