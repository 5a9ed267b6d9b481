"""Where requests are answered: what may wait in a thread, the rest in the loop."""

import asyncio

from pydantic import BaseModel, field_serializer

from holdfast.api import ApiOptions, create_api
from holdfast.api.access import Reader, guarded_router
from tests.api.clients import client_of


def in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Told(BaseModel):
    """What an endpoint found out, and later what made JSON of it."""

    ran_in_loop: bool
    told_in_loop: bool = False

    @field_serializer("told_in_loop")
    def told(self, _value: object) -> bool:
        return in_loop()


def test_a_plain_endpoint_runs_in_a_thread_and_its_answer_is_made_in_the_loop(small_app):
    api = create_api(small_app, options=ApiOptions(host="127.0.0.1"))
    router = guarded_router("things")

    @router.get("/plain")
    def plain(_who: Reader) -> Told:
        return Told(ran_in_loop=in_loop())

    @router.get("/awaited")
    async def awaited(_who: Reader) -> Told:
        return Told(ran_in_loop=in_loop())

    api.include_router(router)
    client = client_of(api)

    told = {path: client.get(f"/api/things/{path}").json() for path in ("plain", "awaited")}

    assert told == {
        "plain": {"ran_in_loop": False, "told_in_loop": True},
        "awaited": {"ran_in_loop": True, "told_in_loop": True},
    }
