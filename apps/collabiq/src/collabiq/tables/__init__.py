"""The tables of collabiq."""
