"""The lint that keeps wall clocks and module-level chance out, and the exceptions to it."""

import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
BANNED = LINT["flake8-tidy-imports"]["banned-api"]
CLOCKS = [
    "time.time",
    "time.time_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
]


def test_every_wall_clock_is_banned():
    assert set(CLOCKS) <= set(BANNED)


def test_every_function_of_module_level_chance_is_banned():
    drawing = {
        f"random.{name}"
        for name in random.__all__
        if name[0].islower() and name not in {"getstate", "setstate", "vonmisesvariate"}
    }
    rare = {
        "random.binomialvariate",
        "random.gammavariate",
        "random.lognormvariate",
        "random.paretovariate",
        "random.weibullvariate",
    }

    assert drawing - rare <= set(BANNED)


def test_all_rules_are_on_and_one_file_of_the_package_may_read_clocks():
    assert LINT["select"] == ["ALL"]
    assert not any("TID251" in rule for rule in LINT["ignore"])
    allowed = [pattern for pattern, rules in LINT["per-file-ignores"].items() if "TID251" in rules]
    assert [pattern for pattern in allowed if pattern.startswith("src")] == [
        "src/holdfast/runtime/kernel/clock.py"
    ]


def test_the_ban_is_lifted_by_the_line_where_a_stores_own_clock_is_read_and_nowhere_else():
    lifted = [
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "src").rglob("*.py")
        if re.search(r"noqa:.*TID251", file.read_text("utf-8"))
    ]

    assert lifted == ["src/holdfast/store/sqlite/store.py"]


@pytest.mark.parametrize(
    "code", ["import time\n\nNOW = time.time()\n", "import random\n\nROLL = random.random()\n"]
)
def test_the_ban_holds(code):
    """The linter itself says so, for a file that stands in the package."""
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "--stdin-filename",
            "src/holdfast/core/example.py",
            "-",
        ],
        cwd=ROOT,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 1
    assert "TID251" in checked.stdout
