"""Routes about the service itself: health, metrics, sessions, the stream, its version."""
