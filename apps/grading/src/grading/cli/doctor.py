"""`grading doctor`: whether everything that grading needs is there."""
