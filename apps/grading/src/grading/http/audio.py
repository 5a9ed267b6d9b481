"""`/api/audio`: recordings, kept by content and read by their owner, teachers and graders."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse

from grading.audio import StoredAudio
from grading.http.documents import AudioDocument
from grading.http.routing import Responses, grading_router, problem_of
from grading.http.serving import Served
from grading.http.upload import MAX_OTHER_BYTES, FileForm
from grading.main.recordings import refusing_uploads
from grading.refusals import AudioTooLarge as TooLargeRefused
from grading.refusals import NotYours, Refused
from holdfast.api.access import Principal, Role, SubmitterOrWalkIn, needs
from holdfast.api.problems import Problem

_SIGNATURE: Final = "signature"
_CLOSE: Final = {"Connection": "close"}
"""The rest of a recording that is refused is not read."""
_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}
_REFUSED: Final[Responses] = {
    200: {"description": "The same recording of yours is there.", "model": AudioDocument},
    400: {"description": "`NOT_AUDIO` by its content, or `VALIDATION_ERROR`."},
    413: {"description": "`AUDIO_TOO_LARGE`."},
    429: {"description": "`RATE_LIMITED` or `QUOTA_REACHED`, with `Retry-After`."},
}
_BYTES: Final[Responses] = {
    200: {
        "description": "The recording.",
        "content": {"audio/*": {"schema": {"type": "string", "format": "binary"}}},
    },
    206: {"description": "The part that the header `Range` names."},
    403: {"description": "`FORBIDDEN`: another's, none, or a link that is not good."},
}


def audio_routes(served: Served) -> APIRouter:
    """Return the routes of recordings."""
    routes = grading_router("audio")
    _add_upload(routes, served)
    _add_download(routes, served)
    return routes


def _add_upload(routes: APIRouter, served: Served) -> None:
    @routes.post(
        "",
        status_code=201,
        response_model=AudioDocument,
        openapi_extra=_BODY,
        responses=_REFUSED,
    )
    async def upload_audio(request: Request, who: SubmitterOrWalkIn) -> JSONResponse:
        """Keep a recording: a form with the part `file`. Its kind is judged by its content."""
        try:
            check_length(request, served.max_audio_bytes)
            form = FileForm(request.stream(), request.headers.get("content-type", ""))
            kept, audio_id, is_new = await run_in_threadpool(_keep, form, who.owner or "")
        except Refused as refused:
            problem = problem_of(refused)
            problem.headers |= _CLOSE
            raise problem from None
        document = {
            "audioUrl": served.recordings.url_of(audio_id),
            "sha256": kept.sha256,
            "bytes": kept.bytes,
            "mediaType": kept.media_type,
            "durationSeconds": kept.seconds,
        }
        return JSONResponse(document, 201 if is_new else 200)

    def _keep(form: FileForm, owner: str) -> tuple[StoredAudio, str, bool]:
        served.recordings.check_upload(owner)
        with refusing_uploads():
            kept = served.files.keep(form.chunks())
        audio_id, is_new = served.recordings.add(kept, owner=owner)
        return kept, audio_id, is_new


def check_length(request: Request, max_bytes: int) -> None:
    """Raise `AudioTooLarge` for a body that says that it is too long, before it is read."""
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said) > max_bytes + MAX_OTHER_BYTES:
        raise TooLargeRefused(max_bytes)


def _add_download(routes: APIRouter, served: Served) -> None:
    async def signed(request: Request) -> str | None:
        """Return the name of a grader with a good link, None without a link."""
        if _SIGNATURE not in request.query_params:
            return None
        audio_id = request.path_params["audio_id"]
        if not served.recordings.links.check(audio_id, request.query_params, served.now()):
            raise problem_of(NotYours())
        return "grader"

    reader = Depends(needs(Role.READER, walk_ins=True, carried=signed))

    @routes.get("/{audio_id}", response_class=FileResponse, responses=_BYTES)
    def get_audio(audio_id: str, who: Principal = reader) -> FileResponse:
        """Read a recording: its owner, teachers, and the bearers of a signed link to it."""
        found = served.recordings.find(audio_id, owner=who.owner)
        path = served.files.path_of(found.sha256)
        if path is None:
            raise Problem("not_found", "the recording was removed after its time")
        return FileResponse(
            path,
            media_type=found.media_type,
            filename=f"recording.{_suffix(found.media_type)}",
            content_disposition_type="attachment",
            headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"},
        )


def _suffix(media_type: str) -> str:
    plain = media_type.partition(";")[0].rpartition("/")[2].removeprefix("x-")
    return {"mpeg": "mp3", "mp4": "m4a"}.get(plain, plain) if plain.isalnum() else "audio"
