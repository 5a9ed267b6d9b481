"""Who asks: tokens, sessions, anonymous visitors."""
