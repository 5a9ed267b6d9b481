"""What all tests share: those of the engine, and those of the systems on it."""

pytest_plugins = [
    "tests.plugins.examples",
    "tests.plugins.garbage",
    "tests.plugins.logs",
    "tests.plugins.memory",
    "tests.plugins.order",
    "tests.plugins.servers",  # before those that import it
    "tests.plugins.postgres",
    "tests.plugins.pgbouncer",
    "tests.plugins.rabbitmq",
    "tests.plugins.reports",
    "tests.plugins.secrets",
    "tests.plugins.sqlite",
    "tests.plugins.turns",
    "tests.plugins.warm",
]
