"""What a program has loaded once it has imported something, and once it can submit."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys

def loaded():
    ours = [name for name in sys.modules if name.split(".")[0] == "holdfast"]
    return sorted({name.partition(".")[0] for name in sys.modules}), ours

seen = []
import holdfast
seen.append(loaded())
from holdfast import GiveUp, RetryLater
seen.append(loaded())
from holdfast import Breaker, Pipeline, Retry, Upstream
seen.append(loaded())
from holdfast import Holdfast
with Holdfast("sqlite:///nothing.db"):
    seen.append(loaded())
print(json.dumps(seen))
"""
SERVERS = {"psycopg", "fastapi", "uvicorn", "aio_pika", "celery", "structlog", "rich", "click"}
DRIVERS = {"sqlalchemy", "django", "asyncpg", "aiosqlite"}
LIBRARIES = {"pydantic", "pydantic_core", "asyncio", "sqlite3", "opentelemetry", "ssl"}


def test_a_program_loads_what_it_uses_and_nothing_else():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=50
    )

    package, signals, declared, opened = [
        (set(outside), set(ours)) for outside, ours in json.loads(ran.stdout)
    ]
    assert package[1] == {"holdfast"}
    assert signals[1] == {"holdfast", "holdfast.errors"}
    assert (package[0] | signals[0]).isdisjoint(LIBRARIES | SERVERS)
    rooms = {name.split(".")[1] for name in declared[1] if "." in name}
    assert rooms.isdisjoint({"engine", "guard", "views", "bridges", "secrets", "error_log"})
    assert opened[0].isdisjoint(SERVERS | DRIVERS)
