"""The connections that callers have: found out what they are, and what the store takes of them."""
