"""Celery fleets under test; see `bench/measures/celery.py`."""
