"""A small shop on Django, whose tasks are jobs."""
