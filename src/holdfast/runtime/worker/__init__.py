"""The process that claims and runs jobs, and what it consists of."""
