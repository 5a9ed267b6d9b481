"""Deliveries: what was promised to a recipient, and what is known about it."""
