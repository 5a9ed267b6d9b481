"""Commands on a bare database, and pipelines that add messages to decisions."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from holdfast.systems import build as build_systems
from holdfast.systems import tables_of
from tests.cli.conftest import Command
from tests.cli.deciding_system import SYSTEM


@pytest.fixture
def system(database_url: str) -> Iterator[Holdfast]:
    """The process of the system, which the commands know nothing of."""
    built = build_systems([SYSTEM], {})
    [parts] = [one.parts for one in built]
    with Holdfast(database_url, pipelines=parts.pipelines, tables=tables_of(built)) as made:
        assert parts.bind is not None
        parts.bind(made)
        yield made


@pytest.fixture
def bare(holdfast: Command, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", database_url)
    return holdfast


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system is installed where the commands run."""
    described = tmp_path / "packages" / "deciding-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: deciding\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[holdfast.systems]\ndeciding = tests.cli.deciding_system:SYSTEM\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])


@pytest.mark.usefixtures("installed")
def test_the_code_of_an_installed_system_adds_its_messages(bare: Command, system: Holdfast):
    job_id = system.submit("parcels").id

    cancelled = bare("jobs", "cancel", job_id, "--yes")

    assert cancelled.exit_code == 0, cancelled.output
    assert system.job(job_id).state is JobState.CANCELLED
    [message] = system.outbox.find()
    assert (message.message_type, message.payload) == ("parcel.cancelled", '{"found":0}')


def test_where_nobody_knows_the_pipeline_nothing_is_decided(bare: Command, system: Holdfast):
    job_id = system.submit("parcels").id

    refused = bare("jobs", "cancel", job_id, "--yes")

    assert refused.exit_code == 2
    assert "not known to this process" in refused.stderr
    assert system.job(job_id).state is JobState.QUEUED
