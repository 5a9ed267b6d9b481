"""Secrets of a system: its handlers ask its own provider, whose values change while it runs."""

from pathlib import Path

import pytest

from tests.cli.surroundings import Running, eventually, running

pytestmark = pytest.mark.timeout(240)

SYSTEM = """
from holdfast import Pipeline, Retry
from holdfast.secrets import Folder, Secrets
from holdfast.systems import Parts, System


def build(environment):
    letters = Pipeline("letters", retry=Retry(attempts=1))

    @letters.stage
    def send(job):
        raise ValueError(f"the post refused {job.secret('POST_LOGIN')}")

    secrets = Secrets(Folder("mounted"), ttl=0)
    secrets.require("POST_LOGIN")
    return Parts(pipelines=[letters], secrets=secrets)


SYSTEM = System(name="letters", title="Letters", build=build)
"""


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder in which a package is installed that brings a system with secrets."""
    folder = tmp_path / "installed"
    described = folder / "letters-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: letters\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[holdfast.systems]\nletters = letters:SYSTEM\n")
    (folder / "letters.py").write_text(SYSTEM)
    (tmp_path / "mounted").mkdir()
    return folder


def up(tmp_path: Path, letters: Path):
    given = ("--systems", "letters", "--port", "0", "--database-url", "sqlite:///l.db")
    return running(tmp_path, "up", *given, PYTHONPATH=str(letters))


def refused(here: Running) -> str:
    job_id = here.submit("letters", None)
    eventually(lambda: here.job(job_id)["state"] == "failed", "the job has failed")
    return str(here.job(job_id))


def test_handlers_of_a_system_ask_its_provider_and_show_no_value(tmp_path: Path, letters: Path):
    file = tmp_path / "mounted" / "POST_LOGIN"
    file.write_text("Wd2-first-6Bn\n")
    with up(tmp_path, letters) as here:
        first = refused(here)
        file.write_text("Wd2-rotated-8Cm\n")
        second = refused(here)

        assert "the post refused [redacted:known" in first
        assert "the post refused [redacted:known" in second
        assert "Wd2" not in first + second + here.stderr


def test_a_system_does_not_start_without_the_secrets_that_it_requires(
    tmp_path: Path, letters: Path
):
    with up(tmp_path, letters) as here:
        assert here.process.wait(60) == 2
        assert "secrets are missing: POST_LOGIN" in here.stderr
