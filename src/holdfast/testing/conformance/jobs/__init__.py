"""What every store must do about jobs."""
