"""A system of a third party whose pipeline has rules of its own."""

import os
from pathlib import Path

from holdfast import GiveUp, JobContext, Pipeline
from holdfast.classify import PublicCode, PublicCodes
from holdfast.systems import Parts, System

FOLDER_VARIABLE = "PARCELS_DIR"
PIPELINE = "parcels"
SUBMIT_AT = "POST /api/parcels"
GONE = "the parcel is gone; send it again"


def parcels(folder: Path, **rules: str) -> Pipeline:
    """Parcels that fail, and are sent back only while their file is there."""
    pipeline = Pipeline(
        PIPELINE,
        submit_by="system",
        submit_at=SUBMIT_AT,
        public_codes=PublicCodes(
            {"UNDELIVERABLE": PublicCode(message="Nobody took the parcel.")},
            default="UNDELIVERABLE",
        ),
        retry_refusal=lambda payload: None if (folder / payload["file"]).exists() else GONE,
        **rules,
    )

    @pipeline.stage
    def send(job: JobContext, file: str) -> None:
        raise GiveUp("NO_ADDRESS", "nobody lives there")

    return pipeline


def build(environment: os._Environ[str]) -> Parts:
    return Parts(pipelines=[parcels(Path(environment[FOLDER_VARIABLE]))])


SYSTEM = System(name="parcels", title="Parcels", build=build)
