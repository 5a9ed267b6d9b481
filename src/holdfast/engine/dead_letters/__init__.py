"""What people do about jobs that failed for good."""
