"""Dead letters: what may be done about a job that failed for good."""
