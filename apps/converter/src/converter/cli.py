"""The command `converter`."""

from __future__ import annotations

import click

from converter.gateway.command import gateway


@click.group(context_settings={"auto_envvar_prefix": "CONVERTER"})
def main() -> None:
    """PDF in, XML out."""


main.add_command(gateway)
