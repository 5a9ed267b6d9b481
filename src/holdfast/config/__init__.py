"""What an operator sets: settings, where they are looked for, and how logs are written."""
