"""Carry things in and out and decide nothing; third-party clients are imported here alone."""
