"""Writes the help of every command into the reference: `python -m tests.docs.cli_reference`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.main import program
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
BEGIN = "<!-- help: begin -->\n"
END = "<!-- help: end -->\n"
WIDTH = 88


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, by its full name."""
    yield from _below("holdfast", program)


def _below(name: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for word, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _below(f"{name} {word}", command)
        else:
            yield f"{name} {word}", command


def help_of(name: str, command: click.Command) -> str:
    """Return a command's help without the options that all commands share."""
    parent = click.Context(click.Group(), info_name=name.rpartition(" ")[0])
    context = click.Context(
        command,
        info_name=name.rpartition(" ")[2],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
        show_default=True,
    )
    own, _, rest = command.get_help(context).partition("\n\nOptions of every command:")
    return own + "".join(rest.partition("\n\nExample:")[1:])


def rendered() -> str:
    """Return what stands between the markers."""
    sections = [
        f"### {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in commands()
    ]
    return "\n" + "\n".join(sections) + "\n"


def current(page: str) -> str:
    """Return what stands between the markers of a page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Write the page anew."""
    page = PAGE.read_text("utf-8")
    head, _, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}{rendered()}{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
