"""The programs under examples/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, blocks
from tests.docs.running import PAGE, local_page, run

EXAMPLES = ROOT / "examples"
SMALL = 60

EXPECTED = {
    "transactional_submit.py": [
        "rolled back: anchor is sold out",
        r"orders: \[\('rope',\)\]",
        r"jobs: \[\{'order_id': 1\}\]",
        "receipt for order 1, sent as [0-9a-f-]{36}:1:send_receipt",
    ],
    "callback.py": [
        "graded 87 by attempt 1",
        "failed TIMEOUT",
        "still failed but the late result is kept: 91",
    ],
    "cpu_bound.py": ["primes below 20000: 2262", "failed STAGE_TIMEOUT"],
    "typed_payload.py": ["refused: payload at /due: ", "2031-sales: 2 lines"],
    "idempotent_api.py": [
        r"same job: True \| made by the second call: False",
        "conflict: key 'c-17' already belongs to job [0-9a-f-]{36}",
        "another owner, another job: True",
        "review of c-17, version 1",
        r"review of c-17, version 2 \| follows the first: True",
    ],
}


def small_examples() -> list[str]:
    return sorted(path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("demo"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_example_runs_and_says_what_it_promises(name: str, tmp_path: Path):
    done = run(EXAMPLES / name, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    for expected in EXPECTED[name]:
        assert re.search(expected, done.stdout), done.stdout + done.stderr


def test_every_small_example_is_run_here():
    assert set(small_examples()) == {*EXPECTED, "quickstart.py"}


@pytest.mark.parametrize("name", small_examples())
def test_a_small_example_stays_small(name: str):
    assert len((EXAMPLES / name).read_text().splitlines()) < SMALL


def test_the_quickstart_fetches_a_page_and_measures_it(tmp_path: Path):
    text = (EXAMPLES / "quickstart.py").read_text()
    assert text.count("https://example.org") == 1

    with local_page() as url:
        program = tmp_path / "quickstart.py"
        program.write_text(text.replace("https://example.org", url))
        done = run(program, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"complete {len(PAGE)}\n"


def test_the_readme_shows_the_quickstart_word_for_word():
    readme = next(block for block in blocks(ROOT / "README.md") if block.language == "python")
    quickstart = (EXAMPLES / "quickstart.py").read_text()

    shown = [line for line in readme.text.splitlines() if line]
    program = [line for line in quickstart.splitlines() if line]

    begins = program.index(shown[0])
    assert program[begins : begins + len(shown)] == shown
    assert len(shown) <= 11
