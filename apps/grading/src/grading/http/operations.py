"""`/api/grading`: how the system is, what learners' pages go by, and callbacks of graders."""

from __future__ import annotations

import json
import time
from typing import Final

from fastapi import APIRouter, Depends
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

from grading.http.documents import CallbackReceipt, OperationsDocument, ServiceDocument
from grading.http.paused import Paused
from grading.http.routing import Responses, grading_router, problem_of_validation
from grading.http.serving import Served
from grading.main.callbacks import Standing
from grading.messages.contract import CALLBACK, GradingCallback
from holdfast import GiveUp
from holdfast.api.access import Principal, ReaderOfAll, ReaderOrAnonymous, request_credential
from holdfast.api.problems import Problem
from holdfast.errors import TokenRefused
from holdfast.messaging import Received

_HANDLED: Final[Responses] = {
    202: {"description": "It was taken, or noted as late."},
    200: {"description": "It was handled before, or changes nothing.", "model": CallbackReceipt},
    400: {"description": "`VALIDATION_ERROR`: it is no callback of version 1."},
    403: {"description": "`callback_refused`: its token is not good."},
}
_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": GradingCallback.model_json_schema()}},
    }
}


def operation_routes(served: Served) -> APIRouter:
    """Return the routes under `/api/grading`."""
    routes = grading_router("grading")
    paused = Paused(served.submissions.operations, now=served.now)

    @routes.get("/operations", response_model=OperationsDocument)
    def get_operations(_who: ReaderOfAll) -> JSONResponse:
        """Read how outbox, broker, grader and breakers are, and what needs a person."""
        return JSONResponse(served.submissions.operations().document())

    @routes.get("/service", response_model=ServiceDocument)
    def get_service(_who: ReaderOrAnonymous) -> JSONResponse:
        """Read whether grading is paused, and how large and long a recording may be."""
        return JSONResponse(
            {
                "paused": paused(),
                "audioMaxBytes": served.max_audio_bytes,
                "audioMaxSeconds": served.max_audio_s,
                "reviews": served.reviews,
            }
        )

    _add_callback(routes, served)
    return routes


def _add_callback(routes: APIRouter, served: Served) -> None:
    async def by_token(request: Request) -> str | None:
        """Return the name of a grader whose callback has a good token."""
        body = await request.body()
        request.state.arrived_s = time.monotonic()
        callback = _callback_of(body)
        request.state.callback = callback
        try:
            await run_in_threadpool(served.app.check_callback_token, callback.callbackToken)
        except TokenRefused as error:
            raise Problem("callback_refused", str(error)) from None
        return "grader"

    grader = Depends(request_credential(by_token))

    @routes.post(
        "/callback",
        status_code=202,
        response_model=CallbackReceipt,
        responses=_HANDLED,
        openapi_extra=_BODY,
    )
    async def receive_callback(request: Request, _who: Principal = grader) -> JSONResponse:
        """Take what a grader answers, with the body of the message; its token is the credential."""
        received = received_of(
            await request.body(), request.state.callback, arrived_s=request.state.arrived_s
        )
        try:
            handled = await run_in_threadpool(served.callbacks.take, received)
        except GiveUp as error:
            raise Problem("callback_refused", error.message) from None
        is_new = handled.standing in (Standing.TAKEN, Standing.LATE)
        document = {"submissionId": handled.submission_id, "standing": handled.standing.value}
        return JSONResponse(document, 202 if is_new else 200)


def _callback_of(body: bytes) -> GradingCallback:
    try:
        return GradingCallback.model_validate_json(body)
    except ValidationError as error:
        flaws = error.errors(include_url=False, include_context=False, include_input=False)
        found = [{**flaw, "loc": ("body", *flaw["loc"])} for flaw in flaws]
        raise problem_of_validation(found) from None


def received_of(body: bytes, callback: GradingCallback, *, arrived_s: float) -> Received:
    """Return a callback that came over HTTP as a consumer would have received it."""
    return Received(
        id=str(callback.eventId),
        type=CALLBACK,
        subject=callback.submissionId,
        payload=json.loads(body),
        correlation_id=callback.callbackToken,
        arrived_s=arrived_s,
    )
