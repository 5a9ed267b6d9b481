"""A job in the hands of its submitter: its state, its end and its result."""
