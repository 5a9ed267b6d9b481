"""How the code is laid out: what is made by position, and how long a file gets."""

import ast
from pathlib import Path

import holdfast

SOURCE = Path(holdfast.__file__).parent
MAX_BY_POSITION = 6
FOR_SPEED = {"core/job/change.py", "engine/submit/submission.py"}
"""These run for every attempt and every job of a bulk; keywords would cost as much again."""


def made_by_position(file: Path) -> list[str]:
    """Return the constructors that get more values by position than anybody can count."""
    tree = ast.parse(file.read_text("utf-8"))
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    long = [call for call in calls if len(call.args) > MAX_BY_POSITION]
    names = [ast.unparse(call.func) for call in long]
    return [name for name in names if name.rpartition(".")[2].lstrip("_")[:1].isupper()]


def test_only_where_speed_needs_it_is_much_given_by_position():
    found = {
        file.relative_to(SOURCE).as_posix(): made
        for file in SOURCE.rglob("*.py")
        if (made := made_by_position(file))
    }

    assert set(found) == FOR_SPEED
