"""From a submission to a row."""
