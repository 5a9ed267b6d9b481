"""`python -m collabiq`."""

from collabiq.cli import main

if __name__ == "__main__":
    main(prog_name="collabiq")
