"""Callers' connections of an event loop, lent to a thread that may wait."""
