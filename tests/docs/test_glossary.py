"""The glossary is in order, has each word once, and knows every service of the runtime."""

from __future__ import annotations

import re
from pathlib import Path

import holdfast
from tests.docs.markdown import ROOT

SOURCE = Path(holdfast.__file__).parent
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
WORDS = re.findall(r"^\*\*(.+?)\*\*: ", PAGE, re.MULTILINE)
ALSO_CALLED = {"overflow": "overflow reporter"}


def services() -> set[str]:
    """Return the names under which parts of the runtime are logged."""
    files = [*(SOURCE / "runtime").rglob("*.py"), SOURCE / "api" / "replay_runner.py"]
    found = {
        name
        for file in files
        for name in re.findall(r'^    name = "([a-z-]+)"$', file.read_text("utf-8"), re.MULTILINE)
    }
    return {ALSO_CALLED.get(name, name).replace("-", " ") for name in found}


def test_each_word_is_there_once_and_in_order():
    in_order = sorted(set(WORDS), key=str.lower)

    assert in_order == WORDS


def test_a_line_is_an_entry():
    lines = [line for line in PAGE.splitlines()[3:] if line]

    assert [line for line in lines if not re.match(r"\*\*[^*]+\*\*: .+\.$", line)] == []


def test_every_service_of_the_runtime_has_its_entry():
    assert len(services()) > 12
    assert services() - set(WORDS) == set()
