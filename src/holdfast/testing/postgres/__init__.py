"""PostgreSQL servers and databases for tests, and PgBouncer in front of them."""
