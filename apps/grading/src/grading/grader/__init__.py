"""The grader: takes requests, has answers assessed, scores them and calls back."""
