"""`/api/callbacks`: answer a stage that waits, with the token that it gave out."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.requests import Request

from holdfast.api.access import guarded_router
from holdfast.api.auth.path_credential import path_credential
from holdfast.api.models.callbacks import CallbackAnswer, CallbackReceipt, ProgressAnswer
from holdfast.api.problems import Problem
from holdfast.api.routes.jobs import Key, plain_key
from holdfast.api.server.threads import in_thread
from holdfast.api.serving import Engine, serving_of
from holdfast.core.values.document import fingerprint
from holdfast.core.values.instant import to_datetime
from holdfast.engine.jobs.answers import AnswerStanding
from holdfast.errors import UnknownJob, WrongState

ROUTER: Final = guarded_router("callbacks")


async def _is_issued(request: Request, token: str) -> None:
    await in_thread(serving_of(request).engine.check_callback_token, token)


CallbackToken = Annotated[str, Depends(path_credential(_is_issued))]
"""What `job.callback_token()` returned: it serves for one stage of one job."""


@ROUTER.post(
    "/{token}",
    responses={
        403: {"description": "The token is forged, has expired, or is of a run that is over."},
        404: {"description": "The job was removed after its time."},
        409: {"description": "The stage does not wait any more, or has yet to ask again."},
    },
)
def answer_callback(
    token: CallbackToken, body: CallbackAnswer, request: Request, engine: Engine, key: Key = None
) -> CallbackReceipt:
    """Answer a waiting stage with its result, with a failure, or with how far it is.

    The same answer sent again changes nothing. What counts is when the answer was received.
    """
    received = engine.clock.instant_of(request.state.arrived_s)
    try:
        receipt = engine.receive_answer(
            token,
            body.answer(),
            received_at=to_datetime(received),
            **_known_by(token, body, plain_key(key)),
        )
    except UnknownJob:
        raise Problem(
            "job_not_found",
            "the job was removed some time after its end; nothing is left to answer",
        ) from None
    except WrongState as error:
        raise Problem(
            "wrong_state",
            "the stage is about to run and has yet to ask; send the answer again once it has",
            state=error.state,
            allowed=error.allowed,
        ) from None
    if receipt.standing is AnswerStanding.IGNORED:
        raise Problem(
            "callback_over",
            "the stage was answered otherwise, or the job has ended without it; nothing was "
            "changed, and there is nothing left to do: do not send it again",
            state=receipt.job.state,
        )
    return CallbackReceipt.of(receipt)


def _known_by(token: str, body: CallbackAnswer, key: str | None) -> dict[str, Any]:
    """Return what an answer is known by when it comes again: its key, else all that it says.

    A progress note without a key is a new one each time.
    """
    if key is not None:
        return {"message_id": f"http:{_digest(token, key)}"}
    if isinstance(body, ProgressAnswer):
        return {}
    return {"fingerprint": f"http:{_digest(token, fingerprint(body.model_dump()))}"}


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
