"""What is done about jobs that there are, and why they wait."""
