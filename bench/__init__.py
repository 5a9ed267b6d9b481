"""holdfast and its peers side by side on one PostgreSQL; see README.md."""
