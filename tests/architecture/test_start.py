"""What a program has loaded once it can submit."""

import subprocess
import sys

PROGRAM = """
import sys
from holdfast import Holdfast

with Holdfast("sqlite:///nothing.db"):
    print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_program_on_sqlite_loads_no_driver_server_or_broker():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=50
    )

    loaded = set(ran.stdout.split())
    assert "holdfast" in loaded
    assert loaded.isdisjoint({"psycopg", "fastapi", "uvicorn", "aio_pika", "celery", "structlog"})
    assert loaded.isdisjoint({"sqlalchemy", "django", "asyncpg", "aiosqlite"})
