"""Durable jobs on SQLite and PostgreSQL."""
