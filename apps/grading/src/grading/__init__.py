"""Grading: essays and recordings are graded once, whatever fails on the way."""
