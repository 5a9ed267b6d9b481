"""The runner of planted faults, on a project of two functions."""

import subprocess
import textwrap
from pathlib import Path

import pytest

from mutants.fault import Fault, ListError, load
from mutants.page import PAGE
from mutants.run import Project, main, red_without_fault, tried
from mutants.scratch import Scratch

# It runs pytest in a copy of a small project, a second and more each time.
pytestmark = pytest.mark.slow

CODE = """
def double(number):
    return number * 2


def half(number):
    return number / 2
"""
TESTS = """
import pytest
from sample import double, half

def test_double():
    assert double(2) == 4

def test_half():
    assert half(0) == 0

@pytest.mark.slow
def test_half_of_much():
    assert half(8) == 4

def test_red():
    assert double(2) == 5

@pytest.mark.skip
def test_skipped():
    assert double(2) == 4
"""
LIMIT_S = 60.0
FILE = "src/sample.py"


def a_fault(name="Doubles are something else", *, tests=("test_double",), **changes) -> Fault:
    given = {"file": FILE, "before": "number * 2", "after": "number * 3", "group": "one"}
    nodes = tuple(f"tests/test_sample.py::{test}" for test in tests)
    return Fault(name=name, tests=nodes, **(given | changes))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pytest start without the plugins of this project, which take seconds to import."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name, text in (("src/sample.py", CODE), ("tests/test_sample.py", TESTS)):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    (tree / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["slow: takes long"]\n', encoding="utf-8"
    )
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    return tree


@pytest.fixture
def scratch(tree: Path, tmp_path: Path) -> Scratch:
    folder = tmp_path / "copy"
    folder.mkdir()
    return Scratch(tree, folder)


@pytest.mark.parametrize(
    ("fault", "outcome", "because"),
    [
        (a_fault(), "caught", "tests/test_sample.py::test_double"),
        (a_fault(tests=["test_half"]), "survived", "1 passed"),
        (
            a_fault(tests=["test_half_of_much"], before="/ 2", after="/ 1"),
            "error",
            "pytest ended with 5",
        ),
        (a_fault(after="number *"), "error", "pytest ended with"),
        (a_fault(before="number - 2"), "error", "its text stands 0 times in src/sample.py"),
        (a_fault(before="number"), "error", "its text stands 4 times in src/sample.py"),
        (a_fault(file="src/gone.py"), "error", "the list is wrong"),
        (a_fault(tests=["test_gone"]), "error", "pytest ended with 4"),
    ],
    ids=["noticed", "not", "by slow", "broken", "gone", "twice", "no file", "no test"],
)
def test_what_is_said_of_a_fault(scratch: Scratch, fault: Fault, outcome: str, because: str):
    verdict = tried(fault, scratch, limit_s=LIMIT_S)

    assert verdict.outcome == outcome
    assert because in verdict.because


def test_a_fault_is_planted_in_the_copy_alone_and_taken_out_again(scratch: Scratch, tree: Path):
    with scratch.planted(a_fault()):
        assert "number * 3" in (scratch.folder / FILE).read_text(encoding="utf-8")
        assert (tree / FILE).read_text(encoding="utf-8") == CODE

    assert (scratch.folder / FILE).read_text(encoding="utf-8") == CODE


def test_a_fault_of_the_same_length_as_the_last_is_not_hidden_by_what_was_compiled(
    scratch: Scratch,
):
    harmless = a_fault("Doubles are the same", after="2 * number")

    verdicts = [
        tried(fault, scratch, limit_s=LIMIT_S).outcome for fault in (harmless, a_fault(), harmless)
    ]

    assert verdicts == ["survived", "caught", "survived"]


def test_the_time_for_a_fault_is_limited(scratch: Scratch):
    endless = a_fault(after="next(number for number in iter(int, 1) if number)")

    verdict = tried(endless, scratch, limit_s=1.0)

    assert (verdict.outcome, verdict.because) == (
        "error",
        "the time was up before a test had failed",
    )


def test_faults_whose_tests_fail_or_are_skipped_without_them_are_known(scratch: Scratch):
    faults = [
        a_fault("sound"),
        a_fault("red", tests=["test_red"]),
        a_fault("skipped", tests=["test_skipped"]),
    ]

    assert red_without_fault(faults, scratch, limit_s=LIMIT_S) == {"red", "skipped"}
    assert red_without_fault(faults[:1], scratch, limit_s=LIMIT_S) == set()


def listed(folder: Path, *tests: str) -> Path:
    """A list of two faults, each to be noticed by one of the tests."""
    folder.mkdir()
    for number, test in enumerate(tests):
        text = f"""
            group = "group {number}"

            [[fault]]
            name = "Doubles are wrong, way {number}"
            file = "{FILE}"
            before = "number * 2"
            after = "number * {number + 3}"
            tests = ["tests/test_sample.py::{test}"]
            """
        path = folder / f"{number}.toml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def run(tree: Path, faults: Path, *arguments: str, canary: Fault | None = None) -> int:
    project = Project(tree, packages=("sample",), canary=canary or a_fault("canary"))
    return main(["--faults", str(faults), *arguments], project=project)


@pytest.mark.slow
def test_enough_caught_is_a_success_and_the_page_is_written(tree: Path, tmp_path: Path, capsys):
    (tree / "docs/explanation").mkdir(parents=True)
    (tree / "mutants").mkdir()
    faults = listed(tmp_path / "faults", "test_double", "test_double")

    assert run(tree, faults, "--write", "--group", "group 0") == 0
    half = (tree / PAGE).read_text(encoding="utf-8")
    assert run(tree, faults, "--write", "--jobs", "2") == 0

    assert "2 of 2 caught, 100.0%" in capsys.readouterr().out
    assert "| **all** | 2 | 1 (50%) |" in half
    assert "- Doubles are wrong, way 1 (**not caught**)\n" in half
    page = (tree / PAGE).read_text(encoding="utf-8")
    assert "| **all** | 2 | 2 (100%) |" in page
    assert "- Doubles are wrong, way 1\n" in page


def test_too_few_caught_is_a_failure_that_names_them(tree: Path, tmp_path: Path, capsys):
    faults = listed(tmp_path / "faults", "test_double", "test_half")

    assert run(tree, faults) == 1

    out = capsys.readouterr().out
    assert "survived: group 1: Doubles are wrong, way 1" in out
    assert "1 of 2 caught, 50.0%" in out


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(["--group", "group 0"], marks=pytest.mark.slow),
        ["--only", "WAY 0", "--only", "way 7"],
    ],
)
def test_some_of_the_faults_can_be_chosen(tree: Path, tmp_path: Path, capsys, chosen: list[str]):
    faults = listed(tmp_path / "faults", "test_double", "test_half")

    assert run(tree, faults, *chosen) == 0

    assert "1 of 1 caught" in capsys.readouterr().out


def test_a_canary_that_nobody_notices_ends_the_run(tree: Path, tmp_path: Path, capsys):
    faults = listed(tmp_path / "faults", "test_double")

    assert run(tree, faults, canary=a_fault("canary", tests=["test_half"])) == 2

    assert "what is planted is not what is run" in capsys.readouterr().out


def test_a_list_that_says_too_little_is_refused(tmp_path: Path):
    (tmp_path / "one.toml").write_text(
        'group = "g"\n[[fault]]\nname = "n"\nfile = "f"\nbefore = "a"\nafter = "b"\n',
        encoding="utf-8",
    )

    with pytest.raises(ListError, match=r"one\.toml: n: 'tests'"):
        load(tmp_path)
