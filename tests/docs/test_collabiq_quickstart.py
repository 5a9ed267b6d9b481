"""Collabiq's quickstart, typed in from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, blocks
from tests.docs.terminal import Terminal, commands, matches

QUICKSTART = ROOT / "apps" / "collabiq" / "quickstart.md"
FEWEST = 12


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_quickstart_of_collabiq_works_as_it_is_written(tmp_path: Path):
    ran = 0
    with Terminal(tmp_path) as terminal:
        for block in blocks(QUICKSTART):
            for command in commands(block) if block.info == "console" else ():
                printed = terminal.run(command.line)
                ran += 1

                assert matches(command.shown, printed), (
                    f"line {block.line}: {command.line}\nshown: {command.shown}\n"
                    + "\n".join(printed)
                )

    assert ran >= FEWEST
