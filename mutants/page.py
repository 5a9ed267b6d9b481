"""The page that says how many of the planted faults the tests notice.

What became of each fault when it was last tried is kept beside the list, so that a run of some of
them brings the page up to date as well.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutants.fault import Fault
from mutants.verdict import Verdict

PAGE = "docs/explanation/planted-faults.md"
LATEST = "mutants/latest.json"
_INTRODUCTION = (
    "# Planted faults\n\n"
    "A test suite is worth what it notices. `make mutants` plants faults in a copy of the code, "
    "one at a time, and runs the tests that should fail for each. They are the mistakes that "
    "would cost data, secrets or trust: a row of another owner, a lease that is not looked at, a "
    "write outside its commit. Each stands in `mutants/faults/` with the change it makes and the "
    "tests that have to fail; all of those run in `make test`.\n\n"
    "Less than 95 % caught is a failure of `make mutants`. This page is written by "
    "`make mutants MUTANTS_ARGS=--write`; what was never tried counts as not caught.\n\n"
)


def write(verdicts: Sequence[Verdict], listed: Sequence[Fault], *, tree: Path) -> None:
    """Write what became of the faults that were tried, and the page about all of them."""
    latest = tree / LATEST
    known = json.loads(latest.read_text(encoding="utf-8")) if latest.exists() else {}
    known |= {verdict.fault.name: verdict.outcome for verdict in verdicts}
    outcomes = {fault.name: known[fault.name] for fault in listed if fault.name in known}
    text = json.dumps(outcomes, indent=2, ensure_ascii=False)
    latest.write_text(text + "\n", encoding="utf-8")
    page = _INTRODUCTION + _score(listed, outcomes) + _faults(listed, outcomes)
    (tree / PAGE).write_text(page, encoding="utf-8")


def _score(listed: Sequence[Fault], outcomes: Mapping[str, str]) -> str:
    groups = list(dict.fromkeys(fault.group for fault in listed))
    members = {group: [fault for fault in listed if fault.group == group] for group in groups}
    rows = [_row(group, faults, outcomes) for group, faults in members.items()]
    rows.append(_row("**all**", listed, outcomes))
    return "| group | planted | caught |\n|---|--:|--:|\n" + "".join(rows)


def _row(name: str, faults: Sequence[Fault], outcomes: Mapping[str, str]) -> str:
    caught = sum(outcomes.get(fault.name) == "caught" for fault in faults)
    return f"| {name} | {len(faults)} | {caught} ({caught / len(faults):.0%}) |\n"


def _faults(listed: Sequence[Fault], outcomes: Mapping[str, str]) -> str:
    lines = []
    group = None
    for fault in listed:
        if fault.group != group:
            group = fault.group
            lines.append(f"\n## {group.capitalize()}\n\n")
        missed = "" if outcomes.get(fault.name) == "caught" else " (**not caught**)"
        lines.append(f"- {fault.name}{missed}\n")
    return "".join(lines)
