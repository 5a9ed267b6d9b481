"""Servers for all tests: those of the engine, and those of the systems on it."""

pytest_plugins = ["tests.plugins.postgres", "tests.plugins.rabbitmq"]
