"""`/version`: what is running here."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel

from holdfast.api.routing import operation_id

ROUTER: Final = APIRouter(tags=["health"], generate_unique_id_function=operation_id)


class Version(BaseModel):
    """What is running here."""

    name: str
    version: str


@ROUTER.get("/version", operation_id="get_version")
async def get_version() -> Version:
    """Tell which version of holdfast this is."""
    return Version(name="holdfast", version=version("holdfast"))
