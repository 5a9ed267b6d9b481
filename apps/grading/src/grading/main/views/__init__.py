"""What people are shown of a submission."""
