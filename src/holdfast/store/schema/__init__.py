"""Migrations of the engine, tables and SQL of systems."""
