"""Collabiq over HTTP."""
