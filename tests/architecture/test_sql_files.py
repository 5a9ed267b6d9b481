"""One statement, one named file, with a twin for the other database unless that one needs none."""

import re
from pathlib import Path

import pytest

import holdfast

STORE = Path(holdfast.__file__).parent / "store"
FOLDERS = {name: STORE / name / "sql" for name in ("sqlite", "postgres")}

ONLY_SQLITE = {
    "apply_checkpoint": "PostgreSQL writes it within its apply",
    "apply_ledger": "PostgreSQL writes it within its apply",
    "paused": "PostgreSQL looks at paused queues within its claim",
    "twin": "PostgreSQL returns twins from its insert",
}
ONLY_POSTGRES = {
    "announce": "SQLite wakes listeners without a statement",
    "announce_due": "SQLite wakes listeners without a statement",
    "announce_ended": "SQLite wakes listeners without a statement",
    "announce_outbox": "SQLite wakes listeners without a statement",
    "facts": "SQLite tells these by pragmas",
    "facts_of_vacuum": "SQLite needs no vacuum to use space again",
    "insert": "SQLite inserts row by row, which is as fast there",
    "insert_plain": "on SQLite the number of columns does not matter",
    "insert_alike": "on SQLite the number of columns does not matter",
    "lock_free": "SQLite has one writer",
    "locked_letters": "SQLite has one writer",
    "lock_job": "SQLite has one writer",
    "read_clock": "SQLite has no clock of its own",
    "twins_of_many": "SQLite looks them up one by one",
}


def names_in(dialect: str) -> set[str]:
    return {file.stem for file in FOLDERS[dialect].glob("*.sql")}


FILES = [file for folder in FOLDERS.values() for file in sorted(folder.glob("*.sql"))]


def named(file: Path) -> str:
    return f"{file.parent.parent.name}-{file.stem}"


def test_every_statement_has_its_twin_or_a_reason_for_having_none():
    sqlite, postgres = names_in("sqlite"), names_in("postgres")

    assert sqlite - postgres == set(ONLY_SQLITE)
    assert postgres - sqlite == set(ONLY_POSTGRES)
    assert len(sqlite & postgres) > 30


def test_the_first_line_names_the_statement_and_says_what_it_does():
    first_lines = {file: file.read_text("utf-8").splitlines()[0] for file in FILES}

    assert {
        named(file): first
        for file, first in first_lines.items()
        if not re.fullmatch(rf"-- {file.stem}: \S.*[.:]", first)
    } == {}


@pytest.mark.parametrize("dialect", FOLDERS)
def test_every_statement_is_used(dialect):
    others = {STORE / name for name in FOLDERS if name != dialect}
    sources = [file for file in STORE.rglob("*.py") if others.isdisjoint(file.parents)]
    code = "".join(source.read_text("utf-8") for source in sources)

    named_by_no_module = {
        name
        for name in names_in(dialect)
        if not name.startswith("verify_") and f'"{name}"' not in code
    }
    assert named_by_no_module == set()


def test_no_statement_draws_lots_or_reads_a_clock():
    """Time and chance are arguments of every statement but the one that asks for the time."""
    forbidden = re.compile(r"\b(?:random|now\(\)|current_\w+|clock_timestamp|datetime|strftime)\b")
    bodies = {file: re.sub(r"--.*", "", file.read_text("utf-8")).lower() for file in FILES}

    found = {file: forbidden.findall(body) for file, body in bodies.items()}
    assert {named(file): words for file, words in found.items() if words}.keys() <= {
        "postgres-read_clock"
    }
