"""What the store keeps of tokens, sessions and shared keys."""
