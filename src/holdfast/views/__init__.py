"""Rows as people read them, and the sentences that console, commands and API share."""
