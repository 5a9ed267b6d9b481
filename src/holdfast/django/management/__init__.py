"""What Django looks through for commands."""
