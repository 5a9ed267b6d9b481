"""Mails about collaborations become rows of a Notion database, each of them once."""
