"""What an operator sets, where it comes from, and the secrets."""
