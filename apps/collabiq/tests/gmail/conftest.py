from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.gmail.mailbox import Mailbox
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.serving import Serving


@pytest.fixture
def gmail(tmp_path: Path) -> Iterator[Mailbox]:
    stand_in = GmailStandIn()
    with Serving(stand_in) as serving:
        world = Mailbox(stand_in, serving, tmp_path)
        yield world
        world.close()
