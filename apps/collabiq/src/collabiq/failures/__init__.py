"""What failed: records of errors, dead letters, breakers."""
