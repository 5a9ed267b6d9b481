"""How much a command lists at a time, and how to see the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import click

from holdfast.cli.shell.output import Output
from holdfast.engine.arguments import LONGEST_PAGE

PAGE: Final = 50

limit_option: Final = click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, LONGEST_PAGE),
    default=PAGE,
    show_default=True,
    help="At most this many.",
)


class _Listed(Protocol):
    @property
    def id(self) -> str: ...


def tell_next_page(output: Output, page: Sequence[_Listed], *, limit: int) -> None:
    """Say how to go on after a page that is full."""
    if len(page) == limit:
        output.remark(f"There may be more; for the next page add: --before {page[-1].id}")
