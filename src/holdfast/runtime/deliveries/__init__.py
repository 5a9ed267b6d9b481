"""Sends deliveries by their providers, and finds out about lost answers."""
