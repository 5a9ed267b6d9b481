"""The page that says how many of the planted faults the tests notice."""

from collections.abc import Sequence
from pathlib import Path

from mutants.verdict import Verdict

PAGE = "docs/explanation/planted-faults.md"
_INTRODUCTION = (
    "# Planted faults\n\n"
    "A test suite is worth what it notices. `make mutants` plants faults in a copy of the code, "
    "one at a time, and runs the tests that should fail for each. They are the mistakes that "
    "would cost data, secrets or trust: a row of another owner, a lease that is not looked at, a "
    "write outside its commit. Each stands in `mutants/faults/` with the change it makes and the "
    "tests that have to fail; all of those run in `make test`.\n\n"
    "Less than 95 % caught is a failure of `make mutants`. This page is written by "
    "`make mutants MUTANTS_ARGS=--write`.\n\n"
)


def write(verdicts: Sequence[Verdict], path: Path) -> None:
    """Write the score, and what became of each fault."""
    path.write_text(_INTRODUCTION + _score(verdicts) + _faults(verdicts), encoding="utf-8")


def _score(verdicts: Sequence[Verdict]) -> str:
    groups = list(dict.fromkeys(verdict.fault.group for verdict in verdicts))
    rows = [_row(group, [v for v in verdicts if v.fault.group == group]) for group in groups]
    rows.append(_row("**all**", verdicts))
    return "| group | planted | caught |\n|---|--:|--:|\n" + "".join(rows)


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    caught = sum(verdict.outcome == "caught" for verdict in verdicts)
    return f"| {name} | {len(verdicts)} | {caught} ({caught / len(verdicts):.0%}) |\n"


def _faults(verdicts: Sequence[Verdict]) -> str:
    lines = []
    group = None
    for verdict in verdicts:
        if verdict.fault.group != group:
            group = verdict.fault.group
            lines.append(f"\n## {group.capitalize()}\n\n")
        missed = "" if verdict.outcome == "caught" else " (**not caught**)"
        lines.append(f"- {verdict.fault.name}{missed}\n")
    return "".join(lines)
