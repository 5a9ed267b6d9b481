"""What providers share: calls in limited time, the fields of a delivery, and secrets."""
