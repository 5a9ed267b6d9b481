"""`python -m criticizer` is the command `criticizer`."""

from criticizer.cli import main

main(prog_name="criticizer")
