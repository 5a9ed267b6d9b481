"""The demo in the terminal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tests.docs.running import run, without_settings

DEMO = ROOT / "examples" / "demo.py"


def run_demo(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(DEMO, *arguments, folder=folder, **variables)


def accounts(output: str) -> dict[str, int]:
    """Read the line that accounts for every job: `9 submitted + 2 found = 8 complete + …`."""
    line = next(line for line in output.splitlines() if " submitted" in line and " = " in line)
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}


def test_the_demo_runs_for_a_while_ends_cleanly_and_accounts_for_every_job(tmp_path):
    done = run_demo(tmp_path, "--seconds", "4", "--rate", "10")

    assert done.returncode == 0, done.stderr
    told = accounts(done.stdout)
    assert told["submitted"] >= 30
    assert told["complete"] >= 1
    assert told["submitted"] == told["complete"] + told["failed"] + told["still"]
    assert "jobs/s" in done.stdout
    assert "holdfast jobs list" in done.stdout
    assert (tmp_path / "holdfast.db").exists()


@pytest.mark.slow
def test_the_demo_ends_by_itself_when_the_asked_number_of_jobs_is_done(tmp_path):
    done = run_demo(tmp_path, "--jobs", "2")

    assert done.returncode == 0, done.stderr
    told = accounts(done.stdout)
    assert (told["submitted"], told["still"]) == (2, 0)


@pytest.mark.slow
def test_what_a_killed_demo_leaves_is_found_by_the_next(tmp_path):
    killed = subprocess.Popen(
        [sys.executable, str(DEMO), "--rate", "30"],
        cwd=tmp_path,
        env=without_settings(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert killed.stdout is not None
    while "processing 0" in (line := killed.stdout.readline()):
        assert line
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=10)

    done = run_demo(tmp_path, "--seconds", "1")

    assert done.returncode == 0, done.stderr
    assert re.search(r"Found \d+ jobs of an earlier run, \d+ of them cut off", done.stdout)
    told = accounts(done.stdout)
    assert told["submitted"] + told["found"] == told["complete"] + told["failed"] + told["still"]


@pytest.mark.parametrize("name", ["DATABASE_URL", "HOLDFAST_DATABASE_URL"])
def test_the_demo_uses_the_database_it_is_given(tmp_path, name):
    file = tmp_path / "elsewhere.db"

    done = run_demo(tmp_path, "--seconds", "0.5", **{name: f"sqlite:///{file}"})

    assert done.returncode == 0, done.stderr
    assert file.exists()
    assert not (tmp_path / "holdfast.db").exists()


def test_a_database_out_of_reach_is_named_in_one_line(tmp_path):
    url = f"sqlite:///{tmp_path}/no/such/folder/holdfast.db"

    done = run_demo(tmp_path, HOLDFAST_DATABASE_URL=url)

    assert done.returncode == 2
    assert done.stderr.startswith("demo: cannot reach")
    assert len(done.stderr.splitlines()) == 1
