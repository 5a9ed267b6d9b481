"""The stream of events for browsers and programs."""
