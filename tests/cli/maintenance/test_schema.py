"""`migrate` and `verify`, on a database that a bare URL names."""

import json
import sys
from pathlib import Path

import psycopg
import pytest

from holdfast import Holdfast
from tests.cli.conftest import Command, error_of, lines
from tests.store.conftest import script_by_hand


def test_a_database_is_migrated_once(holdfast: Command, empty_database_url: str):
    by_url = ("--database-url", empty_database_url)

    first = holdfast("migrate", *by_url)
    second = holdfast("migrate", *by_url, "--json")

    assert first.stdout.splitlines()[0] == "applied 0001_foundation"
    assert json.loads(second.stdout) == {"applied": []}


def test_the_sql_of_a_migration_can_be_run_by_hand(
    holdfast: Command, empty_database_url: str, tmp_path: Path
):
    if empty_database_url.startswith("sqlite"):
        (tmp_path / "holdfast.db").touch()
    by_url = ("--database-url", empty_database_url)

    printed = holdfast("migrate", "--sql", *by_url)
    as_json = holdfast("migrate", "--sql", "--json", *by_url)
    still_pending = holdfast("migrate", "--plan", *by_url)
    script_by_hand(empty_database_url, printed.stdout)
    afterwards = holdfast("migrate", "--plan", *by_url)

    assert lines(as_json.stdout)[0]["migration"] == "0001_foundation"
    assert still_pending.stdout.splitlines()[0] == "0001_foundation"
    assert (afterwards.stdout, afterwards.stderr) == ("", "The schema is up to date.\n")
    assert holdfast("jobs", "list", *by_url).exit_code == 0


def test_a_database_without_the_schema_says_what_to_run(holdfast: Command, empty_postgres_url: str):
    result = holdfast("jobs", "list", "--database-url", empty_postgres_url)

    assert result.exit_code == 2
    assert "run: holdfast migrate" in result.stderr


def test_a_newer_schema_is_refused(holdfast: Command, empty_postgres_url: str):
    holdfast("migrate", "--database-url", empty_postgres_url)
    with psycopg.connect(empty_postgres_url) as connection:
        connection.execute("insert into holdfast.migration values (9999, '9999_future', 'x', 0)")

    results = [
        holdfast(*command, "--database-url", empty_postgres_url)
        for command in (["jobs", "list"], ["migrate"], ["migrate", "--plan"])
    ]

    for result in results:
        assert result.exit_code == 2
        assert "has schema 9999" in result.stderr
        assert "upgrade holdfast" in result.stderr


def test_plan_and_sql_together_are_refused(holdfast: Command):
    assert holdfast("migrate", "--plan", "--sql").exit_code == 2


def test_a_sound_database_passes(on_app: Command, app: Holdfast):
    app.submit("review")

    result = on_app("verify")
    as_json = on_app("verify", "--json")

    assert (result.exit_code, result.stdout) == (0, "All invariants hold.\n")
    assert json.loads(as_json.stdout) == {"sound": True, "violations": []}


def test_a_broken_invariant_is_named_with_a_job_that_breaks_it(
    on_app: Command, app: Holdfast, database_url: str
):
    job_id = app.submit("review").id
    statement = "update {} set error_class = 'BUG', error = '{{}}' where id = '{}'"
    if database_url.startswith("sqlite"):
        with app.store.transaction() as connection:
            connection.execute("pragma ignore_check_constraints = on")
            connection.execute(statement.format("holdfast_job", job_id))
    else:
        with psycopg.connect(database_url) as connection:
            constraint = "job_error_only_when_failed"
            connection.execute(f"alter table holdfast.job drop constraint {constraint}")
            connection.execute(statement.format("holdfast.job", job_id))

    result = on_app("verify")
    as_json = json.loads(on_app("verify", "--json").stdout)

    assert result.exit_code == 1
    assert job_id in result.stdout
    assert as_json["sound"] is False
    assert job_id in as_json["violations"][0]["sample"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://me:secret@127.0.0.1:1/none", "Connection refused"),
        ("sqlite:///missing.db", "there is no such file"),
        ("sqlite:///no/such/folder/holdfast.db", "there is no such file"),
    ],
)
def test_a_database_out_of_reach_exits_with_five(holdfast: Command, url: str, reason: str):
    result = holdfast("jobs", "list", "--database-url", url)
    as_json = holdfast("jobs", "list", "--json", "--database-url", url)

    assert (result.exit_code, result.stdout) == (5, "")
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "secret" not in result.stderr + as_json.stderr
    assert error_of(as_json)["code"] == "store_unavailable"
    assert not list(Path.cwd().iterdir())


def test_migrating_creates_a_sqlite_file(holdfast: Command):
    result = holdfast("migrate", "--database-url", "sqlite:///new.db")

    assert result.exit_code == 0
    assert Path("new.db").exists()


def test_a_file_that_is_no_database_is_damaged_and_not_overwritten(holdfast: Command):
    Path("letter.db").write_text("Dear Sir or Madam, " * 100)

    result = holdfast("jobs", "list", "--database-url", "sqlite:///letter.db")

    assert result.exit_code == 5
    assert "is damaged" in result.stderr
    assert Path("letter.db").read_text().startswith("Dear Sir")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed system with tables, and one that cannot be built here."""
    packages = tmp_path / "packages"
    described = packages / "shop-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[holdfast.systems]\nshop = shop:SYSTEM\nstall = shop:STALL\n"
    )
    (packages / "shop").mkdir()
    (packages / "shop" / "0001_orders.sql").write_text("create table shop.orders (id text);\n")
    (packages / "shop" / "__init__.py").write_text(
        "from holdfast.systems import Parts, System\n"
        "def refuse(_): raise LookupError('no place')\n"
        "SYSTEM = System(name='shop', title='Shop', build=lambda _: Parts(tables='shop'))\n"
        "STALL = System(name='stall', title='Stall', build=refuse)\n"
    )
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    monkeypatch.delitem(sys.modules, "shop", raising=False)


@pytest.mark.usefixtures("shop")
def test_the_tables_of_installed_systems_are_migrated_too(
    holdfast: Command, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if empty_database_url.startswith("sqlite"):
        (tmp_path / "holdfast.db").touch()
    by_url = ("--database-url", empty_database_url)
    monkeypatch.setenv("HOLDFAST_SYSTEMS", "shop,stall")

    planned = holdfast("migrate", "--plan", *by_url)
    applied = holdfast("migrate", *by_url)

    assert planned.stdout.splitlines()[-1] == "shop/0001_orders"
    assert applied.stdout.splitlines()[-1] == "applied shop/0001_orders"
    assert "system 'stall' cannot be built" in applied.stderr
    with (
        Holdfast(empty_database_url, tables={"shop": "shop"}, auto_migrate=False) as app,
        app.transaction() as tx,
    ):
        assert tx.rows("select * from shop.orders") == []
