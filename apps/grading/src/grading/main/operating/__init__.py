"""What operators look at, and what runs by itself."""
