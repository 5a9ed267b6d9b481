"""What stands around every route."""
