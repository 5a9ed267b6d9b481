"""A planted fault: one sentence, one change of the text, and the tests that have to notice it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).parent / "faults"


class ListError(Exception):
    """The list of faults is wrong: it no longer fits the code, or says too little."""


@dataclass(frozen=True)
class Fault:
    """What is planted, where, and which tests have to fail for it."""

    name: str
    group: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    keyword: str = ""

    def planted_in(self, text: str) -> str:
        """Return `text` with the fault; raise where it does not say exactly one place."""
        found = text.count(self.before)
        if found != 1:
            raise ListError(f"its text stands {found} times in {self.file}")
        return text.replace(self.before, self.after)


def load(folder: Path = FAULTS) -> list[Fault]:
    """Return the faults of every group, by the names of their files."""
    faults = [fault for path in sorted(folder.glob("*.toml")) for fault in _group(path)]
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise ListError(f"{name!r} is listed twice")
    return faults


def _group(path: Path) -> list[Fault]:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return [_fault(entry, group=document["group"], path=path) for entry in document["fault"]]


def _fault(entry: dict[str, object], *, group: str, path: Path) -> Fault:
    try:
        tests = entry.pop("tests")
        fault = Fault(group=group, tests=tuple(tests), **entry)  # type: ignore[arg-type]
    except (KeyError, TypeError) as error:
        name = entry.get("name", "a fault without a name")
        raise ListError(f"{path.name}: {name}: {error}") from error
    if not fault.tests or fault.before == fault.after:
        raise ListError(f"{path.name}: {fault.name}: names no test, or changes nothing")
    return fault
