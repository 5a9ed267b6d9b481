import psycopg
import pytest

from holdfast.testing.postgres.databases import DisposableDatabases


def _table_names(url):
    with psycopg.connect(url) as connection:
        rows = connection.execute("select tablename from pg_tables where schemaname = 'public'")
        return [name for (name,) in rows]


def test_each_database_is_empty_and_of_its_own(postgres_databases):
    first, second = postgres_databases.fresh(), postgres_databases.fresh()
    with psycopg.connect(first) as connection:
        connection.execute("create table mark ()")

    assert _table_names(first) == ["mark"]
    assert _table_names(second) == []

    postgres_databases.use_up(first)
    postgres_databases.use_up(second)


def test_a_template_is_built_once_and_copied(postgres_databases):
    built = []

    def build(url):
        built.append(url)
        with psycopg.connect(url) as connection:
            connection.execute("create table mark ()")

    copies = [
        postgres_databases.fresh(template=postgres_databases.template("marked", build=build))
        for _ in range(2)
    ]

    assert len(built) == 1
    assert [_table_names(url) for url in copies] == [["mark"], ["mark"]]


def test_a_used_up_database_goes_even_with_a_session_left_open(postgres_databases):
    url = postgres_databases.fresh()
    with psycopg.connect(url) as left_open:
        postgres_databases.use_up(url)
        for _ in range(6):
            postgres_databases.use_up(postgres_databases.fresh())

        with psycopg.connect(postgres_databases.fresh()) as other:
            name = left_open.info.dbname
            found = other.execute("select 1 from pg_database where datname = %s", [name])
            assert found.fetchone() is None
        left_open.close()


def test_no_database_is_left_on_a_server_that_goes_on(postgres_server):
    def names():
        with psycopg.connect(postgres_server.url) as connection:
            return {name for (name,) in connection.execute("select datname from pg_database")}

    before = names()
    databases = DisposableDatabases(postgres_server.url)
    databases.template("empty", build=lambda url: None)
    databases.use_up(databases.fresh())
    with psycopg.connect(databases.fresh()):
        databases.drop_all()

        assert names() == before


def test_a_database_of_each_dialect_starts_empty(empty_database_url, tmp_path):
    if empty_database_url.startswith("postgresql://"):
        assert _table_names(empty_database_url) == []
    else:
        assert empty_database_url == f"sqlite:///{tmp_path}/holdfast.db"
        assert not (tmp_path / "holdfast.db").exists()


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_server_to_hurt_knows_nothing_of_what_was_done_to_it_before(postgres_server, turn):
    with psycopg.connect(postgres_server.url) as connection:
        found = connection.execute("select count(*) from pg_database").fetchone()
        memory = connection.execute("show work_mem").fetchone()

    postgres_server.create_database(f"of the {turn}")
    postgres_server.set(work_mem="7MB")
    postgres_server.restart("immediate")

    assert (found, memory) == ((3,), ("4MB",))
