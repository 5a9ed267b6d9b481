"""Grading as a system that `holdfast up` finds, runs and mounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.systems import Parts, System

SYSTEM_NAME: Final = "grading"


def build(_environment: Mapping[str, str]) -> Parts:
    """Make grading's parts from the variables of the environment."""
    return Parts()


SYSTEM: Final = System(
    name=SYSTEM_NAME,
    title="Grading",
    summary="Grades essays and recordings, and loses none.",
    build=build,
)
