"""`python -m converter` is the command `converter`."""

from converter.cli import main

main(prog_name="converter")
