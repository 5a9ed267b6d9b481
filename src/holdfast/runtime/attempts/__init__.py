"""One attempt at a stage: its context, its outcome, its span, its secrets."""
