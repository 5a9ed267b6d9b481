"""`python -m collabiq.samples FOLDER` writes the sample mailbox as `.eml` files."""

from __future__ import annotations

from pathlib import Path

import click

from collabiq.samples import write_mailbox


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def main(folder: Path) -> None:
    """Write the sample mailbox to FOLDER."""
    click.echo(f"{len(write_mailbox(folder))} mails in {folder}")


if __name__ == "__main__":
    main()
