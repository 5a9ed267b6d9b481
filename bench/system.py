"""The systems under test, found by looking into `bench/systems`."""

from dataclasses import dataclass
from typing import Any

from bench.environments import BENCH, Command, Progress, command_for
from bench.process import Process

OURS = "holdfast"


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """What a program of `bench/systems` says of itself."""

    command: Command
    name: str
    version: str
    workloads: tuple[str, ...]
    settings: dict[str, str]
    counts: dict[str, Any]

    def unfinished(self, url: str) -> str:
        """SQL that counts the jobs not finished yet."""
        return self._statement("unfinished", url)

    def finished(self, url: str) -> str | None:
        """SQL that counts the jobs finished well; None where they are not kept."""
        return self._statement("finished", url)

    def _statement(self, name: str, url: str) -> Any:
        statement = self.counts[name]
        return statement[url.partition(":")[0]] if isinstance(statement, dict) else statement

    def start(self, verb: str, **options: Any) -> Process:
        return Process(self.command, verb, options)

    def do(self, verb: str, event: str, *, within_s: float, **options: Any) -> dict[str, Any]:
        with self.start(verb, **options) as process:
            return process.expect(event, within_s=within_s)


def program_names() -> list[str]:
    """The names `--systems` knows, holdfast first."""
    names = [path.stem for path in (BENCH / "systems").iterdir() if _is_program(path.name)]
    return sorted(names, key=lambda name: (name != OURS, name))


def describe(name: str, progress: Progress) -> System:
    (program,) = (
        path
        for path in (BENCH / "systems").iterdir()
        if _is_program(path.name) and path.stem == name
    )
    command = command_for(program, progress)
    with Process(command, "describe", {}) as process:
        said = process.expect("described", within_s=60)
    return System(
        command=command,
        name=said["name"],
        version=said["version"],
        workloads=tuple(said["workloads"]),
        settings={key: str(value) for key, value in said["settings"].items()},
        counts={name: said[name] for name in ("unfinished", "finished")},
    )


def _is_program(file_name: str) -> bool:
    return file_name.endswith((".py", ".cjs")) and not file_name.startswith("_")
