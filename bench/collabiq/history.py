"""Mails that were written to Notion long ago, as the tables keep them."""

import psycopg

JOB_COLUMNS = """
select column_name from information_schema.columns
 where table_schema = 'holdfast' and table_name = 'job' order by ordinal_position
"""
EMAIL_COLUMNS = JOB_COLUMNS.replace("'holdfast'", "'collabiq'").replace("'job'", "'email'")
JOB_ID = "('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
OLD_JOB = {"id": JOB_ID, "key": "'old-' || n"}
OLD_EMAIL = {
    "email_id": "'old-' || n",
    "number": "-n",
    "job_id": f"{JOB_ID}::text",
    "message_id": "'<old-' || n || '@mail.example>'",
    "page_id": "'old-' || n",
    "startup_name": "'Old ' || n % 500",
    "partner_org": "'Partner ' || n % 90",
}


def fill(url: str, count: int) -> None:
    """Add so many mails that have ended; one that is there already is what they look like."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table, columns, changed, like in (
            ("holdfast.job", JOB_COLUMNS, OLD_JOB, "pipeline = 'email' and state = 'complete'"),
            ("collabiq.email", EMAIL_COLUMNS, OLD_EMAIL, "page_id is not null"),
        ):
            names = [name for (name,) in connection.execute(columns)]
            values = ", ".join(changed.get(name, f"old.{name}") for name in names)
            connection.execute(
                f"insert into {table} ({', '.join(names)}) select {values}"
                f" from (select * from {table} where {like} limit 1) old,"
                f" generate_series(1, {count}) n"
            )
