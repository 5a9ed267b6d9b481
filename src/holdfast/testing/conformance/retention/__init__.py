"""What every store must remove, and what it must keep."""
