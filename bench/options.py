"""Options that the programs of this folder share."""

from collections.abc import Sequence

import click


class Names(click.ParamType):
    """A list of known names, separated by commas."""

    name = "names"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(
        self, value: str, parameter: click.Parameter | None, context: click.Context | None
    ) -> list[str]:
        names = [name.strip() for name in value.split(",")]
        for name in names:
            if name not in self._known:
                self.fail(f"{name!r} is not one of {', '.join(self._known)}", parameter, context)
        return names


FSYNC = click.option(
    "--fsync/--no-fsync",
    default=False,
    show_default=True,
    help="Whether PostgreSQL's commits wait for the disk.",
)
QUICK = click.option("--quick", is_flag=True, help="Fewer jobs: a look, not a measurement.")
