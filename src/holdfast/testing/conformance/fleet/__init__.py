"""What every store must do about what processes share."""
