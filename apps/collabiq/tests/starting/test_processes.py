"""The start as an operator sees it: a process that ends with 2 and the names that lack."""

import os
import sys
import time
from pathlib import Path

import pytest

from collabiq.settings.config import REQUIRED_SECRETS
from collabiq.stand_ins.infisical import InfisicalStandIn
from collabiq.stand_ins.serving import Serving
from tests.warm.process import run

UP = [sys.executable, "-m", "holdfast", "up", "--systems", "collabiq", "--port", "0"]


@pytest.fixture
def environment(tmp_path: Path, sqlite_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOLDFAST_DATABASE_URL": sqlite_url,
        "EMAIL_ADDRESS": "collab@example.com",
        "DATA_DIR": str(tmp_path / "data"),
        "ENV_FILE": str(tmp_path / ".env"),
    }


def test_a_start_without_secrets_ends_with_2_and_their_names(environment, tmp_path: Path):
    (tmp_path / ".env").write_text("GEMINI_API_KEY=a-key-of-the-file\n")

    ended = run(UP, env=environment, capture_output=True, text=True, timeout=50)

    missing = [name for name in REQUIRED_SECRETS if name != "GEMINI_API_KEY"]
    assert ended.returncode == 2, ended.stderr
    assert all(name in ended.stderr for name in missing)
    assert "GEMINI_API_KEY" not in ended.stderr
    assert "a-key-of-the-file" not in ended.stdout + ended.stderr


def test_an_infisical_that_refuses_connections_costs_few_seconds(environment, tmp_path: Path):
    with Serving(InfisicalStandIn()) as gone:
        host = gone.url
    infisical = {
        "INFISICAL_ENABLED": "1",
        "INFISICAL_HOST": host,
        "INFISICAL_PROJECT_ID": "p",
        "INFISICAL_CLIENT_ID": "i",
        "INFISICAL_CLIENT_SECRET": "a-secret-of-a-machine",
    }

    began = time.monotonic()
    ended = run(UP, env=environment | infisical, capture_output=True, text=True, timeout=50)
    took_s = time.monotonic() - began

    (entry,) = (tmp_path / "data" / "dlq" / "infisical_fetch").glob("dlq_*_startup.json")
    assert ended.returncode == 2, ended.stderr
    assert all(name in ended.stderr for name in REQUIRED_SECRETS)
    assert took_s < 20.0, "three seconds of it are the two attempts"
    assert "a-secret-of-a-machine" not in ended.stderr + entry.read_text("utf-8")
