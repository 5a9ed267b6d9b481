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
    "announce_due": "SQLite wakes listeners without a statement",
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
IDS = [f"{file.parent.parent.name}-{file.stem}" for file in FILES]


def test_every_statement_has_its_twin_or_a_reason_for_having_none():
    sqlite, postgres = names_in("sqlite"), names_in("postgres")

    assert sqlite - postgres == set(ONLY_SQLITE)
    assert postgres - sqlite == set(ONLY_POSTGRES)
    assert len(sqlite & postgres) > 30


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_the_first_line_names_the_statement_and_says_what_it_does(file):
    first = file.read_text("utf-8").splitlines()[0]

    assert re.fullmatch(rf"-- {file.stem}: \S.*[.:]", first), first


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_every_statement_is_used(file):
    sources = [*file.parent.parent.glob("*.py"), *STORE.glob("*.py")]
    code = "".join(source.read_text("utf-8") for source in sources)

    used = file.stem.startswith("verify_") or f'"{file.stem}"' in code
    assert used, f"no module names {file.stem}"


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_no_statement_draws_lots_or_reads_a_clock(file):
    """Time and chance are arguments of every statement but the one that asks for the time."""
    body = re.sub(r"--.*", "", file.read_text("utf-8")).lower()

    found = re.findall(
        r"\b(?:random|now\(\)|current_\w+|clock_timestamp|datetime|strftime)\b", body
    )
    assert file.stem == "read_clock" or found == []
