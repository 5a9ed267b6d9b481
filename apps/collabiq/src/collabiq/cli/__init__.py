"""`collabiq`: run it, look at mails and failures, and try its parts from a terminal."""

from __future__ import annotations

import click

from collabiq.cli.gmail import gmail
from collabiq.cli.stand_ins import stand_ins

_EPILOG = "Exit codes: 0 done, 1 failed, 2 configuration, 3 an API failed, 4 the input is no good."


@click.group(epilog=_EPILOG)
@click.version_option(package_name="holdfast-collabiq", prog_name="collabiq")
def main() -> None:
    """Turn mails about collaborations into rows of Notion, each once."""


for command in (gmail, stand_ins):
    main.add_command(command)
