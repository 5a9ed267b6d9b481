"""The tutorial, typed in from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, blocks
from tests.docs.terminal import Terminal, commands, matches
from tests.docs.test_pages import check

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_tutorial_works_as_it_is_written(tmp_path: Path):
    ran = 0
    with Terminal(tmp_path) as terminal:
        for block in blocks(TUTORIAL):
            if block.info.startswith("python ") and block.info.endswith(".py"):
                (tmp_path / block.info.split(" ")[1]).write_text(block.text)
            elif block.info == "python":
                check(block.text, folder=tmp_path)
            elif block.info == "console":
                for command in commands(block):
                    printed = terminal.run(command.line)
                    ran += 1

                    assert matches(command.shown, printed), (
                        f"line {block.line}: {command.line}\nshown: {command.shown}\n"
                        + "\n".join(printed)
                        + "\nworker.log:\n"
                        + (tmp_path / "worker.log").read_text()
                        if (tmp_path / "worker.log").exists()
                        else ""
                    )

    assert ran > 20


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (("a … c",), ["a  b   c"], True),
        (("a … c",), ["a b d"], False),
        (("x", "…", "z"), ["x", "y", "y", "z"], True),
        (("x", "z"), ["x", "y", "z"], False),
        ((), [], True),
        ((), ["surprise"], False),
        (("…",), ["anything", "at all"], True),
    ],
)
def test_what_is_shown_is_compared_with_what_is_printed(shown, printed, expected):
    assert matches(shown, printed) is expected
